"""Events of the Library tab: plain values in, HTML out."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from embedding.errors import TriptychError
from index.types import Item, Kind
from ui.handlers import deleted_note
from ui.studio import Studio
from ui.tray import tray
from ui.words import PLURAL, SINGULAR, button, clock, count, day, note, safe, size

PAGE = 100
LONGEST_NAME = 240  # bytes; file systems take 255, and the library adds to it
COLUMNS = (("name", "Name"), ("kind", "Kind"), ("size", "Size"), ("added", "Added"))


@dataclass(frozen=True)
class Upload:
    """A file that a browser sent: where it lies now, and the name it had."""

    path: str
    name: str


@dataclass(frozen=True)
class View:
    """Order and page of the table."""

    order: str = "added"
    offset: int = 0


class LibraryHandlers:
    """What the tab does, over a studio."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio

    def add_uploads(self, uploads: Sequence[Upload]) -> tuple[None, str]:
        """Copy uploaded files into the library in the background; the drop zone is empty again at once."""
        if uploads:
            staging = self.studio.settings.incoming / uuid.uuid4().hex
            files = _staged(uploads, staging)
            title = count(len(files), "uploaded file")
            self.studio.add(files, title, copy=True, done=lambda: shutil.rmtree(staging, ignore_errors=True))
        return None, tray(self.studio)

    def add_folder(self, text: str) -> tuple[str, str, str]:
        """Index a folder or file of this machine in place."""
        path = Path(text.strip()).expanduser()
        if not self.studio.settings.folders_allowed:
            return text, tray(self.studio), note("Paths can be named only when the app listens on this machine alone.", "error")
        if not text.strip() or not path.exists():
            return text, tray(self.studio), note(f"There is no folder or file {text.strip()!r} on this machine.", "error")
        self.studio.add([path], path.name or str(path))
        return "", tray(self.studio), ""

    def add_samples(self) -> str:
        """Index the sample library."""
        self.studio.add_samples()
        return tray(self.studio)

    def cancel(self, job: int) -> str:
        """Stop a job after its current file."""
        self.studio.jobs.cancel(job)
        return tray(self.studio)

    def dismiss(self, job: int) -> str:
        """Take a finished job off the tray."""
        self.studio.jobs.dismiss(job)
        return tray(self.studio)

    def filter(self, kind: str, text: str, view: View) -> tuple[str, View]:
        """The first page of what fits."""
        return self._drawn(kind, text, replace(view, offset=0))

    def sort(self, kind: str, text: str, view: View, order: str) -> tuple[str, View]:
        """The first page in another order."""
        return self._drawn(kind, text, replace(view, order=order, offset=0))

    def page(self, kind: str, text: str, view: View, offset: int) -> tuple[str, View]:
        """Another page."""
        return self._drawn(kind, text, replace(view, offset=max(0, offset)))

    def delete(self, kind: str, text: str, view: View, ids: Sequence[int]) -> tuple[str, str, tuple[int, ...]]:
        """Take items out of the library."""
        removed = tuple(self.studio.remove(ids))
        return self.table(kind, text, view), deleted_note(len(removed)), removed

    def undo(self, kind: str, text: str, view: View, deleted: Sequence[int]) -> tuple[str, str, tuple[int, ...]]:
        """Bring the last deletion back."""
        self.studio.restore(deleted)
        return self.table(kind, text, view), note(f"Brought back {count(len(deleted), 'item')}."), ()

    def table(self, kind: str, text: str, view: View) -> str:
        """Counts by kind and one page of items."""
        try:
            items = self.studio.library.items(Kind(kind) if kind else None, text or "", view.order, view.offset, PAGE + 1)
        except TriptychError as error:
            return note(str(error), "error")
        shown = items[:PAGE]
        if not shown:
            return counts(self.studio) + self._nothing(kind, text)
        body = "".join(_row(item) for item in shown)
        return f"{counts(self.studio)}<table>{_head(view)}<tbody>{body}</tbody></table>{_foot(view, len(items) > PAGE, len(shown))}"

    def _drawn(self, kind: str, text: str, view: View) -> tuple[str, View]:
        return self.table(kind, text, view), view

    def _nothing(self, kind: str, text: str) -> str:
        if kind or text:
            return note("No item fits the filter.")
        return note("The library holds nothing yet. Drop files above, name a folder, or add the sample library.")


def counts(studio: Studio) -> str:
    """How many items of each kind there are."""
    found = studio.library.count()
    parts = "".join(f'<li class="{kind}"><b>{found.get(kind, 0):,}</b> {PLURAL[kind]}</li>' for kind in Kind)
    return f'<ul class="counts">{parts}</ul>'


def _head(view: View) -> str:
    cells = "".join(
        f'<th aria-sort="{"ascending" if view.order == name else "none"}">{button("select", label, "sort", order=name)}</th>'
        for name, label in COLUMNS
    )
    return f'<thead><tr><th class="tick"><input type="checkbox" aria-label="Select all"></th><th class="thumb"></th>{cells}</tr></thead>'


def _row(item: Item) -> str:
    picture = f'<img src="thumb/{item.id}" alt="" loading="lazy">' if item.kind is Kind.IMAGE else ""
    facts = _facts(item)
    return (
        f'<tr data-id="{item.id}"><td class="tick"><input type="checkbox" value="{item.id}" aria-label="Select {safe(item.name)}"></td>'
        f'<td class="thumb {item.kind}">{picture}</td>'
        f'<td class="name"><a href="media/{item.id}" target="_blank" rel="noopener" title="{safe(item.path)}">{safe(item.name)}</a>'
        f"<small>{safe(item.note)}</small></td>"
        f'<td class="kind {item.kind}">{SINGULAR[item.kind]}</td><td>{size(item.size)}<small>{safe(facts)}</small></td>'
        f"<td>{day(item.added)}</td></tr>"
    )


def _facts(item: Item) -> str:
    if item.width and item.height:
        return f"{item.width} × {item.height}"
    if item.seconds is not None:
        return clock(item.seconds)
    return count(item.segments, "passage")


def _foot(view: View, more: bool, shown: int) -> str:
    before = button("expand", "Previous", "plain", offset=view.offset - PAGE) if view.offset else ""
    after = button("expand", "Next", "plain", offset=view.offset + PAGE) if more else ""
    span = f"<span>{view.offset + 1:,} to {view.offset + shown:,}</span>"
    return f'<div class="foot"><button type="button" class="plain" data-delete disabled>Delete</button>{span}{before}{after}</div>'


def _staged(uploads: Sequence[Upload], staging: Path) -> list[Path]:
    """The uploads moved out of Gradio's folder, each under the name that it had, as far as a file system takes it."""
    files = []
    for number, upload in enumerate(uploads):
        source, folder = Path(upload.path), staging / str(number)
        folder.mkdir(parents=True)
        name = re.sub(r"[/\\\x00]", "_", upload.name).strip()
        if name in ("", ".", "..") or len(name.encode()) > LONGEST_NAME:
            name = source.name
        files.append(source.rename(folder / name))
    return files
