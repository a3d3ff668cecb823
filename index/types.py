"""The words of the index: what is kept and what a search answers. Imports only embedding.types."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from embedding.types import Media, Timings


class Kind(StrEnum):
    """Kind of an item, as people name it."""

    DOCUMENT = "document"
    IMAGE = "image"
    AUDIO = "audio"


@dataclass(frozen=True)
class Item:
    """One file of the library. `added` is UTC seconds; `path` is where the original lies; `note` says what was left out, if anything.

    `width` and `height` are pixels of a picture, `seconds` the length of a sound; None for other kinds.
    """

    id: int
    kind: Kind
    name: str
    path: str
    sha256: str
    size: int
    added: float
    segments: int
    note: str = ""
    width: int | None = None
    height: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Segment:
    """The part of an item that one vector stands for: a passage (lines, 1-based, inclusive), a picture, or a window (seconds)."""

    id: int
    item_id: int
    ordinal: int
    start: float | None = None
    end: float | None = None
    text: str | None = None

    def label(self, kind: Kind) -> str:
        """Where it is, for a person: `lines 4-9`, `0:30-1:00`, or nothing for a picture."""
        if self.start is None or self.end is None:
            return ""
        if kind is Kind.DOCUMENT:
            return f"lines {int(self.start)}-{int(self.end)}"
        return f"{_clock(self.start)}-{_clock(self.end)}"


@dataclass(frozen=True)
class Hit:
    """One answer: rank from 1, the item, its best segment, and the cosine of unit vectors (higher is better)."""

    rank: int
    item: Item
    segment: Segment
    score: float


@dataclass(frozen=True)
class Query:
    """What is searched: the media of the question (or the id of an item: "more like this"), and which answers count."""

    media: Media | None = None
    like: int | None = None
    kinds: frozenset[Kind] = frozenset(Kind)
    k: int = 12


@dataclass(frozen=True)
class Hits:
    """Ranked answers with the time of every stage in ms (`timings.ms`); `pending` items have no vector in this space yet."""

    hits: tuple[Hit, ...]
    timings: Timings
    space: str
    pending: int = 0


@dataclass(frozen=True)
class Skipped:
    """A file that was not added, and why, in words."""

    path: str
    reason: str


@dataclass(frozen=True)
class Progress:
    """One event of an ingest: file `done` of `total`, its path, what became of it, and the reason when it was skipped."""

    done: int
    total: int
    path: str
    outcome: str  # added | unchanged | skipped
    reason: str = ""
    item: Item | None = None


@dataclass
class AddReport:
    """Sum of an ingest. Every input path stands in exactly one of the three lists."""

    added: list[Item] = field(default_factory=list)
    unchanged: list[Item] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    timings: Timings = field(default_factory=Timings)


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60}:{whole % 60:02d}"
