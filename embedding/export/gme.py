"""Packages of the GME family: the job that makes one from three graphs and a tokenizer (see README.md)."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import openvino as ov
from tokenizers import Tokenizer

from embedding.export import samples
from embedding.export.drift import DriftReport, measure, vectors
from embedding.export.pipeline import Feeds, Job, Part, write_json
from embedding.export.sessions import GraphSession, Recorder
from embedding.export.tokenizers import write_tokenizer
from embedding.export.weights import overridden, weights_of
from embedding.tokenizer import load_tokenizer
from embedding.towers.gme import CONFIG, POSITIONS, GmeConfig, GmeTower, read_config
from embedding.towers.qwen_images import VisualSettings
from embedding.types import Modality, Precision, Prompts

PARTS = ("vision", "embeddings", "language")
WORDS = {
    "end": "<|endoftext|>",
    "turn_begin": "<|im_start|>",
    "turn_end": "<|im_end|>",
    "vision_begin": "<|vision_start|>",
    "vision_end": "<|vision_end|>",
    "image": "<|image_pad|>",
}
TOOLS = ("nncf", "numpy", "openvino", "openvino-tokenizers", "tokenizers", "torch", "transformers")
CALIBRATION = samples.Amount(texts=24, pictures=6, both=4, sounds=0)
# Drift and calibration look at pictures of few tokens: the graphs are the same, the time is not.
SMALL_PICTURES = 256


@dataclass(frozen=True)
class GmeAbout:
    """What a package says of itself; `source()` where its weights come from, asked once.

    `listed` is what triptych.json says, the file by which a package without a catalogue row is found.
    """

    name: str
    dim: int
    prompts: Prompts
    max_tokens: int = 1800
    images: VisualSettings = field(default_factory=VisualSettings)
    source: Callable[[], Mapping[str, Any]] = dict
    listed: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Storage:
    """How weights are stored: precision, columns that share a scale at 4 bits, overrides as PART=MODE[:GROUP].

    Kernels of the vision graph with fewer numbers than `least` keep 16 bits.
    """

    precision: Precision
    group: int = 128
    overrides: Sequence[str] = ()
    least: int = 0


def gme_job(
    makers: Mapping[str, Callable[[], ov.Model]],
    tokenizer: Tokenizer,
    about: GmeAbout,
    storage: Storage,
    identity: Mapping[str, Any] | None = None,
) -> Job:
    """The job of one package from makers of the three plain graphs; `identity` sets their weights apart from others."""
    weights = overridden(weights_of(storage.precision, PARTS, storage.group), storage.overrides)
    weights["vision"] = replace(weights["vision"], least=storage.least)
    compressed = any(stored.mode.startswith("int") for stored in weights.values())

    def write_texts(folder: Path) -> None:
        graph = write_tokenizer(tokenizer, folder)
        stored = {part: {"file": f"{part}.xml", "weights": str(kept)} for part, kept in weights.items()}
        write_json(folder / CONFIG, config_of(tokenizer, about, {"parts": stored, "tokenizer_graph": graph}))
        if about.listed is not None:
            listed = {"name": about.name, "family": "gme", "precision": str(storage.precision), **about.listed}
            write_json(folder / "triptych.json", listed)

    return Job(
        parts=tuple(Part(name, f"{name}.xml", makers[name]) for name in PARTS),
        weights=weights,
        source={"name": about.name, "checkpoint": identity},
        write_texts=write_texts,
        samples=partial(language_feeds, about.prompts),
        drift=partial(drift, about.prompts) if compressed else None,
    )


def config_of(tokenizer: Tokenizer, about: GmeAbout, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Content of `gme_openvino_config.json`."""
    ids: dict[str, Any] = {name: tokenizer.token_to_id(word) for name, word in WORDS.items()}
    added = tokenizer.get_added_tokens_decoder()
    ids["control"] = sorted(number for number, token in added.items() if token.special)
    return {
        "format": 1,
        "family": "gme",
        "name": about.name,
        "dim": about.dim,
        "max_tokens": about.max_tokens,
        "positions": POSITIONS,
        "prompts": {"query": about.prompts.query, "document": about.prompts.document},
        "ids": ids,
        "images": asdict(about.images),
        **stored,
        "source": dict(about.source()),
        "tools": {name: importlib.metadata.version(name) for name in TOOLS},
    }


def language_feeds(prompts: Prompts, plain: Path, folder: Path) -> Feeds:
    """What the language model is fed when the samples of the library go through the plain graphs."""
    config = _small(read_config(folder))
    recorder = Recorder("sentence_embedding", config.dim)
    sessions: dict[str, Any] = {name: GraphSession(plain / f"{name}.xml") for name in ("vision", "embeddings")}
    tower = GmeTower(config, prompts, {**sessions, "language": recorder}, load_tokenizer(folder, config.ids.control))
    vectors(tower, samples.media(tower.modalities, CALIBRATION))
    return recorder.feeds


def drift(prompts: Prompts, plain: Path, folder: Path) -> DriftReport:
    """The drift report of the graphs in `folder` against those in `plain`."""
    config = _small(read_config(folder))
    encode = load_tokenizer(folder, config.ids.control)

    def tower(graphs: Path) -> GmeTower:
        return GmeTower(config, prompts, {name: GraphSession(graphs / f"{name}.xml") for name in PARTS}, encode)

    inputs = samples.media(frozenset({Modality.TEXT, Modality.IMAGE}))
    return measure(lambda: tower(plain), lambda: tower(folder), inputs)


def _small(config: GmeConfig) -> GmeConfig:
    """The config with few visual tokens a picture."""
    images = config.images
    most = min(SMALL_PICTURES, images.max_tokens)
    return replace(config, images=replace(images, max_tokens=most, min_tokens=min(most, images.min_tokens)))
