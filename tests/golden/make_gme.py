"""Make the tiny GME packages and their golden arrays, or check a fresh package: see README.md beside this file.

python -m tests.golden.make_gme                     writes tests/golden/gme_*.npz, gme_tokens.json and three packages
python -m tests.golden.make_gme --check --seed 5    other sizes and weights, compared through load_embedder
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from transformers import Qwen2VLModel
from transformers.image_utils import OPENAI_CLIP_MEAN, OPENAI_CLIP_STD

from embedding import load_embedder
from embedding.embedder import Embedder
from embedding.export.gme import GmeAbout, Storage, gme_job
from embedding.export.pipeline import Workshop
from embedding.export.towers_gme import embeddings_graph, language_graph, vision_graph
from embedding.packages import RECORD
from embedding.towers.qwen_images import VisualSettings
from embedding.types import Media, Precision, Prompts, Role
from tests.golden import inputs
from tests.golden.reference_gme import DEFAULT, QUERY, GmeReference, process
from tests.golden.tiny_gme import GmeDims, make_model, make_tokenizer

HERE = Path(__file__).resolve().parent
PACKAGES = HERE.parent / "fixtures" / "packages"
SEED = 11
CAPS = (256, 1024, 1280)
SAMPLED_PATCHES = 12
ROWS = tuple[str, Media, np.ndarray]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare a fresh random package through load_embedder")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    if options.check:
        check(options.seed)
        return
    pictures()
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, GmeDims(), options.seed)
    write_packages(model, tokenizer, PACKAGES, "gme-tiny", VisualSettings())
    reference = GmeReference(model, tokenizer, VisualSettings().max_tokens)
    tokens = json.dumps(token_cases(reference), indent=1, ensure_ascii=False)
    (HERE / "gme_tokens.json").write_text(tokens + "\n", encoding="utf-8")
    np.savez_compressed(HERE / "gme_vectors.npz", **reference_vectors(reference))


def pictures() -> None:
    """What the reference makes of pictures: the grid, the sum of every patch, all values of some patches.

    The reference resizes in bytes, so its values are kept as the bytes they come from.
    """
    mean, deviation = np.array(OPENAI_CLIP_MEAN), np.array(OPENAI_CLIP_STD)
    arrays: dict[str, np.ndarray] = {}
    for cap in CAPS:
        for size in inputs.SIZES:
            result = process(inputs.picture(size), cap)
            values = result["pixel_values"].reshape(-1, 3, 2, 14, 14).astype(np.float64)
            values = (values * deviation[:, None, None, None] + mean[:, None, None, None]) * 255.0
            patches = np.round(values).astype(np.uint8)
            assert np.abs(values - patches).max() < 1e-2, "the reference no longer works in bytes"
            assert (patches[:, :, 0] == patches[:, :, 1]).all()
            key = f"{cap}_{size[0]}x{size[1]}"
            arrays[f"{key}_grid"] = np.asarray(result["image_grid_thw"][0], dtype=np.int32)
            arrays[f"{key}_sums"] = patches[:, :, 0].sum(axis=(1, 2, 3), dtype=np.uint32)
            arrays[f"{key}_patches"] = patches[sampled(len(patches)), :, 0]
    np.savez_compressed(HERE / "gme_pictures.npz", **arrays)


def sampled(count: int) -> np.ndarray:
    """Places of the patches that are kept whole, first and last among them."""
    return np.unique(np.linspace(0, count - 1, SAMPLED_PATCHES).astype(int))


def write_packages(model: Qwen2VLModel, tokenizer: object, folder: Path, name: str, images: VisualSettings) -> None:
    """The same weights as fp32, int8 and int4 packages."""
    makers = {
        "vision": lambda: vision_graph(model.visual),
        "embeddings": lambda: embeddings_graph(model.language_model.embed_tokens),
        "language": lambda: language_graph(model.language_model),
    }
    words = {"description": "GME with tiny sizes and random weights, for tests", "licence": "Apache-2.0"}
    about = GmeAbout(name, model.config.text_config.hidden_size, Prompts(QUERY, DEFAULT), images=images, listed=words)
    for precision in (Precision.FP32, Precision.FP16, Precision.INT8, Precision.INT4):
        if precision is Precision.FP16 and name == "gme-tiny":
            continue
        directory = name if precision is Precision.FP32 else f"{name}-{precision}"
        job = replace(gme_job(makers, tokenizer, about, Storage(precision, group=32)), drift=None)
        Workshop(job, folder / directory, lambda line: None).run()
        for unneeded in ("openvino_tokenizer.xml", "openvino_tokenizer.bin", RECORD):
            (folder / directory / unneeded).unlink(missing_ok=True)


def token_cases(reference: GmeReference) -> list[dict[str, object]]:
    """Ids of whole prompts in both roles, without and with a picture; texts without control words."""
    texts = [text for text in inputs.TEXTS if text.strip() and "<" not in text] + ["\n\nbegins with a line", "ends \n"]
    cases: list[dict[str, object]] = []
    for text in texts:
        for role, instruction in ((Role.QUERY, QUERY), (Role.DOCUMENT, DEFAULT)):
            for rows in (0, 5):
                ids = reference.ids(text, instruction, rows)
                cases.append({"role": str(role), "text": text, "visual_tokens": rows, "ids": ids})
    return cases


def reference_vectors(reference: GmeReference) -> dict[str, np.ndarray]:
    """Unit vectors: `text_ROLE` (one row a text that is not empty), `picture_NAME`, `ROLE_picture_NAME` with words."""
    texts = [text for text in inputs.TEXTS if text.strip() and "<" not in text]
    arrays = {"text_query": reference.texts(texts, QUERY), "text_document": reference.texts(texts, DEFAULT)}
    for name, of in inputs.PICTURES.items():
        image = inputs.picture(*of)
        arrays[f"picture_{name}"] = reference.picture(image)
        for role, instruction in ((Role.QUERY, QUERY), (Role.DOCUMENT, DEFAULT)):
            arrays[f"{role}_picture_{name}"] = reference.picture(image, inputs.TOGETHER, instruction)
    return arrays


def check(seed: int) -> None:
    """Print the cosine of every case for fp32 weights, and the lowest one for fp16, int8 and int4."""
    chance = random.Random(seed)
    heads, width = chance.choice(((2, 16), (4, 16), (8, 8), (6, 16)))
    vision_heads = chance.choice((1, 2, 4))
    dims = GmeDims(
        heads * width, 32 * chance.randint(2, 5), chance.choice((2, 4, 5)), heads, chance.choice((1, 2)),
        16 * vision_heads, chance.choice((1, 3, 4)), vision_heads,
    )  # fmt: skip
    cap = chance.choice((256, 400, 1024, 1280))
    print(f"seed {seed}, cap {cap}, {dims}")
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, dims, seed)
    reference = GmeReference(model, tokenizer, cap)
    cases = list(_cases(reference, chance))
    with tempfile.TemporaryDirectory() as folder:
        write_packages(model, tokenizer, Path(folder), "fresh", VisualSettings(max_tokens=cap))
        for precision in (Precision.FP32, Precision.FP16, Precision.INT8, Precision.INT4):
            with load_embedder("fresh", precision=precision, models_dir=folder) as embedder:
                _compare(embedder, cases, show=precision is Precision.FP32)


def _cases(reference: GmeReference, chance: random.Random) -> Iterator[ROWS]:
    """Name and role, input, and the reference's vector."""
    for text in (*inputs.TEXTS[:5], "x", "snow " * 150, "\n\nlines"):
        yield "query text", Media(text=text), reference.texts([text], QUERY)[0]
        yield "document text", Media(text=text), reference.texts([text], DEFAULT)[0]
    for _ in range(5):
        size = (chance.randint(1, 1900), chance.randint(4, 1900))
        image = inputs.picture(size, chance.randint(0, 9))
        yield f"document picture {size}", Media(image=image), reference.picture(image)
        both = reference.picture(image, "red and large", QUERY)
        yield f"query picture {size} and text", Media(text="red and large", image=image), both


def _compare(embedder: Embedder, cases: list[ROWS], show: bool) -> None:
    """One batch a role through the embedder, cosine with the reference for each row."""
    found: dict[str, float] = {}
    for role in Role:
        chosen = [case for case in cases if case[0].startswith(role)]
        result = embedder.embed([media for _, media, _ in chosen], role=role)
        assert not result.failures, result.failures
        for number, ((name, _, wanted), vector) in enumerate(zip(chosen, result.vectors, strict=True)):
            found[f"{name} #{number}"] = float(vector.astype(np.float64) @ wanted.astype(np.float64))
    if show:
        for name, cosine in found.items():
            print(f"  {cosine:.7f}  {name}")
    print(f"{embedder.precision}: lowest {min(found.values()):.7f}, mean {np.mean(list(found.values())):.7f}")


if __name__ == "__main__":
    main()
