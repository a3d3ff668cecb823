"""What goes into the catalogue and what its transactions report, before it becomes items and answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.types import Ids, Kind

KINDS = tuple(Kind)


@dataclass(frozen=True)
class Entry:
    """An item before it has an id. `path` is in bytes of the file system, below the data folder when `copied`."""

    kind: Kind
    name: str
    path: bytes
    copied: bool
    sha256: str
    size: int
    note: str = ""
    width: int | None = None
    height: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Part:
    """A segment before it has an id; `content` is the hash of what is embedded."""

    content: str
    start: float | None = None
    end: float | None = None
    text: str | None = None


@dataclass(frozen=True)
class Change:
    """What a transaction did to the live segments, between two revisions; `items` are those it concerned."""

    before: str
    after: str
    items: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Page:
    """Which items are listed: kind or all, part of the name, order (of `catalogue.ORDERS`), place; limit -1 is none."""

    kind: Kind | None
    text: str
    order: str
    offset: int
    limit: int


@dataclass(frozen=True)
class Leftover:
    """Files of a purged item that nothing refers to any more: its copy (below the data folder), its content hash."""

    copy: bytes | None
    sha256: str | None


@dataclass(frozen=True, eq=False)
class LiveRows:
    """All live segments of one moment, ascending by id.

    Parallel arrays [n]: segment, its item, the number of its kind in KINDS, whether it has a vector.
    """

    revision: str
    ids: Ids
    items: Ids
    kinds: NDArray[np.int8]
    embedded: NDArray[np.bool_]

    @classmethod
    def none(cls) -> LiveRows:
        """No segments, of no revision."""
        return cls("", np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.bool_))

    def of(self, kinds: frozenset[Kind]) -> NDArray[np.bool_]:
        """Which segments are of these kinds."""
        return np.isin(self.kinds, [KINDS.index(kind) for kind in kinds])

    def without(self, segment_ids: tuple[int, ...]) -> LiveRows:
        """The rows of other segments."""
        return self._taken(~np.isin(self.ids, segment_ids)) if segment_ids else self

    def joined(self, other: LiveRows) -> LiveRows:
        """The rows of both."""
        ids = np.concatenate([self.ids, other.ids])
        items = np.concatenate([self.items, other.items])
        kinds = np.concatenate([self.kinds, other.kinds])
        embedded = np.concatenate([self.embedded, other.embedded])
        return LiveRows(self.revision, ids, items, kinds, embedded)._taken(np.argsort(ids, kind="stable"))

    def _taken(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> LiveRows:
        return LiveRows(self.revision, self.ids[which], self.items[which], self.kinds[which], self.embedded[which])
