"""Held-out figures of the packed model, measured through the application's own path from files.

`python -m tools.train_nano.evaluate` writes `evaluation.json` beside the work; the model card is made from it.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from embedding import Embedder, Media, load_embedder
from embedding.media import decode_image
from tools.train_nano.pictures import Emoji, Picture, emoji, stamps, training_pictures, unseen_style
from tools.train_nano.strings import CONCRETE, class_names, class_synonyms, synsets

Vectors = NDArray[np.float32]
Recall = dict[str, float]


def recall(queries: Vectors, items: Vectors, wanted: Sequence[int]) -> Recall:
    """R@1 and R@10 in % over `n` items: the wanted item among the first. Ties count against the model."""
    scores = queries @ items.T
    rank = (scores >= scores[np.arange(len(queries)), wanted][:, None]).sum(1) - 1
    return {
        "r1": round(100 * float((rank < 1).mean()), 1),
        "r10": round(100 * float((rank < 10).mean()), 1),
        "queries": len(queries),
        "items": len(items),
        "chance1": round(100 / len(items), 2),
        "chance10": round(1000 / len(items), 2),
    }


def synonym_queries(entries: Sequence[Emoji]) -> tuple[list[str], list[int]]:
    """A query of the first three tags of each emoji that has tags, and the number of that emoji."""
    pairs = [(" ".join(item.tags[:3]), number) for number, item in enumerate(entries) if item.tags]
    return [text for text, _ in pairs], [number for _, number in pairs]


def definition_queries(work: Path, count: int = 1000) -> tuple[list[str], list[str]]:
    """Definitions of everyday things and their words, the most counted first (WordNet, seen by the teacher's pupil)."""
    known: dict[str, str] = {}
    for entry in sorted(synsets(work), key=lambda entry: -entry.count):
        if entry.kind in CONCRETE and entry.definition and entry.definition not in known.values():
            known.setdefault(entry.words[0], entry.definition)
        if len(known) == count:
            break
    return list(known.values()), list(known)


def embed_texts(embedder: Embedder, texts: Sequence[str], role: str) -> Vectors:
    """Vectors of texts; raises when one cannot be embedded."""
    found = embedder.embed(list(texts), role=role)
    if found.failures:
        raise RuntimeError(f"a text failed: {found.failures[0]}")
    return found.vectors


def embed_pictures(embedder: Embedder, pictures: Sequence[Picture]) -> Vectors:
    """Vectors of picture files, decoded as the application does it."""
    return np.concatenate([embedder.embed([decode_image(item.path)]).vectors for item in pictures])


def class_stamps(work: Path, pictures: Sequence[Picture]) -> list[int]:
    """Numbers of the stamps whose caption is the name of an ImageNet class, one of a name."""
    known = {name.lower() for names in class_synonyms(work, class_names(work)) for name in names}
    found: dict[str, int] = {}
    for number, item in enumerate(pictures):
        name = re.sub(r"^(a|an|the) ", "", item.name.lower())
        if name in known:
            found.setdefault(name, number)
    return list(found.values())


def pixel_neighbour(work: Path, unseen: Sequence[Picture]) -> Recall:
    """Baseline for the unseen style: the nearest training picture of 12 x 12 pixels gives the name."""
    train = [item for item in training_pictures(work) if item.origin != "openclipart-png"]
    names = [item.name for item in unseen]
    thumbs = np.stack([_thumb(item.path) for item in train])
    owner = np.array([names.index(item.name) if item.name in names else -1 for item in train])
    hits = {1: 0, 10: 0}
    for number, item in enumerate(unseen):
        order = owner[np.argsort(((thumbs - _thumb(item.path)) ** 2).sum(1))]
        ranked = list(dict.fromkeys(order[order >= 0].tolist()))
        for k in hits:
            hits[k] += number in ranked[:k]
    return {"r1": round(100 * hits[1] / len(unseen), 1), "r10": round(100 * hits[10] / len(unseen), 1)}


def _thumb(path: Path) -> Vectors:
    with Image.open(path) as picture:
        rgba = picture.convert("RGBA")
    white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
    small = Image.alpha_composite(white, rgba).convert("RGB").resize((12, 12), Image.Resampling.BOX)
    return np.asarray(small, np.float32).reshape(-1) / 255


def fusion(embedder: Embedder, pictures: Sequence[Picture], words: Sequence[str]) -> dict[str, float]:
    """Mean cosine of picture + words to the picture alone, to the words alone, and between the two."""
    images = [decode_image(item.path) for item in pictures]
    mixed = [Media(image=image, text=text) for image, text in zip(images, words, strict=True)]
    both = embedder.embed(mixed, role="query").vectors
    alone, text = embedder.embed(images).vectors, embedder.embed(list(words), role="query").vectors
    pairs = {"to_picture": (both, alone), "to_words": (both, text), "between": (alone, text)}
    return {name: round(float((a * b).sum(1).mean()), 3) for name, (a, b) in pairs.items()}


def latency(embedder: Embedder, picture: Picture) -> dict[str, float]:
    """Median milliseconds of one sentence and one picture, decoding left out."""
    image, sentence = decode_image(picture.path), "a brown dog running along the beach at sunset"
    found = {}
    for name, item in (("sentence_ms", sentence), ("picture_ms", image)):
        times = []
        for _ in range(31):
            start = time.perf_counter()
            embedder.embed([item], role="query")
            times.append(1000 * (time.perf_counter() - start))
        found[name] = round(float(np.median(times[1:])), 1)
    return found


def drift(embedder: Embedder, full: Embedder, pictures: Sequence[Picture], texts: Sequence[str]) -> Recall:
    """Least cosine of the vectors of two precisions."""
    found = {}
    for name, rows in (
        ("text", [embed_texts(each, texts, "query") for each in (embedder, full)]),
        ("picture", [embed_pictures(each, pictures) for each in (embedder, full)]),
    ):
        found[name] = round(float((rows[0] * rows[1]).sum(1).min()), 4)
    return found


def baselines(work: Path) -> dict[str, str]:
    """What else is measured on the same tests: the teacher on words, the nearest pixels on the unseen style."""
    from tools.train_nano.teacher import teacher_vectors

    entries, (definitions, words) = emoji(work), definition_queries(work)
    queries, wanted = synonym_queries(entries)
    names = teacher_vectors(work, [item.name for item in entries])
    synonym = recall(teacher_vectors(work, queries), names, wanted)
    meaning = recall(teacher_vectors(work, definitions), teacher_vectors(work, words), range(len(words)))
    pixels = pixel_neighbour(work, unseen_style(work))
    return {
        "synonym_to_name": f"teacher {synonym['r1']} / {synonym['r10']}",
        "definition_to_word": f"teacher {meaning['r1']} / {meaning['r10']}",
        "unseen_style": f"nearest pixels {pixels['r1']} / {pixels['r10']}",
    }


def text_figures(work: Path, embedder: Embedder) -> dict[str, object]:
    """Tests of words alone."""
    entries, (definitions, words) = emoji(work), definition_queries(work)
    queries, wanted = synonym_queries(entries)
    names = embed_texts(embedder, [item.name for item in entries], "document")
    asked = embed_texts(embedder, queries, "query")
    meanings, nouns = embed_texts(embedder, definitions, "query"), embed_texts(embedder, words, "document")
    return {
        "synonym_to_name": recall(asked, names, wanted),
        "synonym_to_name_128": recall(_unit(asked[:, :128]), _unit(names[:, :128]), wanted),
        "definition_to_word": recall(meanings, nouns, range(len(words))),
    }


def picture_figures(work: Path, embedder: Embedder) -> dict[str, object]:
    """Tests of words against pictures."""
    photos, unseen = stamps(work), unseen_style(work)
    unseen_rows, photo_rows = embed_pictures(embedder, unseen), embed_pictures(embedder, photos)
    unseen_asked = embed_texts(embedder, [item.name for item in unseen], "query")
    asked, known = embed_texts(embedder, [item.name for item in photos], "query"), class_stamps(work, photos)
    every = range(len(photos))
    return {
        "unseen_style": recall(unseen_asked, unseen_rows, range(len(unseen))),
        "photo_stamps": recall(asked, photo_rows, every),
        "photo_stamps_128": recall(_unit(asked[:, :128]), _unit(photo_rows[:, :128]), every),
        "imagenet_nouns": recall(asked[known], photo_rows[known], range(len(known))),
        "imagenet_nouns_in_all_stamps": recall(asked[known], photo_rows, known),
        "picture_to_caption": recall(photo_rows, asked, every),
        "fusion": fusion(embedder, photos[:40], ["red", "in the snow", "a drawing", "at night"] * 10),
        "latency": latency(embedder, photos[0]),
    }


def evaluate(work: Path, embedder: Embedder) -> dict[str, object]:
    """All figures of text and vision."""
    return text_figures(work, embedder) | picture_figures(work, embedder)


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(__file__).with_name("work"))
    parser.add_argument("--models-dir", type=Path, default=None)
    options = parser.parse_args()
    found: dict[str, object] = {}
    with load_embedder("nano", "int8", "CPU", options.models_dir) as embedder:
        found |= evaluate(options.work, embedder)
        if (options.work / "nano-fp16").is_dir():
            with load_embedder("nano", "fp16", "CPU", options.work) as full:
                photos = stamps(options.work)[::8]
                found["drift"] = drift(embedder, full, photos, [item.name for item in photos])
    found["baselines"] = baselines(options.work)
    (options.work / "evaluation.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    for name, value in found.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
