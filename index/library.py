"""The library: files in, ranked answers out. Joins the catalogue (truth), the mirror (search) and an embedder."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType

from embedding.errors import LibraryError, MediaError, SpaceError, TriptychError
from embedding.media import Limits, decode_image
from embedding.types import Timings, Vectors
from index import ranking
from index.catalogue import Catalogue
from index.engine import Engine, Interrupted, check_query
from index.files import DataFiles
from index.ingest import read
from index.intake import Intake, Taken
from index.ranking import Match
from index.rows import Change, Page
from index.types import AddReport, Encoder, Hit, Hits, Item, Kind, Progress, Query, Segment
from index.walk import walk

_LOG = logging.getLogger(__name__)
UNDO_SECONDS = 86_400.0  # a removed item can be brought back for a day


def _never() -> bool:
    return False


class Library:
    """A data folder and, to add and search, an embedder; without one it can be listed and items removed.

    Safe from several threads, and several processes may share the folder.
    """

    def __init__(
        self, data_dir: Path, embedder: Encoder | None = None, limits: Limits | None = None, store: str = "faiss"
    ) -> None:
        data_dir = Path(data_dir).absolute()
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LibraryError(f"The data folder {data_dir} cannot be made: {error.strerror}.") from error
        self.data_dir = data_dir
        self._limits = limits or Limits()
        self._store = store
        self._catalogue = Catalogue(data_dir)
        self._files = DataFiles(data_dir)
        self._intake = Intake(self._catalogue, self._files, self._limits)
        self._engine: Engine | None = None
        self._swap = threading.Lock()
        try:
            self.purge(UNDO_SECONDS)
            if embedder is not None:
                self.use(embedder)
        except BaseException:
            self._catalogue.close()
            raise

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write the vector store beside the database and close both."""
        with self._swap:
            engine, self._engine = self._engine, None
        try:
            if engine is not None:
                engine.mirror.save()
        finally:
            self._catalogue.close()

    # The model -------------------------------------------------------------------------------------------------------

    def use(self, embedder: Encoder | None) -> None:
        """Make an embedder's space the current one. The old one goes on answering until the new one is ready."""
        engine = Engine(self._catalogue, embedder, self._store) if embedder is not None else None
        with self._swap:
            engine, self._engine = self._engine, engine
        if engine is not None:
            engine.mirror.save_when_due()

    def pending(self) -> int:
        """Items of kinds the model reads that have no vectors in its space yet."""
        engine = self._ready()
        return len(engine.mirror.pending(engine.kinds))

    def embed_pending(self, cancelled: Callable[[], bool] | None = None) -> Iterator[Progress]:
        """Embed the pending items, one event each (`added` or `skipped`); each is on the disk when it is reported."""
        engine = self._ready()
        stop = cancelled or _never
        ids = engine.mirror.pending(engine.kinds)
        for number, item_id in enumerate(ids, 1):
            try:
                item = self._catalogue.item(item_id)
            except LibraryError:  # removed meanwhile
                continue
            event = self._event(item.path, stop, partial(self._intake.embed, item=item, cancelled=stop))
            if event is None:
                break
            yield Progress(number, len(ids), *event)
        self._save_when_due()

    # Files in --------------------------------------------------------------------------------------------------------

    def add(
        self,
        paths: Iterable[Path | str] | Path | str,
        *,
        copy: bool = False,
        cancelled: Callable[[], bool] | None = None,
    ) -> Iterator[Progress]:
        """Add files and everything in folders, one event a file; what is reported as added is on the disk.

        With `copy` the bytes are kept in the data folder (for uploads), else the files stay where they are.
        A file that cannot be added is skipped with the reason; cancelling takes effect between two calls of the model.
        """
        self._ready()
        stop = cancelled or _never
        found = walk([paths] if isinstance(paths, str | Path) else paths, self._files.private)
        for number, entry in enumerate(found, 1):
            path = os.fsdecode(entry.path)
            if entry.reason:
                yield Progress(number, len(found), path, "skipped", entry.reason)
                continue
            take = partial(self._intake.add, path=entry.path, copy=copy, cancelled=stop)
            event = self._event(path, stop, take)
            if event is None:
                break
            yield Progress(number, len(found), *event)
        self._save_when_due()

    def add_all(self, paths: Iterable[Path | str] | Path | str, *, copy: bool = False) -> AddReport:
        """Add everything and sum it up."""
        report = AddReport()
        for event in self.add(paths, copy=copy):
            report.count(event)
        return report

    def _event(
        self, path: str, stop: Callable[[], bool], take: Callable[[Engine], Taken]
    ) -> tuple[str, str, str, Item | None, Timings] | None:
        """Take one file with the current model; None when cancelled. A fault of the file is a reason, not an error."""
        while not stop():
            engine = self._ready()
            try:
                taken = take(engine)
                return path, taken.outcome, "", taken.item, taken.timings
            except Interrupted:
                return None
            except LibraryError:  # the library itself fails, so no other file would fare better
                raise
            except TriptychError as error:
                reason = str(error)
            except OSError as error:
                reason = f"cannot be stored: {(error.strerror or str(error)).lower()}"
            except Exception as error:  # noqa: BLE001  one bad file never stops the others
                _LOG.exception("Unexpected fault with %r", path)
                reason = f"cannot be added ({type(error).__name__}: {error})"
            if engine is self._engine:  # else the model was switched under this file: take it with the new one
                return path, "skipped", reason, None, Timings()
        return None

    # Answers out -----------------------------------------------------------------------------------------------------

    def search(self, query: Query) -> Hits:
        """The k best items of the wanted kinds, each by its best segment; ties by id, so the same every time.

        `like` asks with that vector of the item which is nearest to the mean of its vectors; the item itself leads
        with 1.
        Raises SpaceError when the library has no vectors of this model, with what to do.
        """
        check_query(query.media, query.like, query.k)
        engine = self._ready()
        timings = Timings()
        while True:
            try:
                engine.require_vectors()
                vectors = self._question(engine, query, timings)
                break
            except TriptychError:
                if engine is self._engine:
                    raise
                engine = self._ready()  # the model was switched under the question
        with timings.stage("search"):
            matches = engine.mirror.search(vectors, query.k, query.kinds, query.like)
            if query.balanced and len(query.kinds) > 1:
                each = [engine.mirror.search(vectors, query.k, frozenset({kind}), query.like) for kind in query.kinds]
                matches = ranking.balanced(matches, each, query.k, query.like)
        with timings.stage("rank"):
            hits = self._hits(matches)
            pending = len(engine.mirror.pending(engine.kinds))
        return Hits(hits, timings, engine.encoder.space.key, pending)

    def _question(self, engine: Engine, query: Query, timings: Timings) -> Vectors:
        if query.media is not None:
            return engine.question(query.media, timings)
        assert query.like is not None
        item = self._catalogue.item(query.like)
        vectors = engine.medoid(item.id)
        if not len(vectors):
            raise SpaceError(
                f"Item {item.id} has no vector of {engine.encoder.space.key} yet: run `python app.py reembed`, "
                "or press the button for it on the page."
            )
        return vectors

    def _hits(self, matches: list[Match]) -> tuple[Hit, ...]:
        known = self._catalogue.lookup(match.segment_id for match in matches)
        found = [(match, *known[match.segment_id]) for match in matches if match.segment_id in known]
        return tuple(Hit(rank, item, segment, match.score) for rank, (match, item, segment) in enumerate(found, 1))

    # What is there ---------------------------------------------------------------------------------------------------

    def items(
        self, kind: Kind | None = None, text: str = "", order: str = "added", offset: int = 0, limit: int | None = 100
    ) -> list[Item]:
        """A page of the items; `text` is part of a name; orders: added (newest first), name, size."""
        return self._catalogue.items(Page(kind, text, order, max(0, offset), -1 if limit is None else limit))

    def item(self, item_id: int) -> Item:
        """One item; LibraryError when there is none."""
        return self._catalogue.item(item_id)

    def segments(self, item_id: int) -> list[Segment]:
        """The segments of an item in their order."""
        return [segment for segment, _ in self._catalogue.segments(self._catalogue.item(item_id).id)]

    def count(self) -> dict[Kind, int]:
        """Items of each kind."""
        return self._catalogue.count()

    def spaces(self) -> list[tuple[str, int]]:
        """Keys of the spaces in which items have vectors, with the number of these items."""
        return self._catalogue.spaces()

    def thumbnail(self, item_id: int) -> Path | None:
        """A WebP of at most 320 px a side; None for what is no picture, or when the original is gone or has changed."""
        item = self._catalogue.item(item_id)
        if item.kind is not Kind.IMAGE:
            return None
        path = self._files.thumbnail(item.sha256)
        if not path.is_file():
            try:
                source = read(self._catalogue.file_of(item_id), self._limits)
                if source.sha256 != item.sha256:
                    return None
                self._files.make_thumbnail(item.sha256, decode_image(source.data, self._limits))
            except (MediaError, OSError):
                return None
        return path

    # Out and back ----------------------------------------------------------------------------------------------------

    def remove(self, ids: Iterable[int]) -> list[int]:
        """Remove items; the ids that were there. They can be restored for a day; their vectors stay cached as long."""
        return self._follow(self._catalogue.remove(ids))

    def restore(self, ids: Iterable[int]) -> list[int]:
        """Undo `remove`; the ids that came back. An item whose path was added again meanwhile stays out."""
        return self._follow(self._catalogue.restore(ids))

    def purge(self, older_than: float = 0.0) -> int:
        """Forget for good what was removed at least `older_than` seconds ago, with its copies; how many items."""
        with self._files.lock:
            leftovers = self._catalogue.purge(time.time() - older_than)
            for leftover in leftovers:
                self._files.forget(leftover.copy, leftover.sha256)
        return len(leftovers)

    def _follow(self, change: Change) -> list[int]:
        engine = self._engine
        if engine is not None:
            engine.mirror.apply(change)
        return list(change.items)

    def _save_when_due(self) -> None:
        engine = self._engine
        if engine is not None:
            engine.mirror.save_when_due()

    def _ready(self) -> Engine:
        engine = self._engine
        if engine is None:
            raise LibraryError(
                "No model is loaded, so nothing can be added or searched; see `python app.py models list`."
            )
        return engine
