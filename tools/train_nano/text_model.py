"""The text tower: an encoder of BERT's kind that starts from the teacher's weights, and the graph around it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class EncoderShape:
    """Sizes of an encoder. `rank` is the width of the token table, widened to `hidden` by one matrix when smaller."""

    vocabulary: int
    layers: int
    inner: int
    rank: int = 384
    hidden: int = 384
    heads: int = 12
    positions: int = 512


class Layer(nn.Module):
    """Attention and feed-forward, each followed by its norm (post-norm, as in BERT)."""

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.out = nn.Linear(shape.hidden, shape.hidden)
        self.norm1 = nn.LayerNorm(shape.hidden, eps=1e-12)
        self.up = nn.Linear(shape.hidden, shape.inner)
        self.down = nn.Linear(shape.inner, shape.hidden)
        self.norm2 = nn.LayerNorm(shape.hidden, eps=1e-12)

    def forward(self, states: Tensor, bias: Tensor) -> Tensor:
        """States [b, s, h]; bias [b, 1, 1, s] is 0 where a token may be seen and very negative where not."""
        batch, length, hidden = states.shape
        parts = self.qkv(states).view(batch, length, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=bias.to(states.dtype))
        states = self.norm1(states + self.out(mixed.transpose(1, 2).reshape(batch, length, hidden)))
        return self.norm2(states + self.down(self.inner(states)))

    def inner(self, states: Tensor) -> Tensor:
        """Activations between the two feed-forward matrices."""
        return functional.gelu(self.up(states))


class Encoder(nn.Module):
    """Token ids and a mask of visible tokens in, states [b, s, hidden] out."""

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.tokens = nn.Embedding(shape.vocabulary, shape.rank)
        self.widen = nn.Linear(shape.rank, shape.hidden, bias=False) if shape.rank < shape.hidden else nn.Identity()
        self.positions = nn.Embedding(shape.positions, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))

    def forward(self, ids: Tensor, seen: Tensor) -> Tensor:
        """A token's position is its place among the visible ones, so that hidden ones leave no trace."""
        places = (torch.cumsum(seen, 1) - 1).clamp(0, self.shape.positions - 1)
        states = self.norm(self.widen(self.tokens(ids)) + self.positions(places))
        bias = (1.0 - seen[:, None, None, :].to(torch.float32)) * -1e4
        for layer in self.layers:
            states = layer(states, bias)
        return states


def mean(states: Tensor, seen: Tensor) -> Tensor:
    """Mean over the visible tokens, [b, hidden]."""
    weights = seen[:, :, None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1.0)


class TextTower(nn.Module):
    """Encoder, mean, projection into the shared space [b, dim]; not normalised."""

    def __init__(self, shape: EncoderShape, dim: int) -> None:
        super().__init__()
        self.encoder = Encoder(shape)
        self.project = nn.Linear(shape.hidden, dim)

    def forward(self, ids: Tensor, seen: Tensor) -> Tensor:
        return self.project(mean(self.encoder(ids, seen), seen))


@dataclass(frozen=True)
class Ids:
    """Control ids of the package; `first_word` is the lowest id that carries text."""

    pad: int = 0
    eos: int = 1
    bos: int = 2
    image: int = 3
    begin_image: int = 4
    end_image: int = 5
    audio: int = 6
    begin_audio: int = 7
    end_audio: int = 8
    video: int = 9
    prompt: int = 10
    first_word: int = 11


class TextGraph(nn.Module):
    """What is exported: the contract of the text tower around a `TextTower`.

    Begin and end are seen by the encoder only beside words. Prompts and placeholders are hidden from it. Feature rows
    go straight to the pooled vector: the sum of the unit vectors of the words, the picture and the sound, normalised.
    """

    def __init__(self, tower: TextTower, ids: Ids) -> None:
        super().__init__()
        self.tower = tower
        self.ids = ids

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, image_features: Tensor, audio_features: Tensor
    ) -> Tensor:
        framed = (input_ids == self.ids.bos) | (input_ids == self.ids.eos) | (input_ids >= self.ids.first_word)
        seen = framed.to(torch.int64) * attention_mask
        words = ((input_ids >= self.ids.first_word).to(torch.int64) * attention_mask).sum(1, keepdim=True)
        text = functional.normalize(self.tower(input_ids, seen), dim=-1) * words.clamp(max=1).to(torch.float32)
        image = _gathered(image_features, input_ids == self.ids.image)
        audio = _gathered(audio_features, input_ids == self.ids.audio)
        return functional.normalize(text + image + audio, dim=-1)


def _gathered(rows: Tensor, places: Tensor) -> Tensor:
    """Unit vector of the rows that belong to each input [b, dim]; zeros where it has none.

    Rows are dealt out to the placeholders in order. A row of zeros in front keeps every shape from being empty.
    """
    counts = places.to(torch.float32).sum(1, keepdim=True)
    ends = torch.cumsum(counts, 0)
    padded = torch.cat([torch.zeros_like(counts[:1]).expand(1, rows.shape[1]), rows], 0)
    order = torch.cumsum(torch.ones_like(padded[:, 0]), 0)[None, :] - 1.0  # 0 for the row of zeros, then 1, 2, ...
    owned = ((order > ends - counts) & (order <= ends)).to(torch.float32)
    return functional.normalize(owned @ padded, dim=-1)
