"""EmbeddingGemma 2 as three OpenVINO graphs, traced from transformers' `EmbeddingGemma2Model`.

Shapes stay dynamic (batch, tokens, patches, frames). Only plain tensor operations are traced: masks are built here,
because the reference's mask builders read Python values that a trace would freeze.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import openvino as ov
import torch
from torch import nn

from embedding.export.tracing import trace

Model: TypeAlias = Any  # transformers' EmbeddingGemma2Model, untyped here

EXAMPLE_TOKENS = 24  # longer than one placeholder run, so that no traced size equals another by accident
EXAMPLE_SOFT_TOKENS = 3
FIRST_WORD = 5  # ids below are control words
EXAMPLE_GRID = (4, 2)  # pooled cells: x, y
EXAMPLE_FRAMES = 130


def text_graph(model: Model) -> ov.Model:
    """Token ids and soft tokens to the pooled, normalised `sentence_embedding` f32 [batch, dim]."""
    hidden = model.config.text_config.hidden_size
    ids = torch.arange(2 * EXAMPLE_TOKENS).reshape(2, EXAMPLE_TOKENS) + FIRST_WORD
    ids[0, 1 : 1 + EXAMPLE_SOFT_TOKENS] = model.config.image_token_id
    ids[1, 2 : 2 + EXAMPLE_SOFT_TOKENS] = model.config.audio_token_id
    mask = torch.ones_like(ids)
    mask[1, -4:] = 0
    example = {
        "input_ids": ids,
        "attention_mask": mask,
        "image_features": torch.randn(EXAMPLE_SOFT_TOKENS, hidden),
        "audio_features": torch.randn(EXAMPLE_SOFT_TOKENS, hidden),
    }
    shapes = {
        "input_ids": [-1, -1],
        "attention_mask": [-1, -1],
        "image_features": [-1, hidden],
        "audio_features": [-1, hidden],
    }
    return trace(_TextTower(model), example, shapes, ["sentence_embedding"])


def vision_graph(model: Model) -> ov.Model:
    """Patches and their positions to `image_features` f32 [soft tokens, hidden], padding stripped."""
    vision = model.config.vision_config
    kernel, width = vision.pooling_kernel_size, 3 * vision.patch_size**2
    columns, rows = EXAMPLE_GRID[0] * kernel, EXAMPLE_GRID[1] * kernel
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    positions = torch.stack([x, y], dim=-1).reshape(1, -1, 2)
    padding = torch.full((1, kernel * kernel, 2), -1)
    positions = torch.cat([positions, padding], dim=1)
    example = {"pixel_values": torch.rand(1, positions.shape[1], width), "pixel_position_ids": positions}
    shapes = {"pixel_values": [-1, -1, width], "pixel_position_ids": [-1, -1, 2]}
    return trace(_VisionTower(model), example, shapes, ["image_features"])


def audio_graph(model: Model, mel_bins: int = 128) -> ov.Model:
    """Log-mel frames and their mask to `audio_features` f32 [soft tokens, hidden], padding stripped."""
    mask = torch.ones(1, EXAMPLE_FRAMES, dtype=torch.bool)
    mask[:, -7:] = False
    example = {"input_features": torch.randn(1, EXAMPLE_FRAMES, mel_bins), "input_features_mask": mask}
    shapes = {"input_features": [-1, -1, mel_bins], "input_features_mask": [-1, -1]}
    return trace(_AudioTower(model), example, shapes, ["audio_features"])


class _TextTower(nn.Module):  # type: ignore[misc, unused-ignore]
    """Placeholders filled, encoder, mean over real tokens, unit length."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.encoder = model.language_model
        # The order of a set would differ from run to run, and with it the names in the file.
        self.encoder.unique_layer_types = sorted(self.encoder.unique_layer_types)
        self.window = model.config.text_config.sliding_window
        self.pad_id = model.config.text_config.pad_token_id
        self.image_id = model.config.image_token_id
        self.audio_id = model.config.audio_token_id

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        image_features: torch.Tensor,
        audio_features: torch.Tensor,
    ) -> torch.Tensor:
        is_image, is_audio = input_ids == self.image_id, input_ids == self.audio_id
        # Placeholder ids may lie outside the vocabulary; their rows are overwritten below.
        words = torch.where(is_image | is_audio, torch.full_like(input_ids, self.pad_id), input_ids)
        embeds = self.encoder.embed_tokens(words)
        embeds = _fill(embeds, is_image, image_features)
        embeds = _fill(embeds, is_audio, audio_features)
        masks = self._masks(attention_mask)
        tokens = self.encoder(inputs_embeds=embeds, attention_mask=masks).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * weight).sum(dim=1) / weight.sum(dim=1).clamp(min=1.0)
        return mean / mean.norm(dim=-1, keepdim=True).clamp(min=1e-12)

    def _masks(self, attention_mask: torch.Tensor) -> dict[str, torch.Tensor]:
        """True where a query may look: every real token, and near ones only in sliding layers."""
        length = attention_mask.shape[1]
        places = torch.arange(length)
        near = (places[:, None] - places[None, :]).abs() <= self.window
        real = (attention_mask != 0)[:, None, None, :]
        full = real & (places[:, None] >= 0)  # broadcasts to [batch, 1, tokens, tokens]
        # Padding far from all real tokens would look at nothing, which gives NaN; it looks at itself.
        itself = places[:, None] == places[None, :]
        return {"full_attention": full, "sliding_attention": (real & near) | itself}


class _VisionTower(nn.Module):  # type: ignore[misc, unused-ignore]
    """Patches to soft tokens in the width of the text encoder."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.tower, self.project = model.vision_tower, model.embed_vision

    def forward(self, pixel_values: torch.Tensor, pixel_position_ids: torch.Tensor) -> torch.Tensor:
        states = self.tower(pixel_values=pixel_values, pixel_position_ids=pixel_position_ids).last_hidden_state
        return self.project(inputs_embeds=states)


class _AudioTower(nn.Module):  # type: ignore[misc, unused-ignore]
    """Log-mel frames to soft tokens: the reference's forward with the attention mask built in blocks at once."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.tower, self.project = model.audio_tower, model.embed_audio

    def forward(self, input_features: torch.Tensor, input_features_mask: torch.Tensor) -> torch.Tensor:
        states, valid = self.tower.subsample_conv_projection(input_features, input_features_mask)
        positions = self.tower.rel_pos_enc(states)
        hidden_keys = self._hidden_keys(valid)
        for layer in self.tower.layers:
            states = layer(states, attention_mask=hidden_keys, position_embeddings=positions)
        return self.project(inputs_embeds=self.tower.output_proj(states))[valid]

    def _hidden_keys(self, valid: torch.Tensor) -> torch.Tensor:
        """1.0 where key j is hidden from query i: f32 [batch, 1, blocks, chunk, context].

        Visible: 0 <= i - j < context_left - 1, or 0 < j - i < context_right, and j is real sound.
        """
        config = self.tower.config
        chunk, past = config.attention_chunk_size, config.attention_context_left - 1
        future = config.attention_context_right
        length = valid.shape[1]
        blocks = (length + chunk - 1) // chunk
        starts = (torch.arange(blocks) * chunk)[:, None, None]
        query = starts + torch.arange(chunk)[None, :, None]
        key = starts + torch.arange(chunk + past + future)[None, None, :] - past
        distance = query - key
        near = ((distance >= 0) & (distance < past)) | ((distance < 0) & (-distance < future))
        inside = (key >= 0) & (key < length)
        real = valid[:, key.clamp(min=0).minimum(torch.zeros_like(key) + (length - 1))]
        return torch.logical_not(near & inside & real).to(torch.float32).unsqueeze(1)


def _fill(embeds: torch.Tensor, places: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    """Put row k of `features` at the k-th True of `places`, counted over the batch; no features change nothing."""
    width = embeds.shape[-1]
    rows = torch.cat([torch.zeros(1, width, dtype=features.dtype), features], dim=0)
    order = places.reshape(-1).to(torch.int64).cumsum(dim=0) * places.reshape(-1).to(torch.int64)
    chosen = rows[order].reshape(embeds.shape)
    return torch.where(places.unsqueeze(-1), chosen, embeds)
