"""Result cards and the stage bar as HTML. Everything a user wrote or named is escaped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from index.types import Hit, Hits, Kind
from ui.latency import TOTAL, Run, StageFigures
from ui.words import SINGULAR, button, clock, count, milliseconds, safe, size

PASSAGE = 420  # characters of a passage that a card shows
ALWAYS = ("decode", "preprocess", "vision", "audio", "text", "search")  # shown also when they took no time
STAGES = ("decode", "preprocess", "vision", "audio", "tokenize", "text", "search", "rank")


def results(hits: Hits, hidden: Collection[int] = ()) -> str:
    """All cards in the order of their ranks, without those that were just deleted."""
    shown = [hit for hit in hits.hits if hit.item.id not in hidden]
    return f'<div class="cards">{"".join(card(hit) for hit in shown)}</div>'


def card(hit: Hit) -> str:
    """One card: rank, kind and cosine; preview; name and where; actions."""
    item, kind = hit.item, SINGULAR[hit.item.kind]
    like = button("like", "like this", about=f"More like {item.name}", id=item.id)
    delete = button("delete", "delete", "plain quiet", about=f"Delete {item.name}", id=item.id)
    opened = f'<a class="plain quiet" href="media/{item.id}" target="_blank" rel="noopener">open</a>'
    return (
        f'<article class="card {item.kind}" data-id="{item.id}" data-kind="{item.kind}" data-score="{hit.score:.6f}">'
        f'<header><span class="rank">{hit.rank}</span><span class="kind">{kind}</span>'
        f'<span class="score" title="cosine of the two unit vectors">{hit.score:.3f}</span></header>'
        f'<div class="preview">{_preview(hit)}</div>'
        f'<div class="name" title="{safe(item.path)}">{safe(item.name)}</div>'
        f'<div class="where">{safe(_where(hit))}</div>'
        f"<footer>{like}{opened}{delete}</footer></article>"
    )


def _preview(hit: Hit) -> str:
    item = hit.item
    if item.kind is Kind.IMAGE:
        return f'<img src="thumb/{item.id}" alt="{safe(item.name)}" loading="lazy" decoding="async">'
    if item.kind is Kind.AUDIO:
        part = f"#t={hit.segment.start:g}" if hit.segment.start else ""
        source = f'src="media/{item.id}{part}" aria-label="Play {safe(item.name)}"'
        wave = f'<img class="wave" src="wave/{item.id}" alt="" loading="lazy" decoding="async">'
        return f'{wave}<audio controls preload="none" {source}></audio>'
    text = " ".join((hit.segment.text or "").split())
    return f"<blockquote>{safe(text[:PASSAGE])}{'…' if len(text) > PASSAGE else ''}</blockquote>"


def _where(hit: Hit) -> str:
    item, parts = hit.item, []
    if item.kind is Kind.IMAGE and item.width and item.height:
        parts.append(f"{item.width} × {item.height}")
    if item.kind is Kind.AUDIO and item.seconds is not None:
        parts.append(clock(item.seconds))
    if item.kind is Kind.DOCUMENT or item.segments > 1:
        parts.append(hit.segment.label(item.kind))
    parts.append(size(item.size))
    return " · ".join(part for part in [*parts, item.note] if part)


def stages(run: Run, figures: Mapping[str, StageFigures], first: Sequence[Run] = ()) -> str:
    """One stacked bar of a search: every stage with its milliseconds, and the wall time; figures so far on demand."""
    parts = list(_parts(run))
    bar = "".join(
        f'<i class="s-{safe(name)}" style="flex-grow:{max(ms, 0.01):.3f}" title="{safe(name)} {ms:.2f} ms"></i>'
        for name, ms in parts
    )
    legend = "".join(
        f'<li{" class=off" if ms < 0.05 else ""}><i class="s-{safe(name)}"></i>{safe(name)} '
        f"<b>{milliseconds(ms)}</b></li>"
        for name, ms in parts
    )
    cold = '<li class="cold">first run, not in p50 and p95</li>' if run.cold else ""
    return (
        f'<div class="stages" aria-label="Time of each stage"><div class="stack" aria-hidden="true">{bar}</div>'
        f'<ul>{legend}{cold}<li class="sum">total <b>{milliseconds(run.total)} ms</b></li>'
        '<li><button type="button" class="plain quiet" data-toggle="#stages">p50, p95</button></li></ul>'
        f"{_figures(run, figures, first)}</div>"
    )


def _figures(run: Run, figures: Mapping[str, StageFigures], first: Sequence[Run]) -> str:
    """Table of all stages over all searches with this setup; folded until asked for."""
    names = [name for name, _ in _parts(run) if name in figures]
    rows = "".join(_figures_row(name, figures[name]) for name in [*names, TOTAL] if name in figures)
    paid = ", ".join(_ms(one.total) for one in first)
    cold = f"<p>First runs with this setup, kept apart: {paid} ms.</p>" if paid else ""
    heads = "".join(f"<th>{name}</th>" for name in ("stage", "last ms", "p50", "p95", "n"))
    return f'<div class="figures"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{cold}</div>'


def _figures_row(name: str, figures: StageFigures) -> str:
    cells = (_ms(figures.last), _ms(figures.p50), _ms(figures.p95), f"{figures.n:,}")
    return f"<tr><th>{safe(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _ms(value: float) -> str:
    return f"{value:,.2f}"


def _parts(run: Run) -> Iterable[tuple[str, float]]:
    named = {name: run.stages.get(name, 0.0) for name in STAGES if name in run.stages or name in ALWAYS}
    named |= {name: ms for name, ms in run.stages.items() if name not in named}
    rest = run.total - sum(named.values())
    if rest >= 0.05:
        named["other"] = rest
    return named.items()


def summary(hits: Hits, hidden: Collection[int] = ()) -> str:
    """How many answers of which kinds are shown, for the line above the cards."""
    kinds: dict[Kind, int] = {}
    for hit in hits.hits:
        if hit.item.id not in hidden:
            kinds[hit.item.kind] = kinds.get(hit.item.kind, 0) + 1
    return ", ".join(count(number, SINGULAR[kind]) for kind, number in kinds.items())
