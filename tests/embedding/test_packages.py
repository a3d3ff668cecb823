"""Packages on disk and from a hub on loopback: found, described, downloaded, resumed, verified."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from embedding import load_embedder, packages
from embedding.catalog import card_named
from embedding.errors import PackageError
from embedding.packages import Hub
from tests.embedding.hub import COMMIT, FakeHub, serve

FIXTURES = Path(__file__).parent.parent / "fixtures" / "packages"
PACKAGE = card_named("embeddinggemma-2").package("int8")


def files_of_tiny() -> dict[str, bytes]:
    """The tiny INT8 package under the names of the published one."""
    folder = FIXTURES / "gemma-tiny-int8"
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "triptych.json"}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    # The library writes and resumes in chunks of 10 MB; the tiny package has less than one.
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)


def test_download_is_complete_pinned_and_loads(tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    with serve(FakeHub(PACKAGE.repo, files_of_tiny())) as hub:
        info = packages.pull(
            "embeddinggemma-2", "int8", tmp_path, Hub(hub.address, lambda *report: reports.append(report))
        )
    assert info.usable and info.path == tmp_path / PACKAGE.directory
    record = json.loads((info.path / packages.RECORD).read_text())
    assert record["revision"] == COMMIT and record["repo"] == PACKAGE.repo
    total = sum(len(content) for content in files_of_tiny().values())
    assert reports[-1][1:] == (total, total)
    assert all(before[1] <= after[1] for before, after in pairwise(reports))
    assert packages.verify(info) == ()
    with load_embedder("embeddinggemma-2", "int8", models_dir=tmp_path) as embedder:
        assert embedder.embed(["a dog"]).vectors.shape == (1, embedder.dim)


def test_broken_off_download_is_resumed(tmp_path: Path) -> None:
    files = files_of_tiny()
    name = "text_int8.bin"
    with serve(FakeHub(PACKAGE.repo, files, cut={name: 5_000})) as hub:
        try:
            packages.pull("embeddinggemma-2", "int8", tmp_path, Hub(hub.address))
        except PackageError as error:
            assert "kept" in str(error)
            packages.pull("embeddinggemma-2", "int8", tmp_path, Hub(hub.address))
        asked = [wanted for file, wanted in hub.ranges if file == name]
        assert asked[0] is None and asked[-1] is not None, asked
        assert int(asked[-1].removeprefix("bytes=").split("-")[0]) > 0
        others = [file for file, _ in hub.ranges if file != name]
        assert len(others) == len(set(others)), "a finished file was fetched twice"
    assert (tmp_path / PACKAGE.directory / name).read_bytes() == files[name]


def test_damaged_download_is_refused(tmp_path: Path) -> None:
    files = files_of_tiny()
    name = "vision_int8.bin"
    with serve(FakeHub(PACKAGE.repo, files, lie={name: files[name][:-1] + b"\x00"})) as hub:
        if files[name].endswith(b"\x00"):
            hub.lie[name] = files[name][:-1] + b"\x01"
        with pytest.raises(PackageError, match=r"arrived damaged|could not be downloaded"):
            packages.pull("embeddinggemma-2", "int8", tmp_path, Hub(hub.address))
    assert not (tmp_path / PACKAGE.directory / name).exists()
    with pytest.raises(PackageError, match=rf"{name} is missing.*models pull embeddinggemma-2"):
        packages.find("embeddinggemma-2", "int8", tmp_path)


def test_hub_that_lacks_a_file_is_refused(tmp_path: Path) -> None:
    files = files_of_tiny()
    del files["audio_int8.xml"]
    with serve(FakeHub(PACKAGE.repo, files)) as hub, pytest.raises(PackageError, match=r"lacks audio_int8\.xml"):
        packages.pull("embeddinggemma-2", "int8", tmp_path, Hub(hub.address))


def test_no_network_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"could not be downloaded.*models pull embeddinggemma-2.*copy the files"):
        packages.pull("embeddinggemma-2", "int8", tmp_path, Hub("http://127.0.0.1:9"))


def test_package_put_by_hand_works(tmp_path: Path) -> None:
    folder = tmp_path / PACKAGE.directory
    shutil.copytree(FIXTURES / "gemma-tiny-int8", folder)
    (folder / "triptych.json").unlink()
    assert packages.find("embeddinggemma-2", "int8", tmp_path).path == folder
    assert packages.choose(None, None, tmp_path) == ("embeddinggemma-2", "int8")


def test_unknown_package_describes_itself(tmp_path: Path) -> None:
    for name in ("gemma-tiny", "gemma-tiny-int8"):
        shutil.copytree(FIXTURES / name, tmp_path / name)
    card = card_named("gemma-tiny", packages.cards(tmp_path))
    assert {str(package.precision) for package in card.packages} == {"fp32", "int8"}
    assert packages.choose(None, None, tmp_path)[0] == "nano"


def test_missing_and_empty_files_are_listed(tmp_path: Path) -> None:
    folder = tmp_path / PACKAGE.directory
    shutil.copytree(FIXTURES / "gemma-tiny-int8", folder)
    (folder / "triptych.json").unlink()
    (folder / "audio_int8.bin").unlink()
    (folder / "tokenizer.json").write_bytes(b"")
    with pytest.raises(PackageError, match=r"audio_int8\.bin is missing; tokenizer\.json is empty"):
        packages.find("embeddinggemma-2", "int8", tmp_path)


@pytest.mark.parametrize("name", ["text_int8.xml", "text_int8.bin", "tokenizer.json", "config.json"])
def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    folder = tmp_path / PACKAGE.directory
    shutil.copytree(FIXTURES / "gemma-tiny-int8", folder)
    (folder / "triptych.json").unlink()
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(PackageError, match=name.replace(".bin", ".xml").replace(".", r"\.")):
        load_embedder("embeddinggemma-2", "int8", models_dir=tmp_path)


def test_changed_file_is_found_by_its_hash(tmp_path: Path) -> None:
    with serve(FakeHub(PACKAGE.repo, files_of_tiny())) as hub:
        info = packages.pull("embeddinggemma-2", "int8", tmp_path, Hub(hub.address))
    assert info.path is not None
    weights = info.path / "text_int8.bin"
    content = bytearray(weights.read_bytes())
    content[100] ^= 0xFF
    weights.write_bytes(bytes(content))
    assert packages.verify(info) == ("text_int8.bin has another sha256 than the downloaded one",)


def test_unknown_names_list_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"no model 'gemna'; known are nano, embeddinggemma-2"):
        packages.find("gemna", "int8", tmp_path)
    with pytest.raises(PackageError, match=r"no precision 'int4'; it has int8, fp16"):
        packages.find("embeddinggemma-2", "int4", tmp_path)


@pytest.mark.parametrize(
    "about",
    [
        '{"name": "x", "precision": ["int8"]}',
        '{"name": "x", "precision": {"a": 1}}',
        '{"name": "x", "precision": "int8", "matryoshka": 5}',
        '{"name": "x", "precision": "int8", "matryoshka": ["a"]}',
        '{"name": "x", "precision": "int8", "family": ["a"]}',
        '{"name": "", "precision": "int8"}',
        '{"name": "a\\u001bb", "precision": "int8"}',
        '{"precision": "int8"}',
        "[" * 100_000,
    ],
)
def test_folder_with_nonsense_hides_no_model(tmp_path: Path, about: str) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "triptych.json").write_text(about)
    names = {row.card.name for row in packages.list_packages(tmp_path)}
    assert {"nano", "embeddinggemma-2"} <= names and "x" not in names


@pytest.mark.parametrize("record", ['{"files": {"text_int8.xml": {}}}', '{"files": 5}', '{"files": {"a.bin": 5}}'])
def test_damaged_record_is_no_record(tmp_path: Path, record: str) -> None:
    folder = tmp_path / "gemma-tiny-int8"
    shutil.copytree(FIXTURES / "gemma-tiny-int8", folder)
    (folder / packages.RECORD).write_text(record)
    info = packages.find("gemma-tiny", "int8", tmp_path)
    assert packages.verify(info) == ()


def test_record_names_nothing_outside_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "gemma-tiny-int8"
    shutil.copytree(FIXTURES / "gemma-tiny-int8", folder)
    (tmp_path / "outside").write_text("secret")
    entry = {"size": 6, "sha256": "0" * 64}
    (folder / packages.RECORD).write_text(
        json.dumps({"files": {"../outside": entry, str(tmp_path / "outside"): entry}})
    )
    assert packages.verify(packages.find("gemma-tiny", "int8", tmp_path)) == ()


def test_empty_folder_does_not_hide_the_built_in_package(tmp_path: Path) -> None:
    (tmp_path / "nano-int8").mkdir()
    assert packages.find("nano", "int8", tmp_path).usable
