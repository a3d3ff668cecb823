"""The job of a GME package from its original checkpoint: one part of the model in memory at a time."""

from __future__ import annotations

import openvino as ov
from torch import nn
from transformers import Qwen2VLConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import (
    Qwen2VisionTransformerPretrainedModel,
    Qwen2VLRotaryEmbedding,
    Qwen2VLTextModel,
    Qwen2VLVisionRotaryEmbedding,
)

from embedding.catalog import ModelCard
from embedding.export.checkpoint import Checkpoint
from embedding.export.gme import GmeAbout, Storage, gme_job
from embedding.export.pipeline import Job
from embedding.export.towers_gme import embeddings_graph, language_graph, vision_graph

_VISION = ("patch_embed.proj.weight", ("visual.", "model.visual."))
_LANGUAGE = ("embed_tokens.weight", ("model.", "model.language_model.", "language_model."))


class GmeParts:
    """Makers of the plain graphs."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._config = Qwen2VLConfig.from_pretrained(checkpoint.folder)
        self._vision = checkpoint.prefix(*_VISION)
        self._language = checkpoint.prefix(*_LANGUAGE)
        self.dim = int(self._config.text_config.hidden_size)

    @property
    def largest(self) -> int:
        """Numbers in the largest part."""
        table = self._checkpoint.size(self._language + "embed_tokens.")
        parts = (self._checkpoint.size(self._vision), self._checkpoint.size(self._language + "layers."), table)
        return max(parts)

    def vision(self) -> ov.Model:
        """Patches to visual tokens."""
        config = self._config.vision_config
        visual = self._checkpoint.fill(lambda: Qwen2VisionTransformerPretrainedModel(config), self._vision)
        visual.rotary_pos_emb = Qwen2VLVisionRotaryEmbedding(config)
        return vision_graph(visual)

    def embeddings(self) -> ov.Model:
        """Ids to token embeddings."""
        config = self._config.text_config
        table = self._checkpoint.fill(
            lambda: nn.Embedding(config.vocab_size, config.hidden_size), self._language + "embed_tokens."
        )
        return embeddings_graph(table)

    def language(self) -> ov.Model:
        """Embeddings to the last token's state."""
        config = self._config.text_config

        def build() -> Qwen2VLTextModel:
            model = Qwen2VLTextModel(config)
            del model.embed_tokens  # a graph of its own
            return model

        language = self._checkpoint.fill(build, self._language)
        language.rotary_emb = Qwen2VLRotaryEmbedding(config)
        return language_graph(language)


def job(card: ModelCard, checkpoint: Checkpoint, storage: Storage) -> tuple[Job, int]:
    """The job, and the bytes of memory that it needs."""
    parts = GmeParts(checkpoint)
    about = GmeAbout(card.name, parts.dim, card.prompts, source=checkpoint.source)
    makers = {"vision": parts.vision, "embeddings": parts.embeddings, "language": parts.language}
    made = gme_job(makers, checkpoint.tokenizer(), about, storage, identity=checkpoint.identity)
    return made, memory(parts.largest)


def memory(largest: int) -> int:
    """Bytes at the peak: the largest part in 32 bits, its graph in 16, and room for compiling it."""
    return largest * 8 + 2_000_000_000
