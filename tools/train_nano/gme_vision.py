"""The vision graph of nano-gme: the frozen backbone and its head behind GME's patches, one soft token a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from embedding.export.tracing import trace
from embedding.towers.qwen_images import DEVIATION, MEAN, VisualSettings
from tools.train_nano.gme_model import NORM, load_model, text_vectors
from tools.train_nano.gme_tokenizer import Frame
from tools.train_nano.vision_model import GREY, Backbone, Head
from tools.train_nano.vision_train import load_head, train

# A square picture has 8 x 8 places of 28 px, scaled up or down: the 224 px that the backbone knows. More costs recall.
IMAGES = VisualSettings(min_tokens=50, max_tokens=66)
FOLDER = "gme"
EXAMPLE_GRID = (6, 4)  # patches: rows, columns


class VisionGraph(nn.Module):
    """Patches f32 [n, 1176] of a picture and their (row, column) i64 [n, 2] to its soft token f32 [1, dim].

    Padding at places of -1 is not seen.
    """

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head
        self.register_buffer("mean", torch.from_numpy(MEAN).reshape(1, 3, 1, 1))
        self.register_buffer("deviation", torch.from_numpy(DEVIATION).reshape(1, 3, 1, 1))

    def forward(self, pixel_values: Tensor, pixel_position_ids: Tensor) -> Tensor:
        side, frames = IMAGES.patch_size, IMAGES.temporal_patch_size
        pixels = pixel_values.reshape(-1, 3, frames, side, side).mean(2) * self.deviation + self.mean
        return self.head(self.backbone(assemble(pixels, pixel_position_ids))) * NORM


def assemble(pixels: Tensor, places: Tensor) -> Tensor:
    """The picture [1, 3, h, w] of 0..1 that patches [n, 3, p, p] at (row, column) [n, 2] make; gaps are grey.

    Each place of the grid looks up its patch by comparison, so any order and any padding is right.
    """
    side = pixels.shape[-1]
    rows, columns = torch.arange(places[:, 0].max() + 1), torch.arange(places[:, 1].max() + 1)
    grid = (rows[:, None] * 4096 + columns[None, :]).reshape(-1, 1)
    found = (grid == (places[:, 0] * 4096 + places[:, 1])[None, :]).to(pixels.dtype)
    laid = found @ (pixels.reshape(-1, 3 * side * side) - GREY) + GREY
    laid = laid.reshape(rows.shape[0], columns.shape[0], 3, side, side).permute(2, 0, 3, 1, 4)
    return laid.reshape(1, 3, rows.shape[0] * side, columns.shape[0] * side)


def train_head(work: Path, minutes: float = 2.0) -> Head:
    """Train a head against the vectors that the language model gives to names."""
    model, frame = load_model(work / FOLDER / "language.pt"), Frame(work / FOLDER / "tokenizer.json")

    def read(texts: list[str]) -> NDArray[np.float32]:
        return text_vectors(model, frame, texts)

    return train(work, minutes, read, FOLDER)


def vision_graph(work: Path) -> ov.Model:
    """The traced graph, f32."""
    rows, columns = torch.meshgrid(*(torch.arange(size) for size in EXAMPLE_GRID), indexing="ij")
    places = torch.stack([rows, columns], dim=-1).reshape(-1, 2)
    places[-4:] = -1
    example = {"pixel_values": torch.randn(len(places), IMAGES.patch_width), "pixel_position_ids": places}
    shapes = {"pixel_values": [-1, IMAGES.patch_width], "pixel_position_ids": [-1, 2]}
    return trace(VisionGraph(Backbone(work), load_head(work, FOLDER)).eval(), example, shapes, ["image_features"])
