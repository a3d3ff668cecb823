"""Building blocks of made sounds: time lines, bands of noise, gliding tones, repeated events, struck things."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfilt

from tools.train_nano.audio_augment import RATE

Wave = NDArray[Any]
Rng = np.random.Generator


def time_line(seconds: float) -> Wave:
    return np.arange(int(seconds * RATE)) / RATE


def arch(t: Wave) -> Wave:
    """Half a sine over the length of `t`: from nothing to 1 and back."""
    return np.maximum(0.0, np.sin(np.pi * t / t[-1]))


def band(x: Wave, low: float, high: float) -> Wave:
    return np.asarray(sosfilt(butter(2, [low, min(high, 7900.0)], "bandpass", fs=RATE, output="sos"), x))


def glide(pitch: Wave, partials: int = 1, fall: float = 1.0) -> Wave:
    """A tone that follows `pitch` (Hz per sample), with harmonics that weaken as n^-fall."""
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    return np.asarray(sum(np.sin(n * phase) / n**fall for n in range(1, partials + 1) if pitch.max() * n < 7800))


def hits(rng: Rng, seconds: float, gaps: tuple[float, float], hit: Callable[[], Wave]) -> Wave:
    """The same kind of event again and again at random distances."""
    out, at = np.zeros(int(seconds * RATE)), 0.05
    while at < seconds - 0.05:
        piece = hit()
        start = int(at * RATE)
        piece = piece[: len(out) - start]
        out[start : start + len(piece)] += piece
        at += float(rng.uniform(*gaps))
    return out


def decay(x: Wave, half: float) -> Wave:
    return x * 0.5 ** (np.arange(len(x)) / RATE / half)


def strike(rng: Rng, base: float, ratios: tuple[float, ...], ring: float) -> Wave:
    t = time_line(ring * 5)
    return np.asarray(sum(decay(np.sin(2 * np.pi * base * r * t + rng.uniform(0, 6)), ring / r**0.7) / (i + 1) ** 0.7
                          for i, r in enumerate(ratios) if base * r < 7800))  # fmt: skip
