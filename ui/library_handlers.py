"""Events of the Library tab: plain values in, HTML out."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from embedding.errors import TriptychError
from index.types import Kind
from ui.handlers import deleted_note
from ui.studio import Studio
from ui.table import PAGE, View, counts, table
from ui.tray import tray
from ui.uploads import Upload, staged
from ui.words import count, note


class LibraryHandlers:
    """What the tab does, over a studio."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio

    def add_uploads(self, uploads: Sequence[Upload]) -> tuple[None, str]:
        """Copy uploaded files into the library in the background; the drop zone is empty again at once."""
        if uploads:
            staging = self.studio.settings.incoming / uuid.uuid4().hex
            files = staged(uploads, staging)
            title = count(len(files), "uploaded file")
            self.studio.add(files, title, copy=True, done=lambda: shutil.rmtree(staging, ignore_errors=True))
        return None, tray(self.studio)

    def add_folder(self, text: str) -> tuple[str, str, str]:
        """Index a folder or file of this machine in place."""
        path = Path(text.strip()).expanduser()
        if not self.studio.settings.folders_allowed:
            return (
                text,
                tray(self.studio),
                note("Paths can be named only when the app listens on this machine alone.", "error"),
            )
        if not text.strip() or not path.exists():
            return (
                text,
                tray(self.studio),
                note(f"There is no folder or file {text.strip()!r} on this machine.", "error"),
            )
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
            wanted = Kind(kind) if kind else None
            items = self.studio.library.items(wanted, text or "", view.order, view.offset, PAGE + 1)
        except TriptychError as error:
            return note(str(error), "error")
        if not items:
            return counts(self.studio.library.count()) + self._nothing(kind, text)
        return counts(self.studio.library.count()) + table(items, view)

    def _drawn(self, kind: str, text: str, view: View) -> tuple[str, View]:
        return self.table(kind, text, view), view

    def _nothing(self, kind: str, text: str) -> str:
        if kind or text:
            return note("No item fits the filter.")
        return note("The library holds nothing yet. Drop files above, name a folder, or add the sample library.")
