"""The rules of the rooms: imports point one way, a library has one owner, importing the app costs nothing."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RANK = {"app": 3, "ui": 2, "index": 1, "embedding": 0}  # a room imports itself and rooms of a lower rank
OUTSIDERS = {"tools", "tests"}
# Path prefixes that may import a library; a library that is not here may be imported anywhere.
OWNERS = {
    "openvino": ("embedding/runtime.py", "embedding/export/"),
    "openvino_tokenizers": ("embedding/runtime.py", "embedding/tokenizer.py", "embedding/export/"),
    "tokenizers": ("embedding/tokenizer.py", "embedding/export/"),
    "huggingface_hub": ("embedding/packages.py",),
    "soundfile": ("embedding/media/", "ui/"),
    "soxr": ("embedding/media/",),
    "torch": ("embedding/export/",),
    "nncf": ("embedding/export/",),
    "safetensors": ("embedding/export/",),
    "transformers": ("embedding/export/",),
    "faiss": ("index/stores/faiss.py",),
    "sqlite3": ("index/catalogue.py", "index/database.py"),
    "gradio": ("ui/",),
    "fastapi": ("ui/",),
    "starlette": ("ui/",),
    "uvicorn": ("ui/",),
}
ENVIRONMENT = re.compile(r"\bos\.(environ|getenv|putenv)\b|\bimport environ\b")
# What these print is their answer.
PROGRAMS = ("embedding/export/", "embedding/probe.py", "ui/terminal.py")
HANDED_ON = {"ui/server.py": "os.environ['GRADIO_TEMP_DIR'] = "}  # Gradio takes this setting from nowhere else
SOURCES = sorted(
    [ROOT / "app.py", *(path for room in ("ui", "index", "embedding") for path in (ROOT / room).rglob("*.py"))]
)
TREES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names of all modules that a file imports, at any depth, for types only or not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def calls(tree: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for node in ast.walk(tree)
    )


def room_of(name: str) -> str:
    return name.split("/")[0].split(".")[0]


@pytest.mark.parametrize("file", TREES)
def test_imports_point_one_way(file: str) -> None:
    rank = RANK[room_of(file)]
    for module in imported(TREES[file]):
        room = room_of(module)
        assert room not in OUTSIDERS, f"{file} imports {module}"
        assert RANK.get(room, -1) <= rank, f"{file} imports {module}"
        exports = file == "ui/terminal.py" or file.startswith("embedding/export/")  # one command does so, on demand
        assert exports or not module.startswith("embedding.export"), f"{file}: {module}"


def test_words_of_the_rooms_depend_on_nothing() -> None:
    assert not [name for name in imported(TREES["embedding/types.py"]) if room_of(name) in RANK]
    inner = {name for name in imported(TREES["index/types.py"]) if room_of(name) in RANK}
    assert all(name.startswith("embedding.types") for name in inner)


@pytest.mark.parametrize("file", TREES)
def test_each_library_has_one_owner(file: str) -> None:
    for module in imported(TREES[file]):
        owners = OWNERS.get(room_of(module))
        assert owners is None or file.startswith(owners), f"{file} imports {module}, which belongs to {owners}"


@pytest.mark.parametrize("file", [file for file in TREES if file != "app.py"])
def test_settings_and_output_belong_to_the_app(file: str) -> None:
    uses = [
        ast.unparse(statement)
        for statement in ast.walk(TREES[file])
        if isinstance(statement, ast.stmt)
        and not hasattr(statement, "body")
        and ENVIRONMENT.search(ast.unparse(statement))
    ]
    assert [use for use in uses if not use.startswith(HANDED_ON.get(file, "nothing"))] == []
    assert file.startswith(PROGRAMS) or not calls(TREES[file], "print"), f"{file} prints"


def test_every_file_is_named_after_what_it_holds() -> None:
    nameless = {"utils", "util", "helpers", "helper", "common", "misc"}
    tracked = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    names = [*TREES, *tracked.splitlines()]
    assert [name for name in names if nameless & set(Path(name).with_suffix("").parts)] == []


def test_importing_the_app_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import json, sys, time; start = time.perf_counter(); import app; took = time.perf_counter() - start;"
        "print(json.dumps({'seconds': took, 'modules': sorted(sys.modules)}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    answer = json.loads(ran.stdout)
    assert answer["seconds"] < 1.0
    loaded = {name.split(".")[0] for name in answer["modules"]}
    assert not loaded & {"gradio", "openvino", "faiss", "numpy", "PIL", "soundfile", "fastapi", "huggingface_hub"}
    assert ran.stderr == ""
