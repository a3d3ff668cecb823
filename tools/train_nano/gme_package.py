"""Packages of nano-gme, made by the application's own exporter."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tokenizers import Tokenizer

from embedding.export.gme import GmeAbout, Storage, gme_job
from embedding.export.pipeline import Workshop
from embedding.export.towers_gme import embeddings_graph, language_graph
from embedding.types import Precision, Prompts
from tools.train_nano.gme_model import DIM, load_model
from tools.train_nano.gme_tokenizer import DOCUMENT, QUERY
from tools.train_nano.gme_train import GROUP
from tools.train_nano.gme_vision import FOLDER, IMAGES, vision_graph
from tools.train_nano.package import SMALL_KERNEL

MODELS = Path(__file__).parents[2] / "assets" / "models"
NAME, VERSION, MAX_TOKENS = "nano-gme", "1", 512
LISTED = {
    "version": VERSION,
    "title": "nano-gme (built in)",
    "description": "GME's contract in small, to try the second family and INT4 offline; no replacement for GME.",
    "licence": "Apache-2.0 (parts: see NOTICE)",
}


def folder_of(work: Path, precision: Precision) -> Path:
    """Where a package is written: into the repository, but fp16 beside the work."""
    name = f"{NAME}-{precision}"
    return work / "packages" / name if precision is Precision.FP16 else MODELS / name


def write_packages(work: Path) -> None:
    """Write fp16, INT8 and INT4. INT4 may drift: how much stands in its `drift.json` and in the model card."""
    for precision in (Precision.FP16, Precision.INT8, Precision.INT4):
        write_package(work, precision)


def write_package(work: Path, precision: Precision) -> Path:
    """Write one package; the folder."""
    model = load_model(work / FOLDER / "language.pt")
    tokenizer = Tokenizer.from_file(str(work / FOLDER / "tokenizer.json"))
    about = GmeAbout(
        name=NAME,
        dim=DIM,
        prompts=Prompts(QUERY, DOCUMENT),
        max_tokens=MAX_TOKENS,
        images=IMAGES,
        source=lambda: {"made by": "tools/train_nano", "version": VERSION},
        listed=LISTED,
    )
    makers = {
        "vision": lambda: vision_graph(work),
        "embeddings": lambda: embeddings_graph(model.embed_tokens),
        "language": lambda: language_graph(model),
    }
    out = folder_of(work, precision)
    out.parent.mkdir(parents=True, exist_ok=True)
    weights = {name: _sha256(work / FOLDER / name) for name in ("language.pt", "head.pt")}
    job = gme_job(makers, tokenizer, about, Storage(precision, GROUP, least=SMALL_KERNEL), weights)
    return Workshop(job, out, print).run(accept_drift=precision is Precision.INT4)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
