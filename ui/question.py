"""What a person asks and is answered, and the folders of the app."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from index.types import Hits, Kind
from ui.latency import Run, Setup


@dataclass(frozen=True)
class StudioSettings:
    """Folders (`samples` None: the first start adds none), and whether the page takes paths of this machine."""

    data_dir: Path
    models_dir: Path
    samples: Path | None = None
    folders_allowed: bool = True

    @property
    def uploads(self) -> Path:
        """Where the web server puts what browsers send."""
        return self.data_dir / "uploads"

    @property
    def incoming(self) -> Path:
        """Where uploads wait for the ingest that copies them into the library."""
        return self.data_dir / "incoming"


@dataclass(frozen=True)
class Question:
    """What a person asks: words, a picture or sound file, words with one of them, or an item to find the like of."""

    words: str = ""
    image: Path | None = None
    audio: Path | None = None
    like: int | None = None
    kinds: frozenset[Kind] = frozenset(Kind)
    k: int = 12
    balanced: bool = True

    @property
    def empty(self) -> bool:
        """Nothing was asked."""
        return not (self.words.strip() or self.image or self.audio or self.like is not None)


@dataclass(frozen=True)
class Answer:
    """Hits, what the search cost, and what ran."""

    question: Question
    hits: Hits
    run: Run
    setup: Setup
