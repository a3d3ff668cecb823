"""The store of one space, kept equal to the catalogue: loaded or rebuilt, and brought up to date by every search."""

from __future__ import annotations

import hashlib
import logging
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np

from embedding.types import Space, Vectors
from index import ranking
from index.catalogue import Catalogue
from index.files import sweep
from index.ranking import Match
from index.rows import Change, LiveRows
from index.stores import Store, open_store, snapshot
from index.types import Ids, Kind

_LOG = logging.getLogger(__name__)
_READ_ROWS = 4096  # vectors read at once while rebuilding


class Mirror:
    """Searches one space. Its lock is held for moments only, never while a model runs or a file is read."""

    def __init__(self, catalogue: Catalogue, space: Space, engine: str) -> None:
        self.space = space
        self.space_id = catalogue.space_id(space)
        self._catalogue = catalogue
        self._engine = engine
        self._gate = threading.Lock()
        name = hashlib.sha256(space.key.encode()).hexdigest()[:16]
        self._path = catalogue.data_dir / "stores" / f"{engine}-{name}.store"
        self._store: Store = open_store(engine, space.dim)
        self._rows = LiveRows.none()
        self._saved = ""
        self._unsaved = 0  # vectors that came or went since the snapshot
        self._load()

    @property
    def path(self) -> Path:
        """Where the snapshot lies."""
        return self._path

    def __len__(self) -> int:
        with self._gate:
            self._refresh()
            return len(self._store)

    def ids(self) -> Ids:
        """Segments that can be found, ascending."""
        with self._gate:
            self._refresh()
            return self._store.ids()

    def pending(self, kinds: frozenset[Kind]) -> list[int]:
        """Live items of these kinds with a segment that has no vector in this space."""
        with self._gate:
            self._refresh()
            lacking = ~self._rows.embedded & self._rows.of(kinds)
            return [int(item) for item in np.unique(self._rows.items[lacking])]

    def search(self, queries: Vectors, k: int, kinds: frozenset[Kind], first: int | None = None) -> list[Match]:
        """The k best items of the kinds for any of the queries [n, dim]; see `ranking.best_by_item`."""
        with self._gate:
            self._refresh()
            allowed = self._allowed(kinds)
            total = len(self._store) if allowed is None else len(allowed)
            fetch = min(total, 4 * k)
            while True:
                scores, segments = self._store.search(queries, fetch, allowed)
                found = segments >= 0
                items = self._rows.items[np.searchsorted(self._rows.ids, segments[found])]
                matches = ranking.best_by_item(segments[found], items, scores[found], first)
                # Done when all are seen, or when nothing unseen can reach the last place: a tie there is decided by id.
                if fetch >= total or _settled(matches, k, ranking.rounded(scores[:, -1:]).max(initial=-1.0)):
                    return matches[:k]
                fetch = min(total, 4 * fetch)

    def apply(self, change: Change) -> None:
        """Follow a transaction of this process; after a gap, another one's changes are read as well."""
        with self._gate:
            if self._rows.revision != change.before:
                self._refresh()
                return
            self._store.remove(np.array(change.removed, np.int64))
            rows = self._rows.without(change.removed)
            if change.added:
                self._store.add(*self._catalogue.vectors(self.space_id, change.added))
                rows = rows.joined(self._catalogue.live(self.space_id, change.added))
            self._rows = replace(rows, revision=change.after)
            self._unsaved += len(change.removed) + len(change.added)

    def save(self) -> None:
        """Write the snapshot unless the file holds this state already. A failure costs only the next start's time."""
        with self._gate:
            self._refresh()
            stamp = self._stamp(len(self._store))
            if stamp.revision == self._saved:
                return
            data = self._store.dump()
        try:
            snapshot.save(self._path, stamp, data)
        except OSError as error:
            _LOG.warning("The vector store %s was not written: %s", self._path, error)
            return
        self._saved, self._unsaved = stamp.revision, 0

    def save_when_due(self) -> None:
        """Write the snapshot when a tenth of the store is new: for a single file it would cost more than it saves."""
        with self._gate:
            due = self._unsaved * 10 >= max(1, len(self._store))
        if due:
            self.save()

    def _load(self) -> None:
        """Begin with the snapshot when it is of this very state, else empty. The database is asked in both cases."""
        sweep(self._path.parent)
        rows = self._catalogue.live(self.space_id)
        try:
            stamp = snapshot.Stamp(self._engine, self.space.key, rows.revision, int(rows.embedded.sum()))
            self._store.load(snapshot.load(self._path, stamp))
            self._saved = rows.revision
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            _LOG.info("The vector store %s is rebuilt: %s", self._path, error)
        self._follow(rows)

    def _refresh(self) -> None:
        if self._catalogue.database.revision() != self._rows.revision:
            self._follow(self._catalogue.live(self.space_id))

    def _follow(self, rows: LiveRows) -> None:
        """Make the store hold exactly the embedded live segments. A vector never changes, so ids tell it all."""
        wanted = rows.ids[rows.embedded]
        held = self._store.ids()
        self._store.remove(np.setdiff1d(held, wanted, assume_unique=True))
        missing = np.setdiff1d(wanted, held, assume_unique=True)
        for start in range(0, len(missing), _READ_ROWS):
            self._store.add(*self._catalogue.vectors(self.space_id, missing[start : start + _READ_ROWS].tolist()))
        self._rows = rows
        self._unsaved += len(missing)

    def _allowed(self, kinds: frozenset[Kind]) -> Ids | None:
        if kinds >= frozenset(Kind):
            return None
        return self._rows.ids[self._rows.embedded & self._rows.of(kinds)]

    def _stamp(self, count: int) -> snapshot.Stamp:
        return snapshot.Stamp(self._engine, self.space.key, self._rows.revision, count)


def _settled(matches: list[Match], k: int, lowest_seen: float) -> bool:
    return len(matches) >= k and min(match.score for match in matches[:k]) > lowest_seen
