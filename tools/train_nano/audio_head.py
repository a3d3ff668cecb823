"""The trained part of the audio tower: encoder tokens -> one vector in the space of the text tower."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tools.train_nano.audio_encoder import WIDTH

REACH = 3  # tokens of 80 ms that a local filter sees on either side


@dataclass(frozen=True)
class HeadShape:
    """Sizes of the speech head; `queries` is how many places of a clip its pooling looks at."""

    hidden: int = 192
    inner: int = 512
    layers: int = 2
    heads: int = 6
    queries: int = 6
    memory: int = 768
    dim: int = 256


class Mixer(nn.Module):
    """Attention, a depthwise convolution over 0.5 s, feed-forward; each with its norm in front."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(shape.hidden) for _ in range(3))
        self.qkv, self.out = nn.Linear(shape.hidden, 3 * shape.hidden), nn.Linear(shape.hidden, shape.hidden)
        self.taps = nn.Parameter(torch.randn(2 * REACH + 1, shape.hidden) * 0.2)
        self.up, self.down = nn.Linear(shape.hidden, shape.inner), nn.Linear(shape.inner, shape.hidden)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        """States [b, t, h]; seen [b, t] is 1 where a token is real."""
        batch, width = x.shape[0], x.shape[2]
        parts = self.qkv(self.norm1(x)).reshape(batch, -1, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        bias = ((seen - 1.0) * 1e4)[:, None, None, :].to(parts.dtype)
        # written out: the fused kernel's backward pass is several times slower on a CPU
        score = parts[0] @ parts[1].transpose(-1, -2) / (width // self.heads) ** 0.5 + bias
        mixed = torch.softmax(score, -1) @ parts[2]
        x = x + self.out(mixed.permute(0, 2, 1, 3).reshape(batch, -1, width))
        wide = functional.pad(self.norm2(x) * seen.unsqueeze(-1), (0, 0, REACH, REACH))
        # a depthwise convolution as shifted sums: several times faster to train on a CPU
        local = sum(wide[:, i : i + x.shape[1]] * self.taps[i] for i in range(2 * REACH + 1))
        x = x + functional.gelu(local)
        return x + self.down(functional.gelu(self.up(self.norm3(x))))


class SpeechHead(nn.Module):
    """Tokens [b, t, 384] at 25 a second and their mask [b, t] -> vector [b, dim], not normalised.

    Two readings are added: what a few pooled places say together (a word is a sequence of sounds), and the weighted
    sum of what each moment says (a sentence is roughly the sum of its words).
    """

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        self.shape = shape
        self.register_buffer("mean", torch.zeros(WIDTH))
        self.register_buffer("scale", torch.ones(WIDTH))
        self.enter = nn.Linear(WIDTH, shape.hidden)
        self.halve = nn.Conv1d(shape.hidden, shape.hidden, 4, stride=2, padding=1)
        self.mixers = nn.ModuleList(Mixer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.hidden)
        self.look = nn.Linear(shape.hidden, shape.queries + 1)
        self.memory1 = nn.Linear(shape.queries * shape.hidden, shape.memory)
        self.memory2 = nn.Linear(shape.memory, shape.dim)
        self.moment1 = nn.Linear(shape.hidden, shape.inner)
        self.moment2 = nn.Linear(shape.inner, shape.dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, tokens: Tensor, seen: Tensor) -> Tensor:
        x = self.enter((tokens - self.mean) * self.scale) * seen.unsqueeze(-1)
        x = functional.gelu(self.halve(x.transpose(1, 2))).transpose(1, 2)
        seen = seen[:, 1::2]  # an odd last token is dropped by the convolution too
        for mixer in self.mixers:
            x = mixer(x, seen)
        x = self.drop(self.norm(x))
        weights = torch.softmax(self.look(x) + ((seen - 1.0) * 1e4).unsqueeze(-1), dim=1)
        places = (weights[:, :, :-1].transpose(1, 2) @ x).flatten(1)
        word = self.memory2(self.drop(functional.gelu(self.memory1(places))))
        moments = self.moment2(functional.gelu(self.moment1(x)))
        return word + (weights[:, :, -1:].transpose(1, 2) @ moments).squeeze(1)


class SoundHead(nn.Module):
    """Statistics of all encoder layers [b, 3840] -> vector of a sound that is not speech [b, dim], its share [b, 1]."""

    def __init__(self, inputs: int, dim: int, inner: int = 256) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("scale", torch.ones(inputs))
        self.enter = nn.Linear(inputs, inner)
        self.leave = nn.Linear(inner, dim)
        self.gate = nn.Linear(inner, 1)
        self.drop = nn.Dropout(0.3)

    def forward(self, statistics: Tensor) -> tuple[Tensor, Tensor]:
        x = torch.clamp((statistics - self.mean) * self.scale, -8.0, 8.0)
        x = self.drop(functional.gelu(self.enter(self.drop(x))))
        return self.leave(x), torch.sigmoid(self.gate(x))
