"""The models, a row each: where packages come from. What is needed to read a package stands in its own config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from embedding.errors import PackageError
from embedding.types import Modality, Precision, Prompts

# Bump when preprocessing or the layout of prompts changes: vectors made before are then of another space.
PREPROCESSING_VERSION = "p1"


@dataclass(frozen=True)
class Package:
    """One precision of a model: its folder, its files, where it comes from, and its size in bytes.

    `revision` is the commit or branch asked of the hub; `pull` resolves it to a commit and records that in the package.
    `repo` is empty for packages that cannot be downloaded.
    """

    precision: Precision
    directory: str
    files: tuple[str, ...]
    graphs: Mapping[str, str]
    repo: str = ""
    revision: str = "main"
    size: int = 0
    optional_files: tuple[str, ...] = (
        "config.json",
        "processor_config.json",
        "openvino_tokenizer.xml",
        "openvino_tokenizer.bin",
    )


@dataclass(frozen=True)
class ModelCard:
    """A model: name, family (a file of `towers/`), vector size, what it reads, prompts, packages and licence.

    `revision` names the weights in the identity of the space, shared by precisions whose drift is known to be small.
    `checkpoint` is the hub's name of the original weights when packages can be made from them (`models export`);
    `asking` is the query prompt around an instruction that a person chose.
    """

    name: str
    title: str
    family: str
    dim: int
    modalities: frozenset[Modality]
    prompts: Prompts
    packages: tuple[Package, ...]
    licence: str
    description: str
    revision: str
    url: str = ""
    builtin: bool = False
    matryoshka: tuple[int, ...] = field(default=())
    checkpoint: str = ""
    aliases: tuple[str, ...] = ()
    asking: str = "{instruction}"

    def instructed(self, instruction: str | None) -> ModelCard:
        """The card with another query instruction. Vectors of documents, and so the space, stay the same."""
        if instruction is None:
            return self
        query = self.asking.replace("{instruction}", instruction)
        return replace(self, prompts=replace(self.prompts, query=query))

    def package(self, precision: Precision | str) -> Package:
        """The package of that precision; PackageError naming what exists."""
        for package in self.packages:
            if package.precision == precision:
                return package
        names = ", ".join(package.precision for package in self.packages)
        raise PackageError(f"{self.name} has no precision {str(precision)!r}; it has {names}.")


_GEMMA_PROMPTS = Prompts("task: search result | query: ", "title: {title} | text: ")
_GEMMA_ASKING = "task: {instruction} | query: "
_GME_PROMPTS = Prompts("Find an image that matches the given text.", "You are a helpful assistant.")
_ALL = frozenset(Modality)


def gemma_package(precision: Precision, directory: str, repo: str = "", size: int = 0) -> Package:
    """The layout of the published OpenVINO packages: flat names for INT8, a folder `openvino` for the others."""
    if precision is Precision.INT8:
        graphs = {"text": "text_int8.xml", "vision": "vision_int8.xml", "audio": "audio_int8.xml"}
    else:
        graphs = {
            "text": "openvino/model.xml",
            "vision": "openvino/vision_model.xml",
            "audio": "openvino/audio_model.xml",
        }
    weights = [name.removesuffix(".xml") + ".bin" for name in graphs.values()]
    files = (*graphs.values(), *weights, "tokenizer.json")
    return Package(precision, directory, files, graphs, repo=repo, size=size)


def gme_package(precision: Precision, directory: str, repo: str = "", size: int = 0) -> Package:
    """This project's own layout: three graphs, and a config that says all else (embedding/export/README.md)."""
    graphs = {name: f"{name}.xml" for name in ("vision", "embeddings", "language")}
    weights = [f"{name}.bin" for name in graphs]
    files = ("gme_openvino_config.json", *graphs.values(), *weights, "tokenizer.json")
    return Package(precision, directory, files, graphs, repo=repo, size=size)


LAYOUTS = {"gemma": gemma_package, "gme": gme_package}
PROMPTS = {"gemma": _GEMMA_PROMPTS, "gme": _GME_PROMPTS}

CARDS: tuple[ModelCard, ...] = (
    ModelCard(
        name="nano",
        title="nano (built in)",
        family="gemma",
        dim=256,
        modalities=_ALL,
        prompts=_GEMMA_PROMPTS,
        packages=(gemma_package(Precision.INT8, "nano-int8"),),
        licence="Apache-2.0",
        description="A small model of everyday things to try the app offline; no replacement for EmbeddingGemma 2.",
        revision="1",
        builtin=True,
        matryoshka=(256, 128),
        asking=_GEMMA_ASKING,
    ),
    ModelCard(
        name="embeddinggemma-2",
        title="EmbeddingGemma 2",
        family="gemma",
        dim=768,
        modalities=_ALL,
        prompts=_GEMMA_PROMPTS,
        packages=(
            gemma_package(
                Precision.INT8, "embeddinggemma-2-openvino-int8", "wesjos/embeddinggemma-2-openvino-int8", 741_000_000
            ),
            gemma_package(
                Precision.FP16, "embeddinggemma-2-openvino", "wesjos/embeddinggemma-2-openvino", 1_470_000_000
            ),
        ),
        licence="Apache-2.0",
        description="740M parameters, words, pictures and sounds in 768 dimensions; needs a download.",
        revision="1",
        url="https://huggingface.co/google/embeddinggemma-2",
        matryoshka=(768, 512, 256, 128),
        checkpoint="google/embeddinggemma-2",
        asking=_GEMMA_ASKING,
    ),
    ModelCard(
        name="gme-qwen2-vl-2b",
        title="GME Qwen2-VL 2B",
        family="gme",
        dim=1536,
        modalities=frozenset({Modality.TEXT, Modality.IMAGE}),
        prompts=_GME_PROMPTS,
        packages=(  # Intel's folder names: the plain one is INT8
            gme_package(Precision.INT8, "gme-qwen2-vl-2b-instruct-openvino", size=2_210_000_000),
            gme_package(Precision.INT4, "gme-qwen2-vl-2b-instruct-openvino-int4", size=1_600_000_000),
            gme_package(Precision.FP16, "gme-qwen2-vl-2b-instruct-openvino-fp16", size=4_420_000_000),
        ),
        licence="Apache-2.0",
        description="2.2B parameters, words and pictures in 1536 dimensions, strong on pages; made by `models export`.",
        revision="1",
        url="https://huggingface.co/Alibaba-NLP/gme-Qwen2-VL-2B-Instruct",
        checkpoint="Alibaba-NLP/gme-Qwen2-VL-2B-Instruct",
        aliases=("gme-qwen2-vl-2b-instruct",),
    ),
    ModelCard(
        name="nano-gme",
        title="nano-gme (built in)",
        family="gme",
        dim=256,
        modalities=frozenset({Modality.TEXT, Modality.IMAGE}),
        prompts=_GME_PROMPTS,
        packages=(
            gme_package(Precision.INT8, "nano-gme-int8"),
            gme_package(Precision.INT4, "nano-gme-int4"),
        ),
        licence="Apache-2.0",
        description="GME's contract in small, to try the second family and INT4 offline; no replacement for GME.",
        revision="1",
        builtin=True,
    ),
)


def card_named(name: str, cards: tuple[ModelCard, ...] = CARDS) -> ModelCard:
    """The card of that name, or of an alias as hubs spell it; PackageError naming the known ones."""
    alias = name.split("/")[-1].lower()
    for card in cards:
        if card.name == name or alias in card.aliases:
            return card
    raise PackageError(f"There is no model {name!r}; known are {', '.join(card.name for card in cards)}.")


def local_card(name: str, precision: Precision, directory: str, about: Mapping[str, Any]) -> ModelCard:
    """The card of a package that no row lists: a folder put into the models folder, with a triptych.json."""
    family = about.get("family", "gemma")
    return ModelCard(
        name=name,
        title=about.get("title", name),
        family=family,
        dim=0,
        modalities=_ALL,
        prompts=PROMPTS.get(family, _GEMMA_PROMPTS),
        packages=(LAYOUTS.get(family, gemma_package)(precision, directory),),
        licence=about.get("licence", "not stated"),
        description=about.get("description", "A package found in the models folder."),
        revision=about.get("version", "1"),
        matryoshka=tuple(int(size) for size in about.get("matryoshka", ())),
        asking=_GEMMA_ASKING if family == "gemma" else "{instruction}",
    )


def with_package(card: ModelCard, package: Package) -> ModelCard:
    """The card with one more precision."""
    return replace(card, packages=(*card.packages, package))
