"""Inputs of the golden arrays, computed from formulas: the same bytes with every library version."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

RATE = 16_000

BUDGETS = (70, 140, 280)
SIZES = (
    (640, 640), (1024, 768), (768, 1024), (1, 1), (2, 1), (5, 7), (16, 16), (48, 48), (47, 49), (100, 1000),
    (1000, 100), (3000, 10), (10, 3000), (1, 500), (384, 384), (768, 480), (333, 517), (1600, 900), (31, 2000),
)  # fmt: skip
MEL_SAMPLES = (161, 320, 700, 8_000, 19_744, 480_000)

# (width, height), seed
PICTURES = {"square": ((300, 300), 1), "wide": ((400, 130), 2), "tall": ((90, 260), 3)}
# samples, seed
SOUNDS = {"short": (3_200, 4), "middle": (19_744, 5), "long": (52_000, 6)}

TEXTS = (
    "dog",
    "a red fox in the snow",
    "Wie spät ist es? Das Café schließt um 22:00 Uhr.",
    "two  spaces, a\ttab and\n\na paragraph",
    "emoji 🦊👩‍👩‍👧 and 東京タワー, العربية, हिन्दी",
    "control <|image|> text <bos> typed <eos> by a <|audio|> person <pad>",
    "",
    " leading and trailing ",
    "word " * 60,
)
TOGETHER = "a dog at night"  # words behind a picture or a sound
TITLED = (("Foxes", "The fox sleeps by day."), ("", "no title"), (None, "no title at all"))


def picture(size: tuple[int, int], seed: int = 0) -> Image.Image:
    """RGB picture of smooth waves and some hard edges; integers only, so no platform rounds differently."""
    width, height = size
    x = np.arange(width, dtype=np.int64)[None, :]
    y = np.arange(height, dtype=np.int64)[:, None]
    red = (x * (3 + seed) + y * 2) // 4
    green = (x * y) // (37 + 11 * seed) + 40 * seed
    blue = 90 * ((x // 23 + y // (17 + seed)) % 2) + (x - 2 * y) // 5
    channels = [np.broadcast_to(_fold(channel), (height, width)) for channel in (red, green, blue)]
    return Image.fromarray(np.stack(channels, axis=-1).astype(np.uint8), "RGB")


def sound(samples: int, seed: int = 0) -> NDArray[np.float32]:
    """Mono sound at 16 kHz: a falling tone, pulses and noise, rounded to 16 bit."""
    t = np.arange(samples, dtype=np.float64) / RATE
    tone = np.sin(2 * np.pi * (220.0 * (seed + 2) * t - 35.0 * t * t))
    pulses = np.where((np.arange(samples) // (400 + 90 * seed)) % 3 == 0, 1.0, 0.15)
    wave = 0.4 * tone * pulses + 0.05 * _noise(samples, seed)
    return (np.round(wave * 32767).astype(np.int16) / 32768).astype(np.float32)


def _fold(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Into 0..255, up and down without a jump."""
    wrapped = values % 510
    return np.where(wrapped > 255, 510 - wrapped, wrapped)


def _noise(samples: int, seed: int) -> NDArray[np.float64]:
    """Hash of the place, -1..1: does not depend on a library's generator."""
    places = np.arange(samples, dtype=np.uint64) + np.uint64(seed * 7_919 + 1)
    mixed = (places * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)) >> np.uint64(33)
    return mixed.astype(np.float64) / 2**30 - 1.0
