"""The files around the code agree with each other: versions, requirements, container, CI."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import app

ROOT = Path(__file__).resolve().parent.parent


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def names(requirements: str) -> set[str]:
    found = re.findall(r"^([A-Za-z0-9._-]+)\s*[<>=~]", requirements, re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower() for name in found}


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, continued lines joined, comments left out."""
    lines = "\n".join(line for line in read("Dockerfile").splitlines() if not line.lstrip().startswith("#"))
    logical = lines.replace("\\\n", " ").splitlines()
    return [(keyword, rest) for keyword, _, rest in (line.strip().partition(" ") for line in logical if line.strip())]


def test_versions_agree() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert project["version"] == app.VERSION
    assert "## [Unreleased]" in read("CHANGELOG.md") or f"## [{app.VERSION}]" in read("CHANGELOG.md")


def test_every_requirement_is_locked() -> None:
    locked = names(read("constraints.txt"))
    assert names(read("requirements.txt")) | names(read("requirements-test.txt")) <= locked
    pins = [line for line in read("constraints.txt").splitlines() if line and not line.startswith("#")]
    assert len(pins) == len(locked)
    assert all(re.match(r"[\w.-]+==[\w.]+(; .+)?$", pin) for pin in pins)


def test_locked_versions_are_within_the_ranges() -> None:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    locked = {
        canonicalize_name(requirement.name): next(iter(requirement.specifier)).version
        for line in read("constraints.txt").splitlines()
        if line and not line.startswith("#")
        for requirement in (Requirement(line),)
    }
    for file in ("requirements.txt", "requirements-test.txt"):
        for line in read(file).splitlines():
            if line and not line.startswith(("#", "-r")):
                requirement = Requirement(line)
                assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), line


def test_nothing_at_run_time_needs_torch() -> None:
    assert not names(read("requirements.txt") + read("requirements-test.txt")) & {"torch", "transformers", "nncf"}


def test_container_copies_only_what_is_there_and_let_in() -> None:
    ignored = read(".dockerignore").splitlines()
    assert "*" in ignored
    for keyword, rest in instructions():
        if keyword == "COPY":
            *sources, _ = rest.split()
            for source in sources:
                assert (ROOT / source).exists(), source
                assert f"!{source.rstrip('/')}" in ignored, source


def test_container_is_small_and_safe() -> None:
    steps = instructions()
    keywords = [keyword for keyword, _ in steps]
    last = dict(steps)
    assert steps[0] == ("FROM", steps[0][1]) and steps[0][1].endswith("-slim")
    assert last["USER"] not in {"root", "0"}
    assert keywords.index("USER") > max(index for index, keyword in enumerate(keywords) if keyword in {"RUN", "COPY"})
    installs = [rest for keyword, rest in steps if keyword == "RUN" and "pip install" in rest]
    assert len(installs) == 1 and "-r requirements.txt -c constraints.txt" in installs[0]
    assert sorted(json.loads(last["VOLUME"])) == ["/data", "/models"]
    assert json.loads(last["CMD"]) == ["python", "app.py"]


def test_container_runs_the_app_with_settings_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(rest for keyword, rest in instructions() if keyword == "ENV")
    settings = dict(pair.split("=", 1) for pair in text.split())
    ours = {name for name in settings if name.startswith("TRIPTYCH_")}
    help_text = app._parser({}).format_help()
    assert ours and all(name in re.sub(r"\s+", "", help_text) for name in ours)
    options = app._parser(settings).parse_args([])
    assert (options.host, int(options.port), options.data_dir, options.models_dir) == (
        "0.0.0.0",
        7860,
        "/data",
        "/models",
    )


def test_health_check_compiles_and_asks_the_port_that_is_exposed() -> None:
    steps = dict(instructions())
    command = json.loads(steps["HEALTHCHECK"].split("CMD", 1)[1])
    assert command[:2] == ["python", "-c"]
    compile(command[2], "healthcheck", "exec")
    assert f":{steps['EXPOSE']}/health'" in command[2]
    assert '"/health"' in read("ui/media.py")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_ci_is_executable_and_ends_with_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert read(".ci/run").strip().splitlines()[-1] == "make test"


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
@pytest.mark.parametrize(("target", "expected"), [("run", "app.py --port 1"), ("test", "-m pytest --port 1")])
def test_make_installs_then_runs(target: str, expected: str, tmp_path: Path) -> None:
    plan = subprocess.run(
        ["make", "-n", target, f"VENV={tmp_path / 'venv'}", "ARGS=--port 1"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    steps = ["-m venv", "pip install", expected]
    assert [step for step in steps if step in plan] == steps
    assert sorted(steps, key=plan.index) == steps
