"""One file into the catalogue: read, decode, embed, one transaction. Whatever was reported as added is on the disk."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from embedding.errors import MediaError
from embedding.media import Limits
from embedding.types import Timings
from index import ingest
from index.catalogue import Catalogue, VectorsGone
from index.engine import Engine
from index.files import DataFiles
from index.ingest import Draft
from index.rows import Entry
from index.types import Item, Kind

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Taken:
    """What became of a file: `outcome` is added or unchanged."""

    outcome: str
    item: Item
    timings: Timings = field(default_factory=Timings)


class Intake:
    """Takes files in. No lock is held while a file is read or decoded or while the model runs."""

    def __init__(self, catalogue: Catalogue, files: DataFiles, limits: Limits) -> None:
        self._catalogue = catalogue
        self._files = files
        self._limits = limits

    def add(self, engine: Engine, path: bytes, copy: bool, cancelled: Callable[[], bool]) -> Taken:
        """Add a file, or leave it when the same content is there under the same path.

        Raises MediaError with the reason when it cannot be added, Interrupted when cancelled.
        """
        timings = Timings()
        with timings.stage("decode"):
            source = ingest.read(path, self._limits)
        place = self._files.copy_path(source.sha256, path) if copy else path
        present = self._catalogue.at_path(place)
        if present is not None and present.sha256 == source.sha256:
            if copy:
                self._files.keep(place, source.data)
            if present.id in engine.mirror.pending(engine.kinds):
                self.embed(engine, present, cancelled)
            return Taken("unchanged", present, timings)
        with timings.stage("decode"):
            draft = ingest.draft(source, engine.encoder, self._limits)
        entry = replace(draft.entry, path=place, copied=copy)
        with timings.stage("thumbnail"):
            self._make_thumbnail(draft)
        while True:
            vectors = engine.new_vectors(draft.parts, draft.media, timings, cancelled)
            with suppress(VectorsGone), timings.stage("store"), self._files.lock:
                if copy:  # on the disk before the item is
                    self._files.keep(place, source.data)
                item, change = self._catalogue.insert(entry, draft.parts, engine.mirror.space_id, vectors)
                break
        if change is not None:
            engine.mirror.apply(change)
        return Taken("unchanged" if change is None else "added", item, timings)

    def embed(self, engine: Engine, item: Item, cancelled: Callable[[], bool]) -> Taken:
        """Give an item of the library vectors of the engine's space. Raises as `add` does."""
        timings = Timings()
        segments = self._catalogue.segments(item.id)
        entry = Entry(item.kind, item.name, b"", False, item.sha256, item.size)
        with timings.stage("decode"):
            if item.kind is Kind.DOCUMENT:  # its passages lie in the catalogue, so the file is not needed
                draft = ingest.finer(entry, [segment for segment, _ in segments], engine.encoder)
            else:
                source = ingest.read(self._catalogue.file_of(item.id), self._limits)
                if source.sha256 != item.sha256:
                    raise MediaError("has changed since it was added; add it again")
                draft = ingest.draft(source, engine.encoder, self._limits)
        same = [part.content for part in draft.parts] == [content for _, content in segments]
        while True:
            vectors = engine.new_vectors(draft.parts, draft.media, timings, cancelled)
            with suppress(VectorsGone), timings.stage("store"):
                parts = None if same else draft.parts
                change = self._catalogue.embed(item.id, engine.mirror.space_id, vectors, parts)
                break
        if change is None:
            raise MediaError("was removed meanwhile")
        engine.mirror.apply(change)
        return Taken("added", item, timings)

    def _make_thumbnail(self, draft: Draft) -> None:
        """A picture is added even when its thumbnail cannot be written."""
        if draft.picture is None:
            return
        try:
            self._files.make_thumbnail(draft.entry.sha256, draft.picture)
        except OSError as error:
            _LOG.warning("No thumbnail of %r: %s", draft.entry.name, error)
