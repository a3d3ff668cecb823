"""GME as three OpenVINO graphs, traced from transformers' Qwen2VLModel used the way GME's own code uses it.

`vision` (one picture a call: attention needs no blocks), `embeddings` (token embeddings), `language` (causal, without
a cache; plain 1-D positions; the last token gathered, then unit length). Rows are padded on the right: no token that
counts can see a padded one, so the causal mask is enough.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import openvino as ov
import torch
from torch import nn
from torch.nn import functional
from transformers.models.qwen2_vl.modeling_qwen2_vl import apply_rotary_pos_emb_vision

from embedding.export.tracing import trace

Part: TypeAlias = Any  # modules of transformers' Qwen2VLModel, untyped here

EXAMPLE_GRID = (6, 4)  # patches: rows, columns
EXAMPLE_TOKENS = 11


def vision_graph(visual: Part) -> ov.Model:
    """Patches f32 [n, w] and their (row, column) i64 [n, 2] to `image_features` f32 [n / merge^2, dim].

    Padding, for devices that need a fixed n, stands at the end with places of -1; its rows mean nothing.
    """
    tower = _Vision(visual)
    rows, columns = torch.meshgrid(*(torch.arange(size) for size in EXAMPLE_GRID), indexing="ij")
    places = torch.stack([rows, columns], dim=-1).reshape(-1, 2)
    width = tower.patches.in_features
    example = {"pixel_values": torch.randn(len(places), width), "pixel_position_ids": places}
    places[-4:] = -1
    shapes = {"pixel_values": [-1, width], "pixel_position_ids": [-1, 2]}
    return trace(tower, example, shapes, ["image_features"])


def embeddings_graph(embed_tokens: Part) -> ov.Model:
    """Token ids i64 [b, s] to `inputs_embeds` f32 [b, s, dim]."""
    example = {"input_ids": torch.arange(2 * EXAMPLE_TOKENS).reshape(2, -1) % embed_tokens.num_embeddings}
    return trace(_Embeddings(embed_tokens), example, {"input_ids": [-1, -1]}, ["inputs_embeds"])


def language_graph(language: Part) -> ov.Model:
    """`inputs_embeds` f32 [b, s, dim] and `attention_mask` i64 [b, s] to `sentence_embedding` f32 [b, dim]."""
    dim = language.config.hidden_size
    mask = torch.ones(2, EXAMPLE_TOKENS, dtype=torch.int64)
    mask[1, -4:] = 0
    example = {"inputs_embeds": torch.randn(2, EXAMPLE_TOKENS, dim), "attention_mask": mask}
    shapes = {"inputs_embeds": [-1, -1, dim], "attention_mask": [-1, -1]}
    return trace(_Language(language), example, shapes, ["sentence_embedding"])


class _Vision(nn.Module):  # type: ignore[misc, unused-ignore]
    """Patch embedding as one matrix, blocks, merger."""

    def __init__(self, visual: Part) -> None:
        super().__init__()
        self.blocks, self.merger, self.rotary = visual.blocks, visual.merger, visual.rotary_pos_emb
        kernel = visual.patch_embed.proj.weight  # a convolution whose stride is its size
        self.patches = nn.Linear(kernel[0].numel(), kernel.shape[0], bias=False, device="meta")
        self.patches.weight = nn.Parameter(kernel.detach().reshape(kernel.shape[0], -1), requires_grad=False)

    def forward(self, pixel_values: torch.Tensor, pixel_position_ids: torch.Tensor) -> torch.Tensor:
        states = self.patches(pixel_values)
        cos, sin = self.rotary(states, pixel_position_ids)
        seen = (pixel_position_ids[:, 0] >= 0).reshape(1, 1, 1, -1)
        for block in self.blocks:
            states = states + _attend(block.attn, block.norm1(states), (cos, sin), seen)
            states = states + block.mlp(block.norm2(states))
        return self.merger(states)


def _attend(
    attention: Part, states: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor], seen: torch.Tensor
) -> torch.Tensor:
    """The reference's attention over one picture, without its split by pictures; patches not `seen` are padding."""
    parts = attention.qkv(states).reshape(-1, 3, attention.num_heads, attention.head_dim)
    query, key, value = parts[:, 0], parts[:, 1], parts[:, 2]
    query, key = apply_rotary_pos_emb_vision(query, key, *turns)
    heads = (part.transpose(0, 1).unsqueeze(0) for part in (query, key, value))
    mixed = functional.scaled_dot_product_attention(*heads, attn_mask=seen, scale=attention.scaling)
    return attention.proj(mixed.squeeze(0).transpose(0, 1).reshape(-1, attention.dim))


class _Embeddings(nn.Module):  # type: ignore[misc, unused-ignore]
    """The table of token embeddings."""

    def __init__(self, embed_tokens: Part) -> None:
        super().__init__()
        self.table = embed_tokens

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.table(input_ids)


class _Language(nn.Module):  # type: ignore[misc, unused-ignore]
    """Decoder layers, the state of the last real token, norm, unit length."""

    def __init__(self, language: Part) -> None:
        super().__init__()
        if set(language.config.layer_types) != {"full_attention"}:
            raise ValueError("A language model with sliding attention is not exported: GME has none.")
        self.layers, self.norm, self.rotary = language.layers, language.norm, language.rotary_emb

    def forward(self, inputs_embeds: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        places = torch.arange(inputs_embeds.shape[1]).reshape(1, 1, -1)
        position_embeddings = self.rotary(inputs_embeds, places.expand(3, 1, -1))
        states = inputs_embeds
        for layer in self.layers:
            states = layer(states, attention_mask=None, position_embeddings=position_embeddings)
        last = attention_mask.sum(dim=1) - 1
        states = states[torch.arange(states.shape[0]), last]
        vector = self.norm(states)
        return vector / vector.norm(dim=-1, keepdim=True).clamp(min=1e-12)
