"""Model families: each is a file that turns media into feeds and outputs into vectors, and knows no device.

The embedder sees a family through `Tower` only; a new one is a file here and a row in FAMILIES.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from embedding.errors import PackageError
from embedding.types import Media, Modality, Prompts, Role, Timings, Vectors

DYNAMIC = -1


class Session(Protocol):
    """A compiled graph: names to arrays in, names to arrays out; a size of -1 in a shape is dynamic."""

    @property
    def inputs(self) -> Mapping[str, tuple[int, ...]]: ...

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]: ...


class Prepared(Protocol):
    """One input after its media went through their towers: `length` tokens, `soft_tokens` of them from media."""

    @property
    def length(self) -> int: ...

    @property
    def soft_tokens(self) -> int: ...

    @property
    def note(self) -> str: ...


class Tower(Protocol):
    """The stages of a family over its sessions. `preprocessing` names what else sets its vector space apart."""

    dim: int
    modalities: frozenset[Modality]
    max_seconds: float
    max_tokens: int
    preprocessing: str

    def prepare(self, media: Media, role: Role, timings: Timings) -> Prepared:
        """Run the towers of its media and build its tokens; MediaError when the whole cannot be read at once."""

    def pool(self, batch: Sequence[Any]) -> Vectors:
        """Vectors [n, dim], not yet normalised, of texts, or of one input with media."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a bare text."""


class Family(Protocol):
    """What a file of a family offers."""

    def open_tower(
        self, folder: Path, prompts: Prompts, sessions: Mapping[str, Session], image_budget: int | None = None
    ) -> Tower:
        """The stages over a package, sessions by graph; `image_budget` is the most soft tokens of a picture."""

    def static_shapes(
        self, folder: Path, graph: str, tokens: int | None, image_budget: int | None = None
    ) -> Mapping[str, tuple[int, ...]]:
        """Sizes of a graph's inputs for devices that need them fixed: so many tokens, or the image budget."""


FAMILIES: dict[str, str] = {"gemma": "embedding.towers.gemma", "gme": "embedding.towers.gme"}


def family(name: str) -> Family:
    """The family of that name, imported now; PackageError naming the known ones."""
    if name not in FAMILIES:
        raise PackageError(f"There is no model family {name!r}; known are {', '.join(FAMILIES)}.")
    found: Any = importlib.import_module(FAMILIES[name])
    known: Family = found
    return known
