"""The words of the index: what is kept and what a search answers. Imports only embedding.types."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embedding.types import Embeddings, Media, Modality, Role, Space, Timings

Ids: TypeAlias = NDArray[np.int64]


class Kind(StrEnum):
    """Kind of an item, as people name it."""

    DOCUMENT = "document"
    IMAGE = "image"
    AUDIO = "audio"

    @property
    def modality(self) -> Modality:
        """What a model must read to embed items of this kind."""
        return _MODALITIES[self]

    @classmethod
    def of(cls, modality: Modality) -> Kind:
        """The kind whose items are read by `modality`."""
        return next(kind for kind, read in _MODALITIES.items() if read is modality)


_MODALITIES = {Kind.DOCUMENT: Modality.TEXT, Kind.IMAGE: Modality.IMAGE, Kind.AUDIO: Modality.AUDIO}


class Encoder(Protocol):
    """The part of `embedding.Embedder` that a library needs; tests bring fakes that compute."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def modalities(self) -> frozenset[Modality]:
        """What the model reads."""

    @property
    def space(self) -> Space:
        """Identity of the vectors."""

    @property
    def max_seconds(self) -> float:
        """Longest sound of one vector."""

    @property
    def max_tokens(self) -> int:
        """Longest text of one vector, without the prompt."""

    def count_tokens(self, text: str) -> int:
        """Number of tokens of a text, without the prompt."""

    def embed(self, items: Sequence[Media], role: Role) -> Embeddings:
        """Row i belongs to items[i]; failures are marked, never dropped."""


@dataclass(frozen=True)
class Item:
    """A file of the library. `added` is UTC seconds; `note` says what was left out; `path` is where the original lies.

    `path` opens the file and may hold surrogates (see `shown`); `name` is safe to print and to send.
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
    """The part of an item that one vector stands for.

    A passage (start and end are lines, 1-based, inclusive), a whole picture (no start), or a window (seconds).
    """

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
            first, last = int(self.start), int(self.end)
            return f"line {first}" if first == last else f"lines {first}-{last}"
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
    """What is searched: the media of the question (or the id of an item: "more like this"), and which answers count.

    `balanced` keeps an equal share of the k places for each kind, whose cosines differ in height between kinds.
    """

    media: Media | None = None
    like: int | None = None
    kinds: frozenset[Kind] = frozenset(Kind)
    k: int = 12
    balanced: bool = False


@dataclass(frozen=True)
class Hits:
    """Ranked answers with the ms of every stage (`timings.ms`); `pending` items have no vector in this space yet."""

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
    """One event of an ingest: file `done` of `total`, what became of it, and the reason when it was skipped."""

    done: int
    total: int
    path: str
    outcome: str  # added | unchanged | skipped
    reason: str = ""
    item: Item | None = None
    timings: Timings = field(default_factory=Timings)


@dataclass
class AddReport:
    """Sum of an ingest. Every file stands in exactly one of the three lists."""

    added: list[Item] = field(default_factory=list)
    unchanged: list[Item] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    timings: Timings = field(default_factory=Timings)

    def count(self, event: Progress) -> None:
        """Enter one event."""
        self.timings.merge(event.timings)
        if event.item is None:
            self.skipped.append(Skipped(event.path, event.reason))
        else:
            (self.added if event.outcome == "added" else self.unchanged).append(event.item)


def shown(path: str) -> str:
    """A path that can be printed and sent as UTF-8: bytes of a file name that are no text become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60}:{whole % 60:02d}"
