"""Change of the embedder while others search: probe the new one, and close the old one when nobody is inside."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from embedding.errors import InferenceError
from embedding.types import Audio, Media, Modality, Timings

if TYPE_CHECKING:
    from embedding import Embedder

WORDS = {Modality.TEXT: "text", Modality.IMAGE: "picture", Modality.AUDIO: "sound"}


class Turnstile:
    """Counts who is inside a call, so that an engine is closed only after everyone who may still hold it has left."""

    def __init__(self) -> None:
        self._tickets = itertools.count()
        self._inside: set[int] = set()
        self._changed = threading.Condition()

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Be inside for the length of the block."""
        with self._changed:
            ticket = next(self._tickets)
            self._inside.add(ticket)
        try:
            yield
        finally:
            with self._changed:
                self._inside.discard(ticket)
                self._changed.notify_all()

    def wait_for_present(self, timeout: float) -> bool:
        """Wait until all who are inside now have left; False when that took longer than `timeout` seconds."""
        with self._changed:
            limit = next(self._tickets)
            return self._changed.wait_for(lambda: all(ticket > limit for ticket in self._inside), timeout)


def probe_inputs() -> dict[Modality, Media]:
    """One small input of each kind: words, a gradient, a second of a tone."""
    ramp = np.linspace(0, 255, 96, dtype=np.uint8)
    across, down = np.meshgrid(ramp, ramp)
    pixels = np.stack([across, down, np.full_like(across, 128)], axis=-1)
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    return {
        Modality.TEXT: Media(text="a red apple on a table", name="probe text"),
        Modality.IMAGE: Media(image=Image.fromarray(pixels), name="probe picture"),
        Modality.AUDIO: Media(audio=Audio(tone.astype(np.float32), 16000), name="probe sound"),
    }


def probe(embedder: Embedder, step: Callable[[str], None]) -> Timings:
    """Embed one input of each modality of the model; InferenceError when one gives no vector of unit length."""
    timings = Timings()
    for modality, media in probe_inputs().items():
        if modality not in embedder.modalities:
            continue
        step(f"probe {WORDS[modality]}")
        result = embedder.embed([media], role="query")
        timings.merge(result.timings)
        if result.failures:
            raise InferenceError(f"The {WORDS[modality]} tower failed its probe: {result.failures[0].reason}")
        norm = float(np.linalg.norm(result.vectors[0]))
        if not np.isfinite(norm) or abs(norm - 1.0) > 1e-3:
            raise InferenceError(f"The {WORDS[modality]} tower failed its probe: its vector has length {norm}, not 1.")
    return timings
