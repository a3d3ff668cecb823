"""The whole embedder against the vectors of transformers' EmbeddingGemma2Model with the same weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embedding import load_embedder
from embedding.embedder import Embedder
from embedding.packages import find
from embedding.plan import Device, place
from embedding.runtime import Options, Session
from embedding.types import Audio, Media
from tests.golden import inputs

TESTS = Path(__file__).resolve().parent.parent
PACKAGES = TESTS / "fixtures" / "packages"
LEAST_COSINE = 0.9999
LEAST_COSINE_INT8 = 0.98  # tiny random layers of 64 columns drift more than trained ones


@pytest.fixture(scope="module")
def expected():
    with np.load(TESTS / "golden" / "vectors.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def embedder():
    with load_embedder("gemma-tiny", precision="fp32", models_dir=PACKAGES) as loaded:
        yield loaded


def media_of(name):
    """The input behind a name of vectors.npz, and its role."""
    *role, kind, which = name.split("_")
    text = inputs.TOGETHER if role else None
    if kind == "picture":
        media = Media(text=text, image=inputs.picture(*inputs.PICTURES[which]))
    else:
        media = Media(text=text, audio=Audio(inputs.sound(*inputs.SOUNDS[which]), inputs.RATE))
    return media, role[0] if role else "document"


def cosines(found, wanted):
    return np.sum(found.astype(np.float64) * wanted.astype(np.float64), axis=-1)


MEDIA_NAMES = [
    f"{role}{kind}_{which}"
    for kind, names in (("picture", inputs.PICTURES), ("sound", inputs.SOUNDS))
    for which in names
    for role in ("", "query_", "document_")
]


def test_every_recorded_case_is_tested(expected):
    assert sorted(expected) == sorted([*MEDIA_NAMES, "text_query", "text_document"])


@pytest.mark.parametrize("role", ["query", "document"])
def test_texts(embedder, expected, role):
    kept = [index for index, text in enumerate(inputs.TEXTS) if text.strip()]
    result = embedder.embed([inputs.TEXTS[index] for index in kept], role=role)
    assert not result.failures
    assert cosines(result.vectors, expected[f"text_{role}"][kept]).min() >= LEAST_COSINE


@pytest.mark.parametrize("name", MEDIA_NAMES)
def test_media(embedder, expected, name):
    media, role = media_of(name)
    result = embedder.embed([media], role=role)
    assert not result.failures
    assert cosines(result.vectors[0], expected[name]) >= LEAST_COSINE


def test_different_inputs_have_different_vectors(expected):
    """Else a cosine near 1 would say nothing."""
    kept = [index for index, text in enumerate(inputs.TEXTS) if text.strip()]
    rows = [*expected["text_query"][kept], *(expected[name] for name in MEDIA_NAMES if name.count("_") == 1)]
    table = np.stack(rows) @ np.stack(rows).T
    np.fill_diagonal(table, 0.0)
    assert table.max() < 0.99
    assert np.median(table) < 0.5


def test_a_batch_gives_what_single_calls_give(embedder):
    items = [*(text for text in inputs.TEXTS if text.strip()), *(media_of(name)[0] for name in MEDIA_NAMES[:2])]
    together = embedder.embed(items, role="document")
    alone = np.concatenate([embedder.embed([item], role="document").vectors for item in items])
    np.testing.assert_allclose(together.vectors, alone, atol=2e-6)


def static_embedder(sizes):
    """The same package with graphs of a fixed number of patches and frames."""
    info = find("gemma-tiny", "fp32", PACKAGES)
    reshapes = {
        "vision": {"pixel_values": (1, sizes["patches"], 768), "pixel_position_ids": (1, sizes["patches"], 2)},
        "audio": {"input_features": (1, sizes["frames"], 128), "input_features_mask": (1, sizes["frames"])},
    }
    sessions = {
        tower: Session(info.path / graph, place([tower], "CPU", [Device("CPU")])[0], Options(), reshapes.get(tower))
        for tower, graph in info.package.graphs.items()
    }
    return Embedder(info, "CPU", sessions)


def test_graphs_of_a_static_size_give_the_same(expected):
    with static_embedder({"patches": 630, "frames": 3000}) as embedder:
        for name in MEDIA_NAMES:
            media, role = media_of(name)
            assert cosines(embedder.embed([media], role=role).vectors[0], expected[name]) >= LEAST_COSINE


def test_int8_weights_stay_near(expected):
    with load_embedder("gemma-tiny", precision="int8", models_dir=PACKAGES) as embedder:
        for name in MEDIA_NAMES:
            media, role = media_of(name)
            assert cosines(embedder.embed([media], role=role).vectors[0], expected[name]) >= LEAST_COSINE_INT8
