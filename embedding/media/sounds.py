"""Sounds: any format of libsndfile to 16 kHz mono float32."""

from __future__ import annotations

import io

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from embedding.errors import MediaError
from embedding.media.limits import Limits, Source, open_source
from embedding.types import Audio

RATE = 16_000
_MIN_RATE, _MAX_RATE = 1_000, 768_000
_BLOCK_SECONDS = 30


def decode_audio(source: Source, limits: Limits | None = None) -> Audio:
    """All samples, channels averaged, at 16 kHz; NaN and infinity become silence, levels above 1 are scaled down.

    Raises MediaError: not a sound, no samples, or longer than the limit (checked before and while decoding).
    """
    limits = limits or Limits()
    with open_source(source, limits) as stream:
        try:
            with soundfile.SoundFile(stream) as sound:
                return _decode(sound, limits)
        except (soundfile.LibsndfileError, RuntimeError, OverflowError, ValueError, io.UnsupportedOperation) as error:
            raise MediaError(f"is not a sound that can be read ({_reason(error)})") from error


def _decode(sound: soundfile.SoundFile, limits: Limits) -> Audio:
    rate = sound.samplerate
    if not _MIN_RATE <= rate <= _MAX_RATE:
        raise MediaError(f"has a sampling rate of {rate} Hz, outside {_MIN_RATE} to {_MAX_RATE} Hz")
    if sound.frames / rate > limits.max_seconds:
        raise MediaError(_too_long(sound.frames / rate, limits))
    resampler = soxr.ResampleStream(rate, RATE, 1, dtype="float32")
    parts: list[NDArray[np.float32]] = []
    seconds, finite = 0.0, False
    for block in sound.blocks(blocksize=rate * _BLOCK_SECONDS, dtype="float32", always_2d=True):
        seconds += len(block) / rate
        if seconds > limits.max_seconds:  # the header said less
            raise MediaError(_too_long(seconds, limits))
        finite = finite or bool(np.isfinite(block).any())
        mono = np.nan_to_num(block, nan=0.0, posinf=0.0, neginf=0.0).mean(axis=1, dtype=np.float32)
        parts.append(resampler.resample_chunk(mono))
    if seconds == 0.0:
        raise MediaError("is a sound without samples")
    if not finite:
        raise MediaError("holds no sound: every sample is infinite or not a number")
    parts.append(resampler.resample_chunk(np.zeros(0, np.float32), last=True))
    samples = np.concatenate(parts)
    peak = float(np.abs(samples).max(initial=0.0))
    return Audio(samples / peak if peak > 1.0 else samples, RATE)


def _too_long(seconds: float, limits: Limits) -> str:
    return f"lasts {seconds / 60:.0f} minutes, more than the limit of {limits.max_seconds / 60:.0f} minutes"


def _reason(error: Exception) -> str:
    """libsndfile's own words, without the name of the stream."""
    return str(error).rsplit(": ", 1)[-1].strip().rstrip(".")[:120]
