"""The job of an EmbeddingGemma 2 package from its original checkpoint."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import openvino as ov
import torch
from transformers import EmbeddingGemma2Model

from embedding.catalog import ModelCard
from embedding.errors import PackageError
from embedding.export import samples
from embedding.export.checkpoint import Checkpoint
from embedding.export.drift import DriftReport, measure
from embedding.export.gme import TOOLS, Storage
from embedding.export.package import processor_config
from embedding.export.pipeline import Job, Part, write_json
from embedding.export.sessions import GraphSession
from embedding.export.tokenizers import write_tokenizer
from embedding.export.towers_gemma import audio_graph, text_graph, vision_graph
from embedding.export.weights import overridden, weights_of
from embedding.towers.gemma import GemmaTower, open_tower
from embedding.types import Modality, Precision, Prompts

RECORD = "triptych-export.json"


class GemmaParts:
    """Makers of the plain graphs over one model, read when the first of them needs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def model(self) -> Any:
        """The reference's model, f32."""
        return EmbeddingGemma2Model.from_pretrained(self._folder, dtype=torch.float32).eval()

    def maker(self, make: Callable[[Any], ov.Model]) -> Callable[[], ov.Model]:
        """A maker that reads the model when it is called."""
        return lambda: make(self.model)


def job(card: ModelCard, checkpoint: Checkpoint, storage: Storage) -> tuple[Job, int]:
    """The job, and the bytes of memory that it needs."""
    if storage.precision is Precision.INT4:
        raise PackageError("EmbeddingGemma 2 is not exported in 4 bits: its audio tower drifts to a cosine of 0.975.")
    package = card.package(storage.precision)
    parts = GemmaParts(checkpoint.folder)
    makers = {"text": text_graph, "vision": vision_graph, "audio": audio_graph}
    weights = overridden(weights_of(storage.precision, makers), storage.overrides)

    def write_texts(folder: Path) -> None:
        graph = write_tokenizer(checkpoint.tokenizer(), folder)
        for name in ("config.json", "processor_config.json"):
            path = checkpoint.folder / name
            if path.is_file():
                write_json(folder / name, json.loads(path.read_text(encoding="utf-8")))
        if not (folder / "processor_config.json").is_file():
            write_json(folder / "processor_config.json", processor_config(parts.model, max_soft_tokens=280))
        stored = {name: {"file": package.graphs[name], "weights": str(kept)} for name, kept in weights.items()}
        tools = {name: importlib.metadata.version(name) for name in TOOLS}
        record = {"format": 1, "family": "gemma", "name": card.name, "dim": card.dim, "parts": stored}
        prompts = {"query": card.prompts.query, "document": card.prompts.document}
        more = {"prompts": prompts, "tokenizer_graph": graph, "source": checkpoint.source(), "tools": tools}
        write_json(folder / RECORD, {**record, **more})

    compressed = any(kept.mode.startswith("int") for kept in weights.values())
    made = Job(
        parts=tuple(Part(name, package.graphs[name], parts.maker(make)) for name, make in makers.items()),
        weights=weights,
        source={"name": card.name, "checkpoint": checkpoint.identity},
        write_texts=write_texts,
        drift=partial(drift, card.prompts, dict(package.graphs)) if compressed else None,
    )
    return made, checkpoint.size("") * 7 + 2_000_000_000


def drift(prompts: Prompts, graphs: dict[str, str], plain: Path, folder: Path) -> DriftReport:
    """The drift report of the graphs in `folder` against those in `plain`."""

    def tower(root: Path) -> GemmaTower:
        return open_tower(folder, prompts, {name: GraphSession(root / file) for name, file in graphs.items()})

    return measure(lambda: tower(plain), lambda: tower(folder), samples.media(frozenset(Modality)))
