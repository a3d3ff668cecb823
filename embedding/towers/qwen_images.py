"""Pictures to patches, as GME reads them (references: GME's `fetch_image`, then transformers' Qwen2VLImageProcessor).

Two resizes one after the other, as there: first by GME's own code, then by the processor to the budget of tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

# The first step's own limits: 4 to 16,384 visual tokens, and at most this ratio of the sides.
FETCH_TOKENS = (4, 16_384)
MAX_RATIO = 200
PAD_PLACE = -1

MEAN = np.array([0.48145466, 0.4578275, 0.40821073], dtype=np.float32)
DEVIATION = np.array([0.26862954, 0.26130258, 0.27577711], dtype=np.float32)


@dataclass(frozen=True)
class VisualSettings:
    """How pictures are cut: patch side in pixels, frames a patch, patches a token's side, least and most tokens."""

    patch_size: int = 14
    temporal_patch_size: int = 2
    merge_size: int = 2
    min_tokens: int = 256
    max_tokens: int = 1024

    @property
    def unit(self) -> int:
        """Side of a visual token in pixels: both sides of a resized picture are multiples of it."""
        return self.patch_size * self.merge_size

    @property
    def most_patches(self) -> int:
        """No picture has more patches: a thin one that is scaled up may have nearly twice the least tokens."""
        return max(self.max_tokens, 2 * self.min_tokens) * self.merge_size**2

    @property
    def patch_width(self) -> int:
        """Numbers in one patch."""
        return 3 * self.temporal_patch_size * self.patch_size**2


def fetch_size(width: int, height: int, unit: int) -> tuple[int, int]:
    """Width and height in pixels of the first resize: near the picture's own, whole units, sides within MAX_RATIO."""
    columns, rows = _fit(width, height, unit, FETCH_TOKENS)
    if max(columns, rows) > MAX_RATIO * min(columns, rows):
        columns, rows = min(columns, rows * MAX_RATIO), min(rows, columns * MAX_RATIO)
    return columns * unit, rows * unit


def target_size(width: int, height: int, settings: VisualSettings) -> tuple[int, int]:
    """Width and height in pixels of the second resize: between the least and the most visual tokens."""
    columns, rows = _fit(width, height, settings.unit, (settings.min_tokens, settings.max_tokens))
    return columns * settings.unit, rows * settings.unit


def _fit(width: int, height: int, unit: int, tokens: tuple[int, int]) -> tuple[int, int]:
    """Columns and rows of units: rounded, or scaled with the aspect kept when there would be too few or too many."""
    least, most = tokens
    columns, rows = max(1, round(width / unit)), max(1, round(height / unit))
    area = unit * unit
    if columns * rows > most:
        shrink = math.sqrt((height * width) / (most * area))
        columns, rows = max(1, math.floor(width / shrink / unit)), max(1, math.floor(height / shrink / unit))
    elif columns * rows < least:
        grow = math.sqrt((least * area) / (height * width))
        columns, rows = math.ceil(width * grow / unit), math.ceil(height * grow / unit)
    return columns, rows


def patchify(image: Image.Image, settings: VisualSettings) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Patches float32 [n, 3 * t * p * p] and their places (row, column) int64 [n, 2].

    The patches of one visual token follow each other; inside a patch the axes are channel, frame, row, column.
    """
    rgb = image if image.mode == "RGB" else image.convert("RGB")
    rgb = _resized(rgb, fetch_size(rgb.width, rgb.height, settings.unit))
    rgb = _resized(rgb, target_size(rgb.width, rgb.height, settings))
    side, merge = settings.patch_size, settings.merge_size
    down, across = rgb.height // settings.unit, rgb.width // settings.unit
    pixels = (np.asarray(rgb, dtype=np.float32) * np.float32(1 / 255) - MEAN) / DEVIATION
    blocks = pixels.reshape(down, merge, side, across, merge, side, 3).transpose(0, 3, 1, 4, 6, 2, 5)
    frames = np.repeat(blocks[:, :, :, :, :, None], settings.temporal_patch_size, axis=5)
    return frames.reshape(-1, settings.patch_width), _places(down, across, merge)


def pad_patches(
    patches: NDArray[np.float32], places: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Pad both arrays to `count` patches, for graphs of a static size: zeros, at places of -1."""
    missing = ((0, count - len(patches)), (0, 0))
    return np.pad(patches, missing), np.pad(places, missing, constant_values=PAD_PLACE)


def _resized(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    return image if image.size == size else image.resize(size, Image.Resampling.BICUBIC)


def _places(down: int, across: int, merge: int) -> NDArray[np.int64]:
    """(row, column) of every patch in the order of the patches."""
    rows, columns = np.mgrid[0 : down * merge, 0 : across * merge]
    both = np.stack([rows, columns], axis=-1).astype(np.int64)
    return both.reshape(down, merge, across, merge, 2).transpose(0, 2, 1, 3, 4).reshape(-1, 2)
