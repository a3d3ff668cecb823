"""The bar over every tab: what runs, where, how fast, and over how much."""

from __future__ import annotations

from collections.abc import Iterable

from embedding.types import Precision
from ui.choices import Choice
from ui.jobs import Job
from ui.latency import TOTAL
from ui.studio import Studio
from ui.words import count, milliseconds, safe

TOWER_WORDS = {"text": "text", "vision": "pictures", "audio": "sounds"}

# A change of a drop-down becomes one event; after a redraw each drop-down shows again what is really in use.
ON_LOAD = """
const sync = () => element.querySelectorAll('select').forEach((select) => { select.value = select.dataset.value; });
element.addEventListener('change', (event) => {
  const select = event.target.closest('select');
  if (select) trigger('select', {field: select.dataset.field, value: select.value});
});
watch('value', sync);
sync();
"""


def bar(studio: Studio) -> str:
    """The whole bar as HTML."""
    switching = studio.jobs.active("switch")
    offered, setup = studio.choices(), studio.wanted
    selects = (
        _select("Model", "model", offered.models, setup.model)
        + _select("Precision", "precision", offered.precisions, setup.precision)
        + _select("Device", "device", offered.devices, setup.device)
    )
    return (
        '<div class="bar"><div class="brand">Triptych</div>'
        f'<div class="latency" title="Wall time of searches with this setup, first runs apart">{_latency(studio)}</div>'
        f'<div class="items">{count(sum(studio.library.count().values()), "item")}</div>'
        '<button type="button" class="fold plain" data-toggle="#bar">setup</button>'
        f'<div class="selects">{selects}</div><div class="chips">{_chips(studio)}</div>'
        f"{_state(switching, studio)}</div>"
    )


def _select(label: str, field: str, entries: Iterable[Choice], current: str) -> str:
    options = "".join(_option(entry, current) for entry in entries)
    attributes = f'data-field="{field}" data-value="{safe(current)}"'
    return f"<label><span>{label}</span><select {attributes}>{options}</select></label>"


def _option(entry: Choice, current: str) -> str:
    chosen = " selected" if entry.value == current else ""
    if not entry.reason:
        return f'<option value="{safe(entry.value)}"{chosen}>{safe(entry.label)}</option>'
    return f'<option value="{safe(entry.value)}" disabled{chosen}>{safe(entry.label)}: {safe(entry.reason)}</option>'


def _chips(studio: Studio) -> str:
    plans = getattr(studio.embedder, "plan", ())
    return "".join(
        f'<span class="chip" title="{safe(_chip_title(studio, plan.reason))}">'
        f"{TOWER_WORDS.get(plan.tower, plan.tower)} <b>{safe(plan.granted_device)}</b> {safe(plan.precision)}</span>"
        for plan in plans
    )


def _chip_title(studio: Studio, reason: str) -> str:
    device = next((row for row in studio.devices if row.name == studio.setup.device), None)
    named = f"{device.full_name}, plugin {device.version}" if device else studio.setup.device
    weights = f"weights {Precision(studio.setup.precision)}"
    return " · ".join(part for part in (str(studio.embedder.space), weights, named, reason) if part)


def _latency(studio: Studio) -> str:
    last, figures = studio.latency.last(studio.setup), studio.latency.figures(studio.setup).get(TOTAL)
    if last is None:
        return "<span>no search yet</span>"
    first = " <small>first run</small>" if last.cold else ""
    text = f"<span>last <b>{milliseconds(last.total)} ms</b>{first}</span>"
    if figures:
        shown = {"p50": milliseconds(figures.p50), "p95": milliseconds(figures.p95), "n": str(figures.n)}
        text += "".join(f" <span>{name} <b>{value}</b></span>" for name, value in shown.items())
    return text


def _state(switching: Iterable[Job], studio: Studio) -> str:
    for job in switching:
        return f'<div class="state" role="status"><i class="spin"></i>{safe(job.step or "waiting")}</div>'
    failed = next((job for job in studio.jobs.all() if job.kind == "switch"), None)
    if failed and failed.state == "failed":
        return f'<div class="state failed" role="alert">{safe(failed.message)} {safe(studio.setup)} stays in use.</div>'
    return '<div class="state" role="status"></div>'
