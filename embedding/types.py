"""The words of the embedding layer: what goes in and what comes out. Imports nothing of the project."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image

Vectors: TypeAlias = NDArray[np.float32]


class Modality(StrEnum):
    """A kind of input that a tower reads."""

    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"


class Precision(StrEnum):
    """How the weights of a package are stored. Compute precision is asked of the device separately."""

    FP32 = "fp32"
    FP16 = "fp16"
    INT8 = "int8"
    INT4 = "int4"


class Role(StrEnum):
    """Which prompt a text gets: the question or the thing that is searched."""

    QUERY = "query"
    DOCUMENT = "document"


@dataclass(frozen=True)
class Prompts:
    """What is put around a text, by role: prefixes, where `{title}` is the title of a document or `none`.

    Families with a chat template take them as instructions.
    """

    query: str = ""
    document: str = ""

    @property
    def digest(self) -> str:
        """Short hash of the document's prompt: part of the identity of a space.

        The query's is no part: another instruction asks the same stored vectors, so nothing is embedded again.
        """
        return hashlib.sha256(self.document.encode()).hexdigest()[:8]


@dataclass(frozen=True, eq=False)
class Audio:
    """Mono sound: samples float32 [n] in -1..1 at `rate` Hz."""

    samples: NDArray[np.float32]
    rate: int

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.rate

    @property
    def silent(self) -> bool:
        """True when no sample is louder than -80 dB of full scale."""
        return float(np.abs(self.samples).max(initial=0.0)) < 1e-4


@dataclass(frozen=True, eq=False)
class Media:
    """One input, which becomes one vector: text, a picture, a sound, or text together with one of them.

    `title` is used by the document prompt only; `name` stands in errors.
    """

    text: str | None = None
    image: Image | None = None
    audio: Audio | None = None
    title: str | None = None
    name: str = ""

    @property
    def modalities(self) -> frozenset[Modality]:
        """The kinds of its parts."""
        parts = {Modality.TEXT: self.text, Modality.IMAGE: self.image, Modality.AUDIO: self.audio}
        return frozenset(modality for modality, part in parts.items() if part is not None)


Item: TypeAlias = str | Image | Audio | Media


@dataclass(frozen=True)
class Space:
    """Identity of a vector space: vectors may be compared only when all of it is equal.

    Precisions of one model whose drift is known to be small (see the card) share a space, so precision is no field.
    """

    model: str
    revision: str
    prompts: str
    preprocessing: str
    dim: int

    @property
    def key(self) -> str:
        """All fields in one string: the name of the space in the database and in answers."""
        return f"{self.model}@{self.revision}/{self.prompts}/{self.preprocessing}/{self.dim}"

    def __str__(self) -> str:
        return self.key


@dataclass
class Timings:
    """Milliseconds by stage, in the order in which the stages first ran. Latency is a return value."""

    ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the wall time of the block to the stage `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, (time.perf_counter() - start) * 1000.0)

    def add(self, name: str, milliseconds: float) -> None:
        """Add milliseconds to a stage."""
        self.ms[name] = self.ms.get(name, 0.0) + milliseconds

    def merge(self, other: Timings | Mapping[str, float]) -> None:
        """Add every stage of another record to this one."""
        for name, milliseconds in (other.ms if isinstance(other, Timings) else other).items():
            self.add(name, milliseconds)

    @property
    def total(self) -> float:
        """Sum of all stages in ms."""
        return sum(self.ms.values())


@dataclass(frozen=True)
class Failure:
    """Why one input has no vector."""

    index: int
    reason: str


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Result of a call: row i of `vectors` (float32 [n, dim], unit rows) belongs to input i; rows of failures are NaN.

    `soft_tokens` holds, for each input, how many tokens its picture or sound became; `notes` what was not
    read, if anything.
    """

    vectors: Vectors
    timings: Timings
    failures: tuple[Failure, ...] = ()
    soft_tokens: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
