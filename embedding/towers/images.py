"""Pictures to patches, as EmbeddingGemma 2 reads them (reference: transformers, Gemma4ImageProcessor)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

PAD_POSITION = -1


@dataclass(frozen=True)
class ImageSettings:
    """How pictures are cut: patch side in pixels, most soft tokens a picture, side of a pooled square in patches."""

    patch_size: int = 16
    max_soft_tokens: int = 280
    pooling_kernel_size: int = 3

    @property
    def max_patches(self) -> int:
        """Most patches of one picture."""
        return self.max_soft_tokens * self.pooling_kernel_size**2

    @property
    def unit(self) -> int:
        """Both sides of a resized picture are multiples of this many pixels."""
        return self.patch_size * self.pooling_kernel_size


def target_size(width: int, height: int, settings: ImageSettings) -> tuple[int, int]:
    """Width and height in pixels that fit the budget, keep the aspect and are multiples of the unit.

    A side that would round to nothing gets one unit, and the other one whole units of the aspect, up to the budget.
    """
    unit = settings.unit
    factor = math.sqrt(settings.max_patches * settings.patch_size**2 / (width * height))
    columns, rows = int(factor * width / unit), int(factor * height / unit)
    if rows == 0:
        rows, columns = 1, min(width // height, settings.max_soft_tokens)
    elif columns == 0:
        columns, rows = 1, min(height // width, settings.max_soft_tokens)
    return columns * unit, rows * unit


def patchify(image: Image.Image, settings: ImageSettings) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Patches float32 [1, n, 3 * p * p] in 0..1, row by row, and their (x, y) positions int64 [1, n, 2].

    The channel is the fastest axis inside a patch. Resampling is Pillow's bicubic on 8-bit RGB.
    """
    width, height = target_size(image.width, image.height, settings)
    rgb = image if image.mode == "RGB" else image.convert("RGB")
    if rgb.size != (width, height):
        rgb = rgb.resize((width, height), Image.Resampling.BICUBIC)
    side = settings.patch_size
    columns, rows = width // side, height // side
    pixels = np.asarray(rgb, dtype=np.float32) * np.float32(1 / 255)
    patches = pixels.reshape(rows, side, columns, side, 3).transpose(0, 2, 1, 3, 4)
    y, x = np.divmod(np.arange(rows * columns, dtype=np.int64), columns)
    return patches.reshape(1, rows * columns, -1), np.stack([x, y], axis=-1)[None]


def pad_patches(
    patches: NDArray[np.float32], positions: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Pad both arrays to `count` patches, for graphs of a static size: zeros, and positions of -1."""
    missing = count - patches.shape[1]
    if missing <= 0:
        return patches, positions
    return (
        np.pad(patches, ((0, 0), (0, missing), (0, 0))),
        np.pad(positions, ((0, 0), (0, missing), (0, 0)), constant_values=PAD_POSITION),
    )
