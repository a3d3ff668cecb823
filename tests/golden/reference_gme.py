"""The reference's answers for GME: GME's own code over transformers' Qwen2VLModel, tokenizer and image processor.

`embed` and `fetch_size` follow `gme_inference.py` of the published model step by step. Needs torch and transformers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast, Qwen2Tokenizer, Qwen2VLModel
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from tests.golden.tiny_gme import CONTROL, vocabulary

Vectors = NDArray[np.float32]
DEFAULT = "You are a helpful assistant."
QUERY = "Find an image that matches the given text."
FACTOR, LEAST, MOST, RATIO = 28, 4 * 28 * 28, 16384 * 28 * 28, 200


def fetch_size(height: int, width: int) -> tuple[int, int]:
    """GME's own `smart_resize`: height and width."""
    h_bar = max(FACTOR, round(height / FACTOR) * FACTOR)
    w_bar = max(FACTOR, round(width / FACTOR) * FACTOR)
    if h_bar * w_bar > MOST:
        beta = math.sqrt((height * width) / MOST)
        h_bar = math.floor(height / beta / FACTOR) * FACTOR
        w_bar = math.floor(width / beta / FACTOR) * FACTOR
    elif h_bar * w_bar < LEAST:
        beta = math.sqrt(LEAST / (height * width))
        h_bar = math.ceil(height * beta / FACTOR) * FACTOR
        w_bar = math.ceil(width * beta / FACTOR) * FACTOR
    if max(h_bar, w_bar) / min(h_bar, w_bar) > RATIO:
        if h_bar > w_bar:
            h_bar = w_bar * RATIO
        else:
            w_bar = h_bar * RATIO
    return h_bar, w_bar


def process(image: Image.Image, max_tokens: int, min_tokens: int = 256) -> dict[str, Any]:
    """`fetch_image`, then the processor: `pixel_values` and `image_grid_thw`."""
    image = image.convert("RGB")
    height, width = fetch_size(image.height, image.width)
    image = image.resize((width, height))
    size = {"shortest_edge": min_tokens * 28 * 28, "longest_edge": max_tokens * 28 * 28}
    return dict(Qwen2VLImageProcessorPil(size=size)(image, return_tensors="np"))


def message(text: str | None, visual_tokens: int, instruction: str) -> str:
    """The whole string, image placeholders already expanded as Qwen2VLProcessor does."""
    user = ""
    if visual_tokens:
        user += "<|vision_start|>" + "<|image_pad|>" * visual_tokens + "<|vision_end|>"
    if text is not None:
        user += text
    return (
        f"<|im_start|>system\n{instruction}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n"
        "<|im_start|>assistant\n<|endoftext|>"
    )


class GmeReference:
    """One model with its tokenizer; every vector is f32 [dim], unit length."""

    def __init__(self, model: Qwen2VLModel, tokenizer: Tokenizer, max_tokens: int) -> None:
        self.model = model
        self.max_tokens = max_tokens
        self.tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|endoftext|>", padding_side="right"
        )
        vocab, merges = vocabulary(tokenizer)
        self.slow = Qwen2Tokenizer(vocab=vocab, merges=merges, additional_special_tokens=list(CONTROL))

    def ids(self, text: str | None, instruction: str, visual_tokens: int = 0) -> list[int]:
        """Ids of the whole string, tokenised at once; transformers' own Qwen2Tokenizer must agree."""
        whole = message(text, visual_tokens, instruction)
        found = list(self.tokenizer(whole)["input_ids"])
        assert found == list(self.slow(whole)["input_ids"]), whole
        return found

    def texts(self, texts: list[str], instruction: str) -> Vectors:
        """One padded batch f32 [n, dim]."""
        whole = [message(text, 0, instruction) for text in texts]
        batch = self.tokenizer(whole, padding=True, return_tensors="pt")
        return self._forward(batch["input_ids"], batch["attention_mask"])

    def picture(self, image: Image.Image, text: str | None = None, instruction: str = DEFAULT) -> Vectors:
        """A picture, alone or with a text."""
        inputs = process(image, self.max_tokens)
        tokens = int(inputs["image_grid_thw"][0].prod()) // 4
        ids = torch.tensor([self.ids(text, instruction, tokens)])
        return self._forward(ids, torch.ones_like(ids), inputs)[0]

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, inputs: dict[str, Any] | None = None) -> Vectors:
        """GME's `forward`: only embeddings and the mask reach the language model, so positions are 1-D."""
        with torch.no_grad():
            embeds = self.model.language_model.embed_tokens(ids)
            if inputs is not None:
                pixels, grid = (torch.tensor(inputs[name]) for name in ("pixel_values", "image_grid_thw"))
                rows = self.model.visual(pixels, grid_thw=grid).pooler_output
                embeds[ids == self.model.config.image_token_id] = rows
            states = self.model.language_model(inputs_embeds=embeds, attention_mask=mask).last_hidden_state
            last = states[torch.arange(len(ids)), mask.sum(dim=1) - 1]
        return torch.nn.functional.normalize(last, p=2, dim=1).numpy()
