"""Sound to log-mel frames, as EmbeddingGemma 2 reads them (reference: transformers, Gemma4AudioFeatureExtractor)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# The reference pads the samples to a multiple of this before it cuts frames; it shows in the number of frames.
SAMPLES_MULTIPLE = 128


@dataclass(frozen=True)
class AudioSettings:
    """Framing: rate in Hz, mel bins, frame and hop in samples, FFT points, band in Hz, floor before the logarithm."""

    rate: int = 16_000
    mels: int = 128
    frame: int = 320
    hop: int = 160
    fft: int = 512
    low: float = 0.0
    high: float = 8_000.0
    floor: float = 1e-3
    max_seconds: float = 30.0


def log_mel(samples: NDArray[np.float32], settings: AudioSettings) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Log-mel magnitudes float32 [1, frames, mels] and their validity bool [1, frames]; invalid frames are zero.

    A frame is valid when its whole window lies on samples; half a frame of zeros stands in front. Sounds too short
    for one valid frame are padded with silence to one.
    """
    lead, span = settings.frame // 2, settings.frame + 1
    if len(samples) < span - lead:
        samples = np.pad(samples, (0, span - lead - len(samples)))
    tail = -len(samples) % SAMPLES_MULTIPLE
    wave = np.pad(samples.astype(np.float32), (lead, tail))
    windows = np.lib.stride_tricks.sliding_window_view(wave, span)[:: settings.hop, :-1]
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(settings.frame) / settings.frame)).astype(np.float32)
    magnitude = np.abs(np.fft.rfft(windows * hann, n=settings.fft, axis=-1))
    features = np.log(magnitude @ _filters(settings) + settings.floor).astype(np.float32)
    last_sample = np.arange(len(windows)) * settings.hop + span - 1
    valid = last_sample < lead + len(samples)
    return (features * valid[:, None])[None], valid[None]


@lru_cache(maxsize=8)
def _filters(settings: AudioSettings) -> NDArray[np.float64]:
    """Triangular HTK mel filters [fft / 2 + 1, mels] without area normalisation; mel = 2595 log10(1 + f / 700)."""
    low, high = (2595.0 * np.log10(1.0 + hertz / 700.0) for hertz in (settings.low, settings.high))
    edges = 700.0 * (10.0 ** (np.linspace(low, high, settings.mels + 2) / 2595.0) - 1.0)
    bins = np.linspace(0, settings.rate // 2, settings.fft // 2 + 1)
    slopes = edges[None, :] - bins[:, None]
    widths = np.diff(edges)
    falling = -slopes[:, :-2] / widths[:-1]
    rising = slopes[:, 2:] / widths[1:]
    return np.maximum(0.0, np.minimum(falling, rising))
