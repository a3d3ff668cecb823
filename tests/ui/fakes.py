"""A model that computes: pictures by colour, sounds by pitch, words by what they name; so retrieval itself can be tested."""

from __future__ import annotations

import hashlib
import threading
from types import SimpleNamespace

import numpy as np

from embedding.errors import PackageError
from embedding.runtime import TowerPlan
from embedding.types import Embeddings, Media, Modality, Precision, Space, Timings
from ui.models import DeviceRow, PackageRow

COLOURS = {"red": (255, 0, 0), "green": (0, 160, 0), "blue": (0, 0, 255), "yellow": (255, 220, 0), "white": (255, 255, 255)}
PITCHES = {"low": 150.0, "middle": 600.0, "high": 2500.0}
MEANINGS = [*COLOURS, *PITCHES]
LETTERS = 32


class ColourEmbedder:
    """An axis for each colour and pitch that it knows, and 32 for the letters of all other words."""

    def __init__(self, name: str = "colours", precision: str = "int8", device: str = "CPU", revision: str = "1") -> None:
        self.card = SimpleNamespace(name=name, title=f"{name} (fake)", builtin=name == "colours")
        self.precision = Precision(precision)
        self.device = device
        self.dim = len(MEANINGS) + LETTERS
        self.modalities = frozenset(Modality)
        self.space = Space(name, revision, "none", "1", self.dim)
        self.max_seconds, self.max_tokens = 30.0, 256
        self.plan = tuple(TowerPlan(tower, device, device, "f32") for tower in ("text", "vision", "audio"))
        self.closed = False
        self._lock = threading.Lock()

    def embed(self, items, role="document"):
        timings = Timings()
        rows = []
        with self._lock:
            if self.closed:
                raise RuntimeError("embedder was used after close")
            for item in items:
                media = item if isinstance(item, Media) else Media(text=item)
                rows.append(self._vector(media, timings))
        return Embeddings(np.stack(rows).astype(np.float32), timings, (), tuple(1 for _ in rows))

    def count_tokens(self, text):
        return len(text.split())

    def close(self):
        self.closed = True

    def _vector(self, media, timings):
        vector = np.full(self.dim, 1e-3)
        if media.image is not None:
            with timings.stage("vision"):
                mean = np.asarray(media.image.convert("RGB").resize((8, 8)), dtype=float).mean(axis=(0, 1))
                for index, colour in enumerate(COLOURS.values()):
                    vector[index] += np.exp(-np.linalg.norm(mean - colour) / 60)
        if media.audio is not None:
            with timings.stage("audio"):
                spectrum = np.abs(np.fft.rfft(media.audio.samples[: 1 << 16]))
                peak = float(np.argmax(spectrum[1:]) + 1) * media.audio.rate / max(1, len(media.audio.samples[: 1 << 16]))
                for index, pitch in enumerate(PITCHES.values()):
                    vector[len(COLOURS) + index] += np.exp(-abs(np.log2(max(peak, 1.0) / pitch)))
        if media.text is not None:
            with timings.stage("text"):
                for word in media.text.lower().replace(".", " ").split():
                    vector += self._word(word)
        return vector / np.linalg.norm(vector)

    def _word(self, word):
        vector = np.zeros(self.dim)
        if word in MEANINGS:
            vector[MEANINGS.index(word)] = 1.0
        else:
            vector[len(MEANINGS) + hashlib.sha256(word.encode()).digest()[0] % LETTERS] = 0.3
        return vector


class FakeEngines:
    """Two models that load, one that is not downloaded, and one whose probe fails."""

    def __init__(self):
        self.loaded: list[ColourEmbedder] = []

    def packages(self):
        rows = [PackageRow("colours", "Colours", "int8", True), PackageRow("shades", "Shades", "int8", True)]
        rows.append(PackageRow("shades", "Shades", "fp16", True))
        rows.append(PackageRow("embeddinggemma-2", "EmbeddingGemma 2", "int8", False, problem="not downloaded"))
        return tuple([*rows, PackageRow("broken", "Broken", "int8", True)])

    def devices(self):
        return (DeviceRow("CPU", "A fake processor", "1"),)

    def load(self, model, precision, device):
        if model == "embeddinggemma-2":
            raise PackageError("The package is not here.")
        embedder = BrokenEmbedder(model, precision, device) if model == "broken" else ColourEmbedder(model, precision, device)
        self.loaded.append(embedder)
        return embedder

    def pull(self, model, precision, progress):
        progress(1, 2, "text_int8.bin")
        raise PackageError(f"{model} could not be downloaded: no network. Run `python app.py models pull {model}`.")


class BrokenEmbedder(ColourEmbedder):
    """Gives vectors that are not finite, as a device with a defect does."""

    def _vector(self, media, timings):
        return np.full(self.dim, np.nan)
