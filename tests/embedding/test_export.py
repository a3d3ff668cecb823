"""Exports from tiny checkpoints: whole or not at all, taken up again, reused, refused; drift reports are true."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="exporting needs requirements-export.txt (torch)")
pytest.importorskip("nncf", reason="exporting needs requirements-export.txt (nncf)")
pytest.importorskip("transformers", reason="exporting needs requirements-export.txt (transformers)")

from embedding import load_embedder
from embedding.errors import PackageError
from embedding.export import samples
from embedding.export.command import Order, export
from embedding.export.drift import compare, vectors
from embedding.export.sessions import GraphSession
from embedding.export.weights import overridden, weights_of
from embedding.packages import find, list_packages, verify
from embedding.tokenizer import load_tokenizer
from embedding.towers.gme import GmeTower, read_config
from embedding.types import Media, Modality, Precision
from tests.golden import tiny, tiny_gme
from tests.golden.reference_gme import DEFAULT, QUERY, GmeReference

ROOT = Path(__file__).resolve().parents[2]
NAME = "gme-qwen2-vl-2b"
DIMS = tiny_gme.GmeDims(hidden=128, feed_forward=256, heads=4, key_heads=2)


def quiet(line):
    """Progress that nobody reads."""


@pytest.fixture(scope="module")
def model():
    return tiny_gme.make_model(tiny_gme.make_tokenizer(), DIMS, seed=3)


@pytest.fixture(scope="module")
def checkpoint(model, tmp_path_factory):
    """A checkpoint as the hub has it, made of the tiny model."""
    folder = tmp_path_factory.mktemp("checkpoint")
    model.save_pretrained(folder)
    tiny_gme.make_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def int8(checkpoint, tmp_path_factory):
    """The models folder with the int8 package."""
    folder = tmp_path_factory.mktemp("models")
    info = export(Order(NAME, "int8", folder, checkpoint, accept_drift=True), quiet)
    assert info.usable
    return folder


def test_fp16_package_is_the_reference(model, checkpoint, tmp_path):
    export(Order(NAME, "fp16", tmp_path, checkpoint), quiet)
    reference = GmeReference(model, tiny_gme.make_tokenizer(), 1024)
    texts = ["a dog at night", "zwei Räder"]
    with load_embedder(NAME, "fp16", models_dir=tmp_path) as embedder:
        for role, instruction in (("query", QUERY), ("document", DEFAULT)):
            found = embedder.embed(texts, role=role).vectors
            assert np.sum(found * reference.texts(texts, instruction), axis=1).min() >= 0.9999


def test_config_says_what_the_package_is(int8):
    content = json.loads((int8 / "gme-qwen2-vl-2b-instruct-openvino" / "gme_openvino_config.json").read_text())
    assert (content["family"], content["positions"], content["dim"]) == ("gme", "1d", 128)
    assert content["images"]["min_tokens"] == 256 and content["images"]["max_tokens"] == 1024
    assert {part["weights"] for part in content["parts"].values()} == {"int8_sym"}
    assert content["prompts"] == {"query": QUERY, "document": DEFAULT}
    assert len(content["source"]["sha256"]["model.safetensors"]) == 64
    assert content["tools"]["openvino"]
    assert content["tokenizer_graph"] is True


def test_drift_report_is_true_when_recomputed(int8, checkpoint, tmp_path):
    export(Order(NAME, "fp16", tmp_path, checkpoint), quiet)
    stored = int8 / "gme-qwen2-vl-2b-instruct-openvino"
    plain = tmp_path / "gme-qwen2-vl-2b-instruct-openvino-fp16"
    towers = []
    for folder in (plain, stored):
        sessions = {name: GraphSession(folder / f"{name}.xml") for name in ("vision", "embeddings", "language")}
        config = read_config(folder)
        encode = load_tokenizer(folder, config.ids.control)
        images = config.images.__class__(max_tokens=256)
        config = config.__class__(config.dim, config.max_tokens, config.ids, images)
        towers.append(GmeTower(config, list_packages(int8)[0].card.prompts.__class__(QUERY, DEFAULT), sessions, encode))
    inputs = samples.media(frozenset({Modality.TEXT, Modality.IMAGE}))
    again = compare(*(vectors(tower, inputs) for tower in towers)).as_json()
    report = json.loads((stored / "drift.json").read_text())
    for kind, row in report["kinds"].items():
        assert row["cosine_min"] == pytest.approx(again["kinds"][kind]["cosine_min"], abs=1e-4)
        assert row["cosine_mean"] == pytest.approx(again["kinds"][kind]["cosine_mean"], abs=1e-4)
    assert report["top1_agreement"] == pytest.approx(again["top1_agreement"])


def test_a_changed_file_is_found_by_verify(int8, tmp_path):
    folder = tmp_path / "gme-qwen2-vl-2b-instruct-openvino"
    shutil.copytree(int8 / folder.name, folder)
    info = find(NAME, "int8", tmp_path)
    assert verify(info) == ()
    weights = bytearray((folder / "vision.bin").read_bytes())
    weights[100] ^= 1
    (folder / "vision.bin").write_bytes(weights)
    assert verify(info) == ("vision.bin has another sha256 than the downloaded one",)


def test_a_package_that_is_there_is_reused(int8, checkpoint):
    before = (int8 / "gme-qwen2-vl-2b-instruct-openvino" / "language.bin").stat().st_mtime_ns
    said = []
    info = export(Order(NAME, "int8", int8, checkpoint), said.append)
    assert info.usable and "reused" in said[0] and len(said) == 1
    assert (int8 / "gme-qwen2-vl-2b-instruct-openvino" / "language.bin").stat().st_mtime_ns == before


def test_too_much_drift_fails_and_what_was_made_is_kept(checkpoint, tmp_path):
    with pytest.raises(PackageError, match=r"drifts from the original.*--accept-drift"):
        export(Order(NAME, "int4", tmp_path, checkpoint), quiet)
    assert not [row for row in list_packages(tmp_path) if row.card.name == NAME and row.path]
    said = []
    assert export(Order(NAME, "int4", tmp_path, checkpoint, accept_drift=True), said.append).usable
    assert sum("done before" in line for line in said) == 8
    content = json.loads((tmp_path / "gme-qwen2-vl-2b-instruct-openvino-int4" / "gme_openvino_config.json").read_text())
    assert content["parts"]["language"]["weights"].startswith("int4_asym group 128")
    assert content["parts"]["vision"]["weights"] == content["parts"]["embeddings"]["weights"] == "int8_sym"


def test_a_killed_export_leaves_no_package_and_goes_on(checkpoint, tmp_path):
    command = [sys.executable, "app.py", "models", "export", NAME, "--precision", "int8", "--accept-drift"]
    command += ["--checkpoint", str(checkpoint), "--out", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith("[6/8]"):
                process.kill()
                break
    assert process.returncode != 0
    assert list(tmp_path.iterdir()), "something was begun"
    assert not [row for row in list_packages(tmp_path) if row.card.name == NAME and row.path]
    with pytest.raises(PackageError, match="models export"):
        load_embedder(NAME, "int8", models_dir=tmp_path)
    said = []
    assert export(Order(NAME, "int8", tmp_path, checkpoint, accept_drift=True), said.append).usable
    assert sum("done before" in line for line in said) >= 4
    assert [path.name for path in tmp_path.iterdir()] == ["gme-qwen2-vl-2b-instruct-openvino"]


def test_another_checkpoint_starts_anew(checkpoint, tmp_path):
    with pytest.raises(PackageError, match="drifts"):
        export(Order(NAME, "int4", tmp_path, checkpoint), quiet)
    other = tmp_path / "other"
    tiny_gme.make_model(tiny_gme.make_tokenizer(), DIMS, seed=4).save_pretrained(other)
    tiny_gme.make_tokenizer().save(str(other / "tokenizer.json"))
    said = []
    with pytest.raises(PackageError, match="drifts"):
        export(Order(NAME, "int4", tmp_path, other), said.append)
    assert not any("done before" in line for line in said)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [("vision=int8_asym", "destroys the vision tower"), ("vision=w8a8", "W8A8"), ("language=w8a8", "W8A8")],
)
def test_known_bad_settings_are_refused_before_anything_is_read(tmp_path, setting, reason):
    with pytest.raises(PackageError, match=reason):
        export(Order(NAME, "int8", tmp_path, tmp_path / "nothing", (setting,)), quiet)


def test_settings_of_weights():
    weights = weights_of(Precision.INT4, ("vision", "embeddings", "language"))
    assert str(overridden(weights, ["language=int4_asym:64"])["language"]).startswith("int4_asym group 64")
    with pytest.raises(PackageError, match="no part 'text'"):
        overridden(weights, ["text=int8_sym"])
    with pytest.raises(PackageError, match="modes are"):
        overridden(weights, ["language=int3"])


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path):
    with pytest.raises(PackageError, match=r"no checkpoint .* config.json, tokenizer.json"):
        export(Order(NAME, "int8", tmp_path, tmp_path), quiet)


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_embeddinggemma_is_exported_too(tmp_path, precision):
    tokenizer = tiny.make_tokenizer()
    tiny.make_model(tokenizer, tiny.Dims(), seed=5).save_pretrained(tmp_path / "checkpoint")
    tokenizer.save(str(tmp_path / "checkpoint" / "tokenizer.json"))
    order = Order("embeddinggemma-2", precision, tmp_path, tmp_path / "checkpoint", accept_drift=True)
    info = export(order, quiet)
    assert info.usable
    assert (info.path / "drift.json").is_file() == (precision == "int8")
    assert json.loads((info.path / "triptych-export.json").read_text())["source"]["repo"] == "google/embeddinggemma-2"
    with load_embedder("embeddinggemma-2", precision, models_dir=tmp_path) as embedder:
        inputs = [items[0] for items in samples.media(embedder.modalities).values()]
        assert not embedder.embed([*inputs, Media(text="a dog")]).failures
