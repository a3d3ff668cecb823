"""The table of the Library tab as HTML: counts by kind, one row an item, and the way to the other pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from index.types import Item, Kind
from ui.words import PLURAL, SINGULAR, button, clock, count, day, safe, size

PAGE = 100  # rows of one page
# Heads with the order of the library that they stand for, and how that order is called by screen readers.
COLUMNS = (
    ("Name", "name", "ascending"),
    ("Kind", "", ""),
    ("Size", "size", "descending"),
    ("Added", "added", "descending"),
)


@dataclass(frozen=True)
class View:
    """Order and page of the table."""

    order: str = "added"
    offset: int = 0


def counts(found: Mapping[Kind, int]) -> str:
    """How many items of each kind there are."""
    parts = "".join(f'<li class="{kind}"><b>{found.get(kind, 0):,}</b> {PLURAL[kind]}</li>' for kind in Kind)
    return f'<ul class="counts">{parts}</ul>'


def table(items: Sequence[Item], view: View) -> str:
    """One page; a row more than PAGE tells that there is another."""
    shown = items[:PAGE]
    body = "".join(_row(item) for item in shown)
    return f"<table>{_head(view)}<tbody>{body}</tbody></table>{_foot(view, len(shown), len(items) > PAGE)}"


def _head(view: View) -> str:
    tick = '<th class="tick"><input type="checkbox" aria-label="Select all"></th><th class="thumb"></th>'
    return f"<thead><tr>{tick}{''.join(_column(*column, view) for column in COLUMNS)}</tr></thead>"


def _column(label: str, order: str, direction: str, view: View) -> str:
    if not order:
        return f"<th>{label}</th>"
    sorted_by = direction if view.order == order else "none"
    return f'<th aria-sort="{sorted_by}">{button("select", label, "sort", order=order)}</th>'


def _row(item: Item) -> str:
    route = {Kind.IMAGE: "thumb", Kind.AUDIO: "wave"}.get(item.kind)
    picture = f'<img src="{route}/{item.id}" alt="" loading="lazy">' if route else ""
    name = safe(item.name)
    link = f'<a href="media/{item.id}" target="_blank" rel="noopener" title="{safe(item.path)}">{name}</a>'
    cells = (
        f'<td class="tick"><input type="checkbox" value="{item.id}" aria-label="Select {name}"></td>',
        f'<td class="thumb">{picture}</td>',
        f'<td class="name">{link}<small>{safe(item.note)}</small></td>',
        f'<td class="kind {item.kind}">{SINGULAR[item.kind]}</td>',
        f"<td>{size(item.size)}<small>{safe(_facts(item))}</small></td>",
        f"<td>{day(item.added)}</td>",
    )
    return f'<tr data-id="{item.id}">{"".join(cells)}</tr>'


def _facts(item: Item) -> str:
    if item.width and item.height:
        return f"{item.width} × {item.height}"
    if item.seconds is not None:
        return clock(item.seconds)
    return count(item.segments, "passage")


def _foot(view: View, shown: int, more: bool) -> str:
    delete = '<button type="button" class="plain" data-delete disabled>Delete</button>'
    before = button("expand", "Previous", "plain", offset=view.offset - PAGE) if view.offset else ""
    after = button("expand", "Next", "plain", offset=view.offset + PAGE) if more else ""
    return f'<div class="foot">{delete}<span>{view.offset + 1:,} to {view.offset + shown:,}</span>{before}{after}</div>'
