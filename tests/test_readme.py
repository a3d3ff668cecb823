"""What README and CONTRIBUTING tell people to type exists, and what they point to is there."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "assets/library/SOURCES.md")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = sorted(set(re.findall(r"(?:^|`|/)(?:python )?app\.py +([a-z]+)\b", README, re.MULTILINE)))


def help_of(*command: str) -> str:
    ran = subprocess.run(
        [sys.executable, "app.py", *command, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_links_to_files_resolve(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)<>\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            assert ((ROOT / page).parent / target.split("#")[0]).exists(), f"{page} links to {target}"


def test_make_targets_exist() -> None:
    named = set(re.findall(r"\bmake ([a-z]+)\b", README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert {"run", "test"} <= named <= targets()
    assert {"run", "test", "lint", "bench", "golden"} <= targets()


def test_commands_named_are_all_commands_there_are() -> None:
    listed = re.search(r"^commands:.*?\n((?: .*\n|\n)+)", help_of(), re.MULTILINE)
    assert listed is not None
    there = set(re.findall(r"^ {4}([a-z]+)\b", listed[1], re.MULTILINE))
    assert set(COMMANDS) | {"serve"} == there


@pytest.mark.parametrize("command", COMMANDS)
def test_flags_of_a_command_exist(command: str) -> None:
    lines = [line for line in README.splitlines() if re.search(rf"app\.py {command}\b", line)]
    actions = {word for line in lines for word in re.findall(r"models (list|pull|verify)", line)}
    pages = help_of(command) if command != "models" else "".join(help_of("models", action) for action in actions)
    for line in lines:
        for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", line.split(f"app.py {command}")[1]):
            assert re.search(rf"{flag}\b", pages), f"app.py {command} has no {flag}"


def test_flags_of_the_page_exist() -> None:
    page = help_of()
    for flag in re.findall(
        r"--(?:host|port|root-path|no-samples|model|precision|device|data-dir|models-dir)\b", README
    ):
        assert flag in page


def test_commands_to_type_can_be_split_by_a_shell() -> None:
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            assert shlex.split(line, comments=True), line


def test_python_of_the_readme_compiles_and_its_names_exist() -> None:
    for node in ast.walk(ast.parse("\n".join(EXAMPLES))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("embedding"):
            module = __import__(node.module, fromlist=["*"])
            assert all(hasattr(module, alias.name) for alias in node.names)
        if isinstance(node, ast.Constant) and str(node.value).startswith("assets/"):
            assert (ROOT / str(node.value)).is_file()


def test_python_of_the_readme_runs() -> None:
    example = next(example for example in EXAMPLES if "load_embedder" in example)
    ran = subprocess.run(
        [sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    dog, guitar = (float(number) for number in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", ran.stdout)[:2])
    assert dog > guitar


def test_http_calls_of_the_readme_exist() -> None:
    api = (ROOT / "ui" / "api.py").read_text(encoding="utf-8")
    called = set(re.findall(r'api_name="/(\w+)"', README)) | set(re.findall(r"`/(\w+)`", README)) - {"health"}
    assert called == set(re.findall(r'api_name="(\w+)"', api))


def test_every_requirement_has_a_line() -> None:
    required = re.findall(r"^([\w-]+)[<>=~]", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert required
    for name in required:
        assert f"[{name}](https://pypi.org/project/{name}/)" in README
