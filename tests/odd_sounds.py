"""Damaged and odd sounds, each with what must become of it."""

import io
import struct

import numpy as np
import soundfile

from tests.odd_files import Odd


def tone(seconds: float = 1.0, rate: int = 16_000, channels: int = 1) -> np.ndarray:
    """440 Hz, float64 [samples, channels]."""
    wave = 0.3 * np.sin(2 * np.pi * 440 * np.arange(int(seconds * rate)) / rate)
    return np.repeat(wave[:, None], channels, axis=1)


def encoded(samples: np.ndarray, rate: int, kind: str = "WAV", subtype: str = "PCM_16") -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=kind, subtype=subtype)
    return buffer.getvalue()


def not_numbers() -> bytes:
    samples = tone()
    samples[100], samples[200], samples[300] = np.nan, np.inf, -np.inf
    return encoded(samples, 16_000, subtype="FLOAT")


def endless_header() -> bytes:
    """A WAV written as a stream: half a second of samples, and a size that was never filled in."""
    data = bytearray(encoded(tone(0.5), 16_000))
    data[4:8] = struct.pack("<I", 0xFFFFFFFF)
    start = data.index(b"data")
    data[start + 4 : start + 8] = struct.pack("<I", 0xFFFFFFFF)
    return bytes(data)


SOUNDS = (
    Odd("studio.wav", lambda: encoded(tone(1, 96_000, 2), 96_000, subtype="PCM_24"), "audio", seconds=1.0, segments=1),
    Odd("8-bit.wav", lambda: encoded(tone(), 16_000, subtype="PCM_U8"), "audio", seconds=1.0),
    Odd("not-numbers.wav", not_numbers, "audio", seconds=1.0),
    Odd("too-loud.wav", lambda: encoded(tone() * 100, 16_000, subtype="FLOAT"), "audio", seconds=1.0),
    Odd("silent.wav", lambda: encoded(tone() * 0, 16_000), "audio", seconds=1.0),
    Odd("six-channels.wav", lambda: encoded(tone(1, 48_000, 6), 48_000), "audio", seconds=1.0),
    Odd("mu-law.wav", lambda: encoded(tone(1, 8_000), 8_000, subtype="ULAW"), "audio", seconds=1.0),
    Odd("double.aiff", lambda: encoded(tone(), 16_000, "AIFF", "DOUBLE"), "audio", seconds=1.0),
    Odd("film.mp4", lambda: b"\x00\x00\x00\x20ftypisom" + bytes(99), reason="kind"),
    Odd("no-samples.wav", lambda: encoded(tone(0), 16_000), reason="samples"),
    Odd("ten-samples.wav", lambda: encoded(tone()[:10], 16_000), "audio"),
    Odd("telephone.mp3", lambda: encoded(tone(2, 8_000), 8_000, "MP3", "MPEG_LAYER_III"), "audio", seconds=2.0),
    Odd("stereo.flac", lambda: encoded(tone(1, 44_100, 2), 44_100, "FLAC"), "audio", seconds=1.0),
    Odd("music.ogg", lambda: encoded(tone(1, 44_100), 44_100, "OGG", "VORBIS"), "audio", seconds=1.0),
    Odd("voice.opus", lambda: encoded(tone(1, 48_000), 48_000, "OGG", "OPUS"), "audio", seconds=1.0),
    Odd("sixty-five-seconds.wav", lambda: encoded(tone(65, 8_000), 8_000), "audio", seconds=65.0, segments=3),
    Odd("cut-off.wav", lambda: encoded(tone(), 16_000)[:19_244], "audio", seconds=0.6),
    Odd("endless-header.wav", endless_header, "audio", seconds=0.5),
    Odd("cut-off.flac", lambda: encoded(tone(4, 44_100), 44_100, "FLAC")[:60], reason="sound"),
    Odd("header-only.wav", lambda: encoded(tone(), 16_000)[:20], reason="sound"),
    Odd("random-bytes.mp3", lambda: np.random.default_rng(3).bytes(4000), reason="sound"),
    Odd("tag-only.mp3", lambda: b"ID3\x04\x00\x00\x00\x00\x00\x0a" + bytes(10), reason="sound"),
    Odd("sound-called.png", lambda: encoded(tone(), 16_000), "audio", seconds=1.0),
    Odd("sound-called.txt", lambda: encoded(tone(1, 44_100), 44_100, "FLAC"), "audio", seconds=1.0),
)
