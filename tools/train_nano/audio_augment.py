"""What a room and a microphone do to a clip: silence around it, speed, echo, tone, noise, gain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve, lfilter, resample_poly

RATE = 16_000
Audio = NDArray[np.float32]


def coloured_noise(rng: np.random.Generator, samples: int, slope: float) -> NDArray[np.floating[Any]]:
    """Noise whose power falls by f^-slope (0 white, 1 pink, 2 brown), unit deviation."""
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    frequency = np.maximum(np.arange(len(spectrum)), 1.0)
    noise = np.fft.irfft(spectrum * frequency ** (-slope / 2), n=samples)
    return noise / (noise.std() + 1e-9)


def _room(rng: np.random.Generator, audio: NDArray[Any]) -> NDArray[Any]:
    seconds = rng.uniform(0.05, 0.45)
    size = int(seconds * RATE)
    echo = rng.standard_normal(size) * np.exp(-6.9 * np.arange(size) / size)
    echo *= rng.uniform(0.1, 0.7) / (np.sqrt((echo**2).sum()) + 1e-9)
    echo[0] = 1.0
    wet: NDArray[Any] = fftconvolve(audio, echo)[: len(audio) + size // 3]
    return wet


def _tone(rng: np.random.Generator, audio: NDArray[Any]) -> NDArray[Any]:
    kind = rng.integers(3)
    if kind == 0:  # dull: a closed room or an old telephone
        a = np.exp(-2 * np.pi * rng.uniform(1500, 4500) / RATE)
        return np.asarray(lfilter([1 - a], [1, -a], audio))
    if kind == 1:  # thin: a small speaker without bass
        a = np.exp(-2 * np.pi * rng.uniform(80, 500) / RATE)
        return np.asarray(lfilter([1, -1], [1, -a], audio))
    tilt = rng.uniform(-0.5, 0.5)
    return np.asarray(lfilter([1, tilt], [1], audio))


def augment(rng: np.random.Generator, audio: Audio, strength: float = 1.0) -> Audio:
    """A clip as another recording of it: mono 16 kHz in and out, peak below 1. `strength` 0 leaves only the silence."""
    out: NDArray[Any] = np.asarray(audio, np.float64)
    if rng.random() < 0.35 * strength:
        up = int(rng.integers(90, 112))
        out = resample_poly(out, 100, up)
    before, after = (int(x * RATE) for x in rng.uniform(0.0, (0.3, 0.4)))
    out = np.concatenate([np.zeros(before), out, np.zeros(after)])
    if rng.random() < 0.4 * strength:
        out = _room(rng, out)
    if rng.random() < 0.4 * strength:
        out = _tone(rng, out)
    out = out / (np.abs(out).max(initial=0.0) + 1e-9) * 10 ** (rng.uniform(-26, -0.5) / 20)
    if rng.random() < 0.55 * strength:
        level = np.sqrt((out**2).mean()) * 10 ** (-rng.uniform(8, 40) / 20)
        out = out + level * coloured_noise(rng, len(out), rng.choice([0.0, 0.5, 1.0, 1.5, 2.0]))
    return np.asarray(np.clip(out, -1.0, 1.0), np.float32)
