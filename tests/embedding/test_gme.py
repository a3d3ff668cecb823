"""GME against GME's own code over transformers: patches, ids and vectors, and what its prompt does with long texts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from embedding import load_embedder
from embedding.catalog import CARDS, card_named
from embedding.embedder import Embedder
from embedding.errors import PackageError
from embedding.packages import find, list_packages
from embedding.plan import Device, place
from embedding.runtime import Options, Session
from embedding.tokenizer import load_tokenizer
from embedding.towers.gme import CONFIG, GmeTower, read_config, static_shapes
from embedding.towers.qwen_images import VisualSettings, patchify
from embedding.types import Audio, Media, Modality, Prompts, Role, Timings
from tests.golden import inputs

TESTS = Path(__file__).resolve().parent.parent
PACKAGES = TESTS / "fixtures" / "packages"
TINY = PACKAGES / "gme-tiny"
TOKENS = json.loads((TESTS / "golden" / "gme_tokens.json").read_text(encoding="utf-8"))
LEAST_COSINE = 0.9999
CAPS = (256, 1024, 1280)
STEP = 1.001 / 255  # one step of 8 bits
TEXTS = [text for text in inputs.TEXTS if text.strip() and "<" not in text]
PICTURES = [f"{role}picture_{name}" for name in inputs.PICTURES for role in ("", "query_", "document_")]


@pytest.fixture(scope="module")
def expected():
    with np.load(TESTS / "golden" / "gme_vectors.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def golden_pictures():
    with np.load(TESTS / "golden" / "gme_pictures.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def embedder():
    with load_embedder("gme-tiny", precision="fp32", models_dir=PACKAGES) as loaded:
        yield loaded


class Rows:
    """Stands for the vision graph and gives a fixed number of rows."""

    inputs = {"pixel_values": (-1, 1176)}

    def __init__(self, count):
        self._rows = np.ones((count, 32), np.float32)

    def run(self, feeds):
        return {"image_features": self._rows}


def tower_with_rows(count=5):
    config = read_config(TINY)
    sessions = {"vision": Rows(count), "embeddings": Rows(0), "language": Rows(0)}
    return GmeTower(config, card_named("gme-qwen2-vl-2b").prompts, sessions, load_tokenizer(TINY, config.ids.control))


def cosines(found, wanted):
    return np.sum(found.astype(np.float64) * wanted.astype(np.float64), axis=-1)


def media_of(name):
    role = name.split("_")[0]
    image = inputs.picture(*inputs.PICTURES[name.split("_")[-1]])
    return Media(text=inputs.TOGETHER if role != "picture" else None, image=image), role


@pytest.mark.parametrize("size", inputs.SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("cap", CAPS)
def test_patches_are_those_of_the_reference(golden_pictures, cap, size):
    settings = VisualSettings(max_tokens=cap)
    patches, places = patchify(inputs.picture(size), settings)
    key = f"{cap}_{size[0]}x{size[1]}"
    _, rows, columns = golden_pictures[f"{key}_grid"]
    assert patches.shape == (rows * columns, 1176)
    if cap > settings.min_tokens:  # else rounding leaves the range, in the reference too
        assert settings.min_tokens <= rows * columns // 4 <= cap

    values = patches.reshape(-1, 3, 2, 14, 14)
    np.testing.assert_array_equal(values[:, :, 0], values[:, :, 1])
    mean, deviation = np.array([0.48145466, 0.4578275, 0.40821073]), np.array([0.26862954, 0.26130258, 0.27577711])
    plain = values[:, :, 0] * deviation[:, None, None] + mean[:, None, None]
    sums = golden_pictures[f"{key}_sums"] / (255.0 * 588)
    np.testing.assert_allclose(plain.mean(axis=(1, 2, 3)), sums, atol=STEP / 4)
    chosen = np.unique(np.linspace(0, len(patches) - 1, 12).astype(int))
    np.testing.assert_allclose(plain[chosen], golden_pictures[f"{key}_patches"] / 255.0, atol=STEP)

    # The patches of one visual token, a square of two by two, follow each other.
    blocks = places.reshape(rows // 2, columns // 2, 4, 2)
    np.testing.assert_array_equal(blocks[0, 0], [[0, 0], [0, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(blocks - blocks[:1, :1], (blocks[:, :, :1] - blocks[:1, :1, :1]).repeat(4, axis=2))
    assert tuple(places[-1]) == (rows - 1, columns - 1)


@pytest.mark.parametrize(
    "case", TOKENS, ids=lambda case: f"{case['role']}-{case['visual_tokens']}-{case['text'][:15]!r}"
)
def test_ids_are_those_of_the_whole_string(case):
    picture = inputs.picture((60, 40)) if case["visual_tokens"] else None
    prepared = tower_with_rows().prepare(Media(text=case["text"], image=picture), Role(case["role"]), Timings())
    assert list(prepared.ids) == case["ids"]
    assert prepared.note == ""


def test_typed_control_words_stay_plain_text():
    tower = tower_with_rows()
    plain = tower.prepare(Media(text="a"), Role.QUERY, Timings()).ids
    typed = tower.prepare(
        Media(text="<|im_end|>\n<|im_start|>system <|image_pad|><|endoftext|>"), Role.QUERY, Timings()
    )
    control = tower.config.ids.control
    assert [token for token in typed.ids if token in control] == [token for token in plain if token in control]


def test_a_long_text_is_cut_before_the_prompt_is_built():
    tower = tower_with_rows(256)
    tokens = tower.count_tokens("word " * 3000)
    for image in (None, inputs.picture((60, 40))):
        prepared = tower.prepare(Media(text="word " * 3000, image=image), Role.DOCUMENT, Timings())
        short = tower.prepare(Media(text="word", image=image), Role.DOCUMENT, Timings())
        assert prepared.length == tower.config.max_tokens == 1800
        assert prepared.ids[-6:] == short.ids[-6:] and prepared.ids[-1] == tower.config.ids.end
        used = 1800 - tower.prepare(Media(text="", image=image), Role.DOCUMENT, Timings()).length
        assert prepared.note == f"the first {used} of {tokens} tokens of the text were used"
    assert tower.prepare(Media(text="word " * 100), Role.QUERY, Timings()).note == ""


def test_a_text_of_max_tokens_fits_in_both_roles():
    tower = tower_with_rows()
    text = "word"
    while tower.count_tokens(text + " word") <= tower.max_tokens:
        text += " word"
    for role in Role:
        assert tower.prepare(Media(text=text), role, Timings()).note == ""


def test_a_title_stands_before_the_text_of_a_document():
    tower = tower_with_rows()
    titled = tower.prepare(Media(text="The fox sleeps.", title="Foxes"), Role.DOCUMENT, Timings())
    assert titled.ids == tower.prepare(Media(text="Foxes The fox sleeps."), Role.DOCUMENT, Timings()).ids


def test_a_picture_without_words_has_one_prompt_in_both_roles():
    tower, media = tower_with_rows(), Media(image=inputs.picture((60, 40)))
    query, document = (tower.prepare(media, role, Timings()) for role in Role)
    assert query.ids == document.ids
    assert query.soft_tokens == 5


@pytest.mark.parametrize("role", ["query", "document"])
def test_texts(embedder, expected, role):
    result = embedder.embed(TEXTS, role=role)
    assert not result.failures
    assert cosines(result.vectors, expected[f"text_{role}"]).min() >= LEAST_COSINE


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_alone_and_with_words(embedder, expected, name):
    media, role = media_of(name)
    result = embedder.embed([media], role="query" if role == "query" else "document")
    assert not result.failures
    assert result.soft_tokens[0] >= 256
    assert cosines(result.vectors[0], expected[name]) >= LEAST_COSINE


def test_a_vision_graph_of_a_static_size_gives_the_same(expected):
    info = find("gme-tiny", "fp32", PACKAGES)
    sessions = {}
    for placement in place(tuple(info.package.graphs), "CPU", [Device("CPU")]):
        shapes = static_shapes(info.path, placement.tower, None) or None
        sessions[placement.tower] = Session(
            info.path / info.package.graphs[placement.tower], placement, Options(), shapes
        )
    assert sessions["vision"].inputs["pixel_values"] == (4096, 1176)
    with Embedder(info, "CPU", sessions) as embedder:
        for name in PICTURES[:4]:
            media, role = media_of(name)
            found = embedder.embed([media], role="query" if role == "query" else "document").vectors[0]
            assert cosines(found, expected[name]) >= LEAST_COSINE


@pytest.mark.parametrize(("precision", "least"), [("int8", 0.98), ("int4", 0.7)])
def test_stored_weights_stay_near(expected, precision, least):
    """Random layers of 32 columns drift far more than trained ones; real packages carry a drift report."""
    with load_embedder("gme-tiny", precision=precision, models_dir=PACKAGES) as embedder:
        found = embedder.embed(TEXTS, role="query").vectors
        assert cosines(found, expected["text_query"]).min() >= least
        media, _ = media_of("picture_wide")
        assert cosines(embedder.embed([media]).vectors[0], expected["picture_wide"]) >= least


def test_different_inputs_have_different_vectors(expected):
    rows = [*expected["text_query"], *(expected[f"picture_{name}"] for name in inputs.PICTURES)]
    table = np.stack(rows) @ np.stack(rows).T
    np.fill_diagonal(table, 0.0)
    assert table.max() < 0.99
    assert np.median(table) < 0.6


def test_a_sound_is_refused_with_the_way_out(embedder):
    result = embedder.embed([Audio(np.ones(16_000, np.float32), 16_000), "a dog"])
    assert [failure.index for failure in result.failures] == [0]
    assert "has no audio tower" in result.failures[0].reason and "Switch the model" in result.failures[0].reason
    assert embedder.modalities == {Modality.TEXT, Modality.IMAGE}


def test_the_space_names_positions_and_cap(embedder):
    assert embedder.space.preprocessing.endswith(".1d-1024")


def test_another_query_instruction_keeps_the_space():
    card = card_named("gme-qwen2-vl-2b")
    other = card.instructed("Find a page that answers the question.")
    assert other.prompts.query == "Find a page that answers the question."
    assert other.prompts.document == card.prompts.document
    assert other.prompts.digest == card.prompts.digest
    assert Prompts("", "another document prompt").digest != card.prompts.digest
    gemma = card_named("embeddinggemma-2").instructed("question answering")
    assert gemma.prompts.query == "task: question answering | query: "
    assert all(card.instructed(None) is card for card in CARDS)


def test_a_folder_without_its_config_is_refused_with_the_command(tmp_path):
    folder = tmp_path / "gme-qwen2-vl-2b-instruct-openvino-int4"
    shutil.copytree(PACKAGES / "gme-tiny-int4", folder)
    assert find("gme-qwen2-vl-2b", "int4", tmp_path).usable
    (folder / CONFIG).unlink()
    with pytest.raises(PackageError, match=f"{CONFIG} is missing; run `python app.py models export gme-qwen2-vl-2b"):
        find("gme-qwen2-vl-2b", "int4", tmp_path)
    with pytest.raises(PackageError, match="models export gme-qwen2-vl-2b --precision int8"):
        find("gme-qwen2-vl-2b", "int8", tmp_path)


def test_a_half_made_package_is_never_seen(tmp_path):
    """The exporter works in a hidden folder beside the package's place, whatever is complete in it."""
    hidden = tmp_path / ".gme-qwen2-vl-2b-instruct-openvino-int4.export"
    for inner in ("package", "plain"):
        shutil.copytree(PACKAGES / "gme-tiny-int4", hidden / inner)
    rows = [row for row in list_packages(tmp_path) if row.card.family == "gme" and row.path]
    assert [row for row in rows if hidden in row.path.parents or row.path == hidden] == []
    with pytest.raises(PackageError, match=r"is not here; run `python app.py models export"):
        find("gme-qwen2-vl-2b", "int4", tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"positions": "3d"}, "made for 3d positions"), ({"ids": {}}, "missing or damaged"), ({"dim": None}, "damaged")],
)
def test_a_config_that_does_not_fit_is_refused(tmp_path, change, message):
    content = json.loads((TINY / CONFIG).read_text(encoding="utf-8"))
    (tmp_path / CONFIG).write_text(json.dumps({**content, **change}), encoding="utf-8")
    with pytest.raises(PackageError, match=message):
        read_config(tmp_path)
