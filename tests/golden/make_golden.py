"""Make the tiny packages and the golden arrays, or check a fresh package: see README.md beside this file.

python -m tests.golden.make_golden            writes tests/golden/*.npz, *.json and tests/fixtures/packages/
python -m tests.golden.make_golden --check --seed 5   other sizes and weights, compared through load_embedder
"""

from __future__ import annotations

import argparse
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import openvino
from openvino_tokenizers import convert_tokenizer
from transformers import Gemma4AudioFeatureExtractor, Gemma4ImageProcessorPil

from embedding.export.package import About, write_package
from embedding.types import Precision
from tests.golden import inputs
from tests.golden.reference import QUERY, Reference, document
from tests.golden.tiny import Dims, make_model, make_tokenizer

HERE = Path(__file__).resolve().parent
PACKAGES = HERE.parent / "fixtures" / "packages"
CONVERTED = HERE.parent / "fixtures" / "converted_tokenizer"  # what some published packages have besides tokenizer.json
LIBRARIES = ("numpy", "openvino", "openvino-tokenizers", "nncf", "pillow", "tokenizers", "torch", "transformers")
SEED = 7
SOFT_TOKENS = 70
SAMPLED_PATCHES = 12
MEL_STEP = {480_000: 40}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare a fresh random package through load_embedder")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    if options.check:
        from tests.golden.check_fresh import check

        check(options.seed)
        return
    pictures()
    sounds()
    packages_and_vectors(options.seed)
    _write_json("versions", {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()})


def pictures() -> None:
    """What the reference makes of pictures: sum of every patch, all values of some patches, the grid.

    The reference resizes in bytes, so its values are n/255 exactly and are kept as bytes n.
    """
    arrays: dict[str, np.ndarray] = {}
    for budget in inputs.BUDGETS:
        processor = Gemma4ImageProcessorPil(max_soft_tokens=budget)
        for size in inputs.SIZES:
            result = processor(inputs.picture(size), return_tensors="np")
            positions = result["image_position_ids"][0]
            real = positions[:, 0] >= 0
            values = result["pixel_values"][0][real] * 255.0
            patches = np.round(values).astype(np.uint8)
            assert np.abs(values - patches).max() < 1e-3, "the reference no longer works in bytes"
            key = f"{budget}_{size[0]}x{size[1]}"
            chosen = sampled(len(patches))
            arrays[f"{key}_sums"] = patches.sum(axis=1, dtype=np.uint32)
            arrays[f"{key}_patches"] = patches[chosen]
            arrays[f"{key}_grid"] = positions[real].max(axis=0).astype(np.int32) + 1
            assert (positions[real] == _row_by_row(arrays[f"{key}_grid"])).all()
    np.savez_compressed(HERE / "pictures.npz", **arrays)


def sampled(count: int) -> np.ndarray:
    """Places of the patches that are kept whole, first and last among them."""
    return np.unique(np.linspace(0, count - 1, SAMPLED_PATCHES).astype(int))


def _row_by_row(grid: np.ndarray) -> np.ndarray:
    """Positions (x, y) of all patches of a grid."""
    x, y = np.meshgrid(np.arange(grid[0]), np.arange(grid[1]))
    return np.stack([x, y], axis=-1).reshape(-1, 2)


def sounds() -> None:
    """Log-mel of the reference: masks whole, frames whole or every n-th, mean of every frame."""
    extractor = Gemma4AudioFeatureExtractor()
    arrays: dict[str, np.ndarray] = {}
    for samples in inputs.MEL_SAMPLES:
        result = extractor([inputs.sound(samples)], return_tensors="np")
        frames = result["input_features"][0]
        arrays[f"{samples}_frames"] = frames[:: MEL_STEP.get(samples, 1)]
        arrays[f"{samples}_means"] = frames.mean(axis=1, dtype=np.float64)
        arrays[f"{samples}_mask"] = result["input_features_mask"][0]
    np.savez_compressed(HERE / "sounds.npz", **arrays)


def packages_and_vectors(seed: int) -> None:
    """The two committed packages, ids of texts, and the reference's vectors for the same weights."""
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, Dims(), seed)
    about = {"matryoshka": (48, 24), "max_soft_tokens": SOFT_TOKENS}
    words = "EmbeddingGemma 2 with tiny sizes and random weights, for tests"
    folder = PACKAGES / "gemma-tiny"
    write_package(model, tokenizer, folder, Precision.FP32, About("gemma-tiny", description=words, **about))
    about_int8 = About("gemma-tiny", description=words, **about)
    write_package(model, tokenizer, PACKAGES / "gemma-tiny-int8", Precision.INT8, about_int8)
    reference = Reference(model, folder / "tokenizer.json", SOFT_TOKENS)
    CONVERTED.mkdir(exist_ok=True)
    openvino.save_model(convert_tokenizer(reference.tokenizer), CONVERTED / "openvino_tokenizer.xml")
    _write_json("tokens", {"texts": token_cases(reference)})
    vectors, ids = reference_vectors(reference)
    np.savez_compressed(HERE / "vectors.npz", **vectors)
    _write_json("prompts", ids)


def token_cases(reference: Reference) -> list[dict[str, Any]]:
    """Ids of every text in both roles, and of titled documents; control words in a text are plain text."""
    cases: list[dict[str, Any]] = []
    for text in inputs.TEXTS:
        cases.append({"role": "query", "title": None, "text": text, "ids": reference.ids(QUERY + text)})
        cases.append({"role": "document", "title": None, "text": text, "ids": reference.ids(document() + text)})
    for title, text in inputs.TITLED:
        ids = reference.ids(document(title) + text)
        cases.append({"role": "document", "title": title, "text": text, "ids": ids})
    return cases


def reference_vectors(reference: Reference) -> tuple[dict[str, np.ndarray], dict[str, list[int]]]:
    """Unit vectors by case name, and the ids of the media prompts.

    Names: text_query, text_document (one row a text), picture_NAME, sound_NAME, ROLE_picture_NAME and ROLE_sound_NAME
    (with the text of `inputs.TOGETHER` behind the picture or sound).
    """
    vectors = {
        "text_query": np.stack([reference.text(QUERY + text) for text in inputs.TEXTS]),
        "text_document": np.stack([reference.text(document() + text) for text in inputs.TEXTS]),
    }
    batch = reference.texts([QUERY + text for text in inputs.TEXTS])
    assert np.abs(batch - vectors["text_query"]).max() < 1e-5, "the reference's batch differs from single texts"
    ids: dict[str, list[int]] = {}
    media = [("picture", name, {"image": inputs.picture(*of)}) for name, of in inputs.PICTURES.items()]
    media += [("sound", name, {"sound": inputs.sound(*of)}) for name, of in inputs.SOUNDS.items()]
    for kind, name, item in media:
        key = f"{kind}_{name}"
        vectors[key], ids[key] = reference.media(**item)
        for role, prompt in (("query", QUERY), ("document", document())):
            both = f"{role}_{key}"
            vectors[both], ids[both] = reference.media(**item, around=(prompt, inputs.TOGETHER))
    return vectors, ids


def _write_json(name: str, content: Any) -> None:
    """A short file beside this script."""
    text = json.dumps(content, ensure_ascii=False, indent=None if name in ("tokens", "prompts") else 2)
    (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
