"""Log-mel spectrograms of the contract and of Whisper, and the linear map between them.

The contract is `Gemma4AudioFeatureExtractor` of transformers (20 ms frames, 10 ms hop, 128 HTK bins,
natural logarithm of the magnitude); Whisper's is 25 ms, 80 Slaney bins, log10 of the power. Both are
centred on the same samples, so one affine map per frame carries the first into the second.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

RATE = 16_000
FRAME, HOP, FFT, BINS, FLOOR = 320, 160, 512, 128, 0.001
PAD_MULTIPLE = 128
WHISPER_FFT, WHISPER_BINS = 400, 80
MAX_SAMPLES = 30 * RATE


def _htk_mel(hertz: Array) -> Array:
    return 2595.0 * np.log10(1.0 + hertz / 700.0)


def _slaney_mel(hertz: Array) -> Array:
    linear = 3.0 * hertz / 200.0
    logarithmic = 15.0 + np.log(np.maximum(hertz, 1e-9) / 1000.0) * 27.0 / np.log(6.4)
    return np.where(hertz >= 1000.0, logarithmic, linear)


def _triangles(edges: Array, frequencies: Array) -> Array:
    """Triangular filters [bins of the FFT, filters] whose corners are `edges` (filters + 2)."""
    slopes = edges[None, :] - frequencies[:, None]
    width = np.diff(edges)
    down = -slopes[:, :-2] / width[:-1]
    up = slopes[:, 2:] / width[1:]
    return np.maximum(0.0, np.minimum(down, up))


@cache
def contract_filters() -> Array:
    frequencies = np.linspace(0, RATE / 2, FFT // 2 + 1)
    mels = np.linspace(0.0, float(_htk_mel(np.array(RATE / 2.0))), BINS + 2)
    return _triangles(700.0 * (10.0 ** (mels / 2595.0) - 1.0), frequencies)


@cache
def whisper_filters() -> Array:
    frequencies = np.linspace(0, RATE / 2, WHISPER_FFT // 2 + 1)
    mels = np.linspace(0.0, float(_slaney_mel(np.array(RATE / 2.0))), WHISPER_BINS + 2)
    hertz = np.where(mels >= 15.0, 1000.0 * np.exp(np.log(6.4) / 27.0 * (mels - 15.0)), 200.0 * mels / 3.0)
    return _triangles(hertz, frequencies) * (2.0 / (hertz[2:] - hertz[:-2]))[None, :]


def _hann(size: int) -> Array:
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)


def contract_mel(audio: Array) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Mono 16 kHz samples -> (log-mel [1, frames, 128], mask [1, frames]); invalid frames are zero."""
    audio = np.asarray(audio, np.float64)[:MAX_SAMPLES]
    valid = len(audio)
    padded = np.pad(audio, (FRAME // 2, -valid % PAD_MULTIPLE))
    count = max(0, (len(padded) - FRAME - 1) // HOP + 1)
    starts = np.arange(count) * HOP
    frames = padded[starts[:, None] + np.arange(FRAME)[None, :]] * _hann(FRAME).astype(np.float32)
    magnitude = np.abs(np.fft.rfft(frames, n=FFT, axis=-1))
    mel = np.log(magnitude @ contract_filters() + FLOOR).astype(np.float32)
    ends = starts + FRAME - FRAME // 2
    mask = ends < valid
    return (mel * mask[:, None])[None], mask[None]


def whisper_log_power(audio: Array) -> NDArray[np.float32]:
    """Mono 16 kHz samples -> log10 mel power [frames, 80], before Whisper's clamp and scaling."""
    audio = np.asarray(audio, np.float64)
    padded = np.pad(audio, WHISPER_FFT // 2, mode="reflect" if len(audio) > WHISPER_FFT // 2 else "constant")
    count = (len(padded) - WHISPER_FFT) // HOP
    starts = np.arange(max(0, count)) * HOP
    frames = padded[starts[:, None] + np.arange(WHISPER_FFT)[None, :]] * _hann(WHISPER_FFT)
    power = np.abs(np.fft.rfft(frames, axis=-1)) ** 2
    return np.log10(np.maximum(power @ whisper_filters(), 1e-10)).astype(np.float32)


def fit_map(clips: list[Array], ridge: float = 1.0) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Ridge regression from contract frames to Whisper's -> (weight [128, 80], bias [80], r2).

    Only frames within 8 of the clip's loudest value count in full: below it Whisper clamps anyway.
    """
    xs, ys = [], []
    for clip in clips:
        mel, mask = contract_mel(clip)
        x, y = mel[0][mask[0]], whisper_log_power(clip)
        count = min(len(x), len(y))
        xs.append(x[:count])
        ys.append(np.maximum(y[:count], y.max() - 8.0))
    x, y = np.concatenate(xs).astype(np.float64), np.concatenate(ys).astype(np.float64)
    mean_x, mean_y = x.mean(0), y.mean(0)
    centred = x - mean_x
    weight = np.linalg.solve(centred.T @ centred + ridge * np.eye(BINS), centred.T @ (y - mean_y))
    residual = y - mean_y - centred @ weight
    r2 = 1.0 - float(residual.var() / (y - mean_y).var())
    return weight.astype(np.float32), (mean_y - mean_x @ weight).astype(np.float32), r2
