"""Held-out figures of nano-gme's packages beside nano's, measured through the application's own path from files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from embedding import Embedder, Media, load_embedder
from embedding.media import decode_image
from tools.train_nano.evaluate import embed_texts, evaluate
from tools.train_nano.pictures import stamps

MODELS = (("nano-gme", "int8"), ("nano-gme", "int4"), ("nano", "int8"))
RESULT = "gme_evaluation.json"
COLOURS = ["red", "blue", "green", "yellow", "black", "white", "brown", "pink"]


def evaluate_all(work: Path, tell: Callable[[str], None] = print) -> None:
    """Write the figures of all packages to `gme_evaluation.json` beside the work."""
    found: dict[str, dict[str, object]] = {}
    for name, precision in MODELS:
        with load_embedder(name, precision, "CPU") as embedder:
            found[f"{name} {precision}"] = {**evaluate(work, embedder), "both_meant": both_meant(work, embedder)}
        tell(f"{name} {precision}: {json.dumps(found[f'{name} {precision}'])}")
        (work / RESULT).write_text(json.dumps(found, indent=1), encoding="utf-8")


def both_meant(work: Path, embedder: Embedder, count: int = 200) -> dict[str, float]:
    """Whether a picture and a word in one prompt mean both, in %.

    Pictures are asked with a colour's word, for texts `{colour} {caption}` of all pictures and colours: how often the
    right pair is among the first ten, and how often the right colour is first among those of the right caption.
    """
    items = stamps(work)[:count]
    draw = np.random.default_rng(0)
    colours = draw.integers(0, len(COLOURS), len(items))
    images = [decode_image(item.path) for item in items]
    asked = [Media(image=image, text=COLOURS[colour]) for image, colour in zip(images, colours, strict=True)]
    queries = embedder.embed(asked, role="query").vectors
    texts = [f"{colour} {item.name}" for item in items for colour in COLOURS]
    scores = queries @ embed_texts(embedder, texts, "document").T
    wanted = np.arange(len(items)) * len(COLOURS) + colours
    own = np.arange(len(items))
    chosen = scores.reshape(len(items), len(items), -1)[own, own].argmax(1)
    rank = (scores >= scores[own, wanted][:, None]).sum(1)
    return {
        "pairs": len(texts),
        "r10_of_pairs": round(100 * float((rank <= 10).mean()), 1),
        "right_colour": round(100 * float((chosen == colours).mean()), 1),
        "chance_colour": round(100 / len(COLOURS), 1),
    }
