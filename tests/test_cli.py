"""The command line as scripts use it: one JSON document, exit codes, one sentence for an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

ROOT = Path(__file__).parent.parent
PACKAGES = ROOT / "tests" / "fixtures" / "packages"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run app.py in a process of its own over an empty library."""

    def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = variables | {key: value for key, value in os.environ.items() if not key.startswith("TRIPTYCH_")}
        command = [sys.executable, str(ROOT / "app.py"), "--data-dir", str(tmp_path / "data")]
        command += ["--models-dir", str(PACKAGES), "--model", "nano", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)

    return call


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with one item of each kind and one file that is none."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "dogs.md").write_text("# Dogs\n\nA dog is a loyal animal that barks and likes to fetch a ball.\n")
    Image.new("RGB", (64, 48), "red").save(folder / "red.png")
    soundfile.write(folder / "tone.wav", 0.3 * np.sin(np.arange(16_000) / 6), 16_000)
    (folder / "program.exe").write_bytes(b"MZ\x90\x00")
    return folder


def test_add_search_list_remove(run: Run, files: Path) -> None:
    added = json.loads((first := run("add", str(files), "--json")).stdout)
    assert first.returncode == 0
    assert sorted(item["name"] for item in added["added"]) == ["dogs.md", "red.png", "tone.wav"]
    assert {item["kind"] for item in added["added"]} == {"document", "image", "audio"}
    assert [Path(skipped["path"]).name for skipped in added["skipped"]] == ["program.exe"]
    assert "not supported" in added["skipped"][0]["reason"] or "kind" in added["skipped"][0]["reason"]

    again = json.loads(run("add", str(files), "--json").stdout)
    assert again["added"] == [] and len(again["unchanged"]) == 3

    found = json.loads(run("search", "a loyal animal", "-k", "2", "--json").stdout)
    assert set(found) == {"query", "space", "hits", "timings"}
    assert found["query"] == "a loyal animal" and len(found["hits"]) == 2
    first_hit = found["hits"][0]
    assert set(first_hit) == {"rank", "id", "kind", "name", "path", "score", "segment"}
    assert first_hit["rank"] == 1 and first_hit["name"] == "dogs.md" and first_hit["path"] == str(files / "dogs.md")
    assert first_hit["score"] > found["hits"][1]["score"]
    assert {"text", "search", "total"} <= set(found["timings"])

    picture = json.loads(run("search", "--image", str(files / "red.png"), "--kind", "image", "--json").stdout)
    assert [hit["name"] for hit in picture["hits"]] == ["red.png"]
    assert picture["hits"][0]["score"] == pytest.approx(1.0, abs=1e-4)
    sound = json.loads(run("search", "--audio", str(files / "tone.wav"), "--json").stdout)
    assert sound["hits"][0]["name"] == "tone.wav"

    listed = json.loads(run("list", "--json").stdout)["items"]
    assert len(listed) == 3
    removed = run("remove", str(listed[0]["id"]), "--json")
    assert removed.returncode == 0 and json.loads(removed.stdout)["removed"] == [listed[0]["id"]]
    assert len(json.loads(run("list", "--json").stdout)["items"]) == 2


def test_exit_codes_and_one_sentence(run: Run, tmp_path: Path, files: Path) -> None:
    missing = run("add", str(tmp_path / "absent.txt"))
    assert missing.returncode == 1
    for arguments, words in [
        (("search", "--image", str(files / "dogs.md")), "no known picture format"),
        (("search",), "Nothing was asked"),
        (("remove", "77"), "no item with id 77"),
        (("--device", "TPU", "search", "dog"), "no device 'TPU'"),
        (("search", "dog", "--model", "unknown"), "known are nano"),
        (("search", "dog", "--model", "embeddinggemma-2"), "models pull embeddinggemma-2"),
    ]:
        result = run(*arguments)
        assert result.returncode == 1, arguments
        assert words in result.stderr and "Traceback" not in result.stderr, result.stderr
        assert result.stdout == "" or arguments[0] == "remove"
    nonsense = run("list", TRIPTYCH_PERFORMANCE="foo")
    assert nonsense.returncode == 2 and "choose from LATENCY, THROUGHPUT" in nonsense.stderr
    report = run("bench", "nano:int8", "--rounds", "1", "--report", str(tmp_path / "absent" / "x.html"))
    assert report.returncode == 1 and "no folder" in report.stderr and "Traceback" not in report.stderr
    for arguments in [("frobnicate",), ("search", "dog", "-k", "0"), ("--port", "99999"), ("add",)]:
        assert run(*arguments).returncode == 2, arguments


def test_names_cannot_steer_the_terminal_and_the_data_folder_is_no_input(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "red\x1b[31m\nfile.txt").write_text("a dog")
    (tmp_path / "data" / "models" / "x").mkdir(parents=True)
    (tmp_path / "data" / "models" / "x" / "CARD.md").write_text("a card")
    assert run("add", str(folder), str(tmp_path / "data")).returncode in (0, 1)
    listed = run("list").stdout
    assert "\x1b" not in listed and len(listed.splitlines()) == 1 and "CARD" not in listed


def test_another_model_is_refused_until_reembedded(run: Run, files: Path) -> None:
    assert run("add", str(files)).returncode == 0
    other = ("--model", "gemma-tiny", "--precision", "int8")
    refused = run("search", "dog", *other)
    assert refused.returncode == 1 and "reembed" in refused.stderr
    assert run("reembed", *other).returncode == 0
    assert len(json.loads(run("search", "dog", *other, "--json").stdout)["hits"]) == 3
    assert len(json.loads(run("search", "dog", "--json").stdout)["hits"]) == 3, "the first space is still there"


def test_doctor_tells_what_is_broken(run: Run) -> None:
    sound = run("doctor", "--json")
    report = json.loads(sound.stdout)
    assert sound.returncode == 0 and report["ok"]
    assert set(report) == {"ok", "versions", "devices", "packages", "checks"}
    names = {check["name"] for check in report["checks"]}
    assert {"load", "text", "image", "audio", "library"} <= names
    broken = run("--model", "embeddinggemma-2", "doctor", "--json")
    report = json.loads(broken.stdout)
    assert broken.returncode == 1 and not report["ok"]
    assert any("models pull" in check["detail"] for check in report["checks"] if not check["ok"])


def test_models_are_listed(run: Run) -> None:
    listed = json.loads(run("models", "list", "--json").stdout)["packages"]
    states = {(row["name"], row["precision"]): row["state"] for row in listed}
    assert states["nano", "int8"] == "here" and states["embeddinggemma-2", "int8"] == "not downloaded"
    assert run("models", "verify").returncode == 0


def test_importing_the_app_does_nothing() -> None:
    code = "import time; start = time.perf_counter(); import app, sys; print(time.perf_counter() - start)"
    code += "; print([name for name in ('gradio', 'openvino', 'numpy', 'faiss') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    seconds, heavy = result.stdout.splitlines()
    assert float(seconds) < 1.0 and heavy == "[]"
