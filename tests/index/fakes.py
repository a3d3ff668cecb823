"""A model that computes: colour of a picture, words and letters of a text, pitch of a sound, all in one space.

So "red" finds the red picture and "high" the high sound: retrieval itself can be tested without weights.
"""

import io
import re
import threading
import time
import wave
from pathlib import Path

import numpy as np
from PIL import Image

from embedding.types import Embeddings, Failure, Media, Modality, Role, Space, Timings

CONCEPTS = ("red", "green", "blue", "low", "middle", "high")  # bands of a sound: below 400 Hz, below 1600 Hz, above
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIM = len(CONCEPTS) + len(LETTERS)


class FakeEmbedder:
    """An `index.Encoder`. `calls` counts the inputs that were really computed; names in `broken` fail."""

    def __init__(self, model="fake", modalities=tuple(Modality), max_tokens=512, max_seconds=30.0, delay=0.0):
        self.dim = DIM
        self.modalities = frozenset(modalities)
        self.space = Space(model, "1", "none", "1", DIM)
        self.max_tokens = max_tokens
        self.max_seconds = max_seconds
        self.delay = delay
        self.calls = 0
        self.longest_text = 0
        self.broken: set[str] = set()
        self.lock = threading.Lock()

    def count_tokens(self, text):
        return len(re.findall(r"\S+", text))

    def embed(self, items, role):
        role, timings = Role(role), Timings()
        vectors = np.full((len(items), self.dim), np.nan, np.float32)
        failures = []
        for index, item in enumerate(items):
            with timings.stage("text" if item.text is not None else "vision" if item.image is not None else "audio"):
                time.sleep(self.delay)
                if item.name in self.broken:
                    failures.append(Failure(index, "makes the model give NaN"))
                else:
                    vectors[index] = self._vector(item)
        with self.lock:
            self.calls += len(items)
        return Embeddings(vectors, timings, tuple(failures))

    def _vector(self, item: Media):
        vector = np.zeros(self.dim)
        if item.text is not None:
            tokens = self.count_tokens(item.text)
            assert tokens <= self.max_tokens, "a text was given that the model would cut"
            self.longest_text = max(self.longest_text, tokens)
            words = re.findall(r"[a-z]+", item.text.lower())
            for word in words:
                if word in CONCEPTS:
                    vector[CONCEPTS.index(word)] += 1.0
                for letter in word:
                    vector[len(CONCEPTS) + LETTERS.index(letter)] += 0.05
        if item.image is not None:
            vector[:3] += np.asarray(item.image.convert("RGB"), np.float64).mean(axis=(0, 1)) / 255.0
        if item.audio is not None:
            assert item.audio.seconds <= self.max_seconds, "a sound was given that the model would cut"
            spectrum = np.abs(np.fft.rfft(item.audio.samples))
            pitch = np.argmax(spectrum) / item.audio.seconds
            vector[3 if pitch < 400 else 4 if pitch < 1600 else 5] += 1.0
        vector[-1] += 0.01  # black is a vector too
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def picture(path: Path, colour, size=(64, 48)) -> Path:
    """A picture of one colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


def text(path: Path, content: str) -> Path:
    """A text file in UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def sound(path: Path, *tones: tuple[float, float], rate: int = 16_000) -> Path:
    """Tones one after the other, each (Hz, seconds), as 16-bit mono WAV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate) for hertz, seconds in tones]
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as stream:
        stream.setparams((1, 2, rate, 0, "NONE", ""))
        stream.writeframes((np.concatenate(parts) * 16_000).astype("<i2").tobytes())
    path.write_bytes(buffer.getvalue())
    return path
