"""The reference's answers: transformers' own processor and model, as they come.

Needs torch and transformers: part of the golden script, never imported by a test.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from transformers import (
    EmbeddingGemma2Model,
    EmbeddingGemma2Processor,
    Gemma4AudioFeatureExtractor,
    Gemma4ImageProcessorPil,
    GemmaTokenizer,
)

Vectors = NDArray[np.float32]
QUERY = "task: search result | query: "


def document(title: str | None = None) -> str:
    """Prompt of a document."""
    return f"title: {title or 'none'} | text: "


class _NoVideo:
    """Stands where the processor wants a video processor, which would need torchvision."""


class Reference:
    """One model with its processor; every method gives unit vectors f32 [dim]."""

    def __init__(self, model: EmbeddingGemma2Model, tokenizer_json: Path, max_soft_tokens: int) -> None:
        self.model = model
        self.tokenizer = GemmaTokenizer(
            tokenizer_file=str(tokenizer_json), boi_token="<|image>", eoi_token="<image|>", image_token="<|image|>",
            boa_token="<|audio>", eoa_token="<audio|>", audio_token="<|audio|>",
        )  # fmt: skip
        self.processor = _processor(self.tokenizer, max_soft_tokens)

    def ids(self, text: str) -> list[int]:
        """Ids of a text in which control words are plain text, bos and eos around."""
        return list(self.tokenizer(text, split_special_tokens=True)["input_ids"])

    def text(self, text: str) -> Vectors:
        """Vector of a text with its prompt already in front."""
        ids = torch.tensor([self.ids(text)])
        return self._embed({"input_ids": ids, "attention_mask": torch.ones_like(ids)})[0]

    def texts(self, texts: list[str]) -> Vectors:
        """Vectors of several texts in one padded batch f32 [n, dim]."""
        return self._embed(dict(self.tokenizer(texts, split_special_tokens=True, padding=True, return_tensors="pt")))

    def media(
        self,
        image: Image.Image | None = None,
        sound: NDArray[np.float32] | None = None,
        around: tuple[str, str] = ("", ""),
    ) -> tuple[Vectors, list[int]]:
        """Vector and ids of a picture and/or sound between two texts: (prompt, words)."""
        inputs: dict[str, Any] = {}
        if image is not None:
            inputs["images"] = [[image]]
        if sound is not None:
            inputs["audio"] = [sound]
        if around != ("", ""):
            places = ("<|image|>" if image is not None else "") + ("<|audio|>" if sound is not None else "")
            inputs["text"] = [around[0] + places + around[1]]
        features = dict(self.processor(**inputs, return_tensors="pt"))
        return self._embed(features)[0], features["input_ids"][0].tolist()

    def _embed(self, features: dict[str, torch.Tensor]) -> Vectors:
        """Model, mean over real tokens, unit length."""
        with torch.no_grad():
            tokens = self.model(**features).last_hidden_state
        weight = features["attention_mask"].unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * weight).sum(dim=1) / weight.sum(dim=1)
        return torch.nn.functional.normalize(mean, dim=-1).numpy()


def _processor(tokenizer: GemmaTokenizer, max_soft_tokens: int) -> EmbeddingGemma2Processor:
    """The reference's processor without its video part."""

    class WithoutVideo(EmbeddingGemma2Processor):
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            if argument_name == "video_processor":
                return None
            return super().check_argument_for_proper_class(argument_name, argument)

    return WithoutVideo(
        feature_extractor=Gemma4AudioFeatureExtractor(),
        image_processor=Gemma4ImageProcessorPil(max_soft_tokens=max_soft_tokens),
        tokenizer=tokenizer,
        video_processor=_NoVideo(),
    )
