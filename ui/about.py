"""The About tab: what is installed, the models and how to get them, and the storage used."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from ui.models import PackageRow
from ui.studio import Studio
from ui.words import button, safe, size

LIBRARIES = ("openvino", "openvino-tokenizers", "gradio", "faiss-cpu", "numpy", "pillow", "soundfile", "tokenizers")
PLAIN = (
    "nano is a small model of everyday things. It was trained for this app so that it works without a download. "
    "It is not a replacement for EmbeddingGemma 2: it knows common objects, spoken names and simple English sentences."
)


def about(studio: Studio) -> str:
    """The whole tab as HTML."""
    return (
        '<div class="about">'
        f'<section><h2>Models</h2><p class="plainly">{safe(PLAIN)}</p>{_models(studio)}{_by_hand(studio)}</section>'
        f"<section><h2>Devices</h2>{_devices(studio)}</section>"
        f"<section><h2>Storage</h2>{_storage(studio)}</section>"
        f"<section><h2>Versions</h2>{_versions()}</section></div>"
    )


def _models(studio: Studio) -> str:
    rows = [
        (
            f"<b>{safe(row.title)}</b><small>{safe(row.description)}</small>",
            safe(row.precision),
            _state(studio, row),
            safe(size(row.size)) if row.size else "",
            safe(", ".join(row.modalities)),
            safe(row.licence),
        )
        for row in studio.packages()
    ]
    return _table(("Model", "Precision", "State", "Size", "Reads", "Licence"), rows)


def _state(studio: Studio, row: PackageRow) -> str:
    if (row.model, row.precision) == (studio.setup.model, studio.setup.precision):
        return "<b>in use</b>"
    if row.here:
        return "here"
    if not row.source:
        return safe(row.problem)
    about_it = f"Download {row.title} {row.precision}"
    pull = button("download", "Download", "plain", about=about_it, model=row.model, precision=row.precision)
    return f"{safe(row.problem)} {pull}"


def _by_hand(studio: Studio) -> str:
    rows = [row for row in studio.packages() if row.source]
    if not rows:
        return ""
    lines = "".join(_line(row, studio.settings.models_dir / row.directory) for row in rows)
    return f"<details><summary>From the command line, or without a network</summary><ul>{lines}</ul></details>"


def _line(row: PackageRow, folder: Path) -> str:
    command = f"python app.py models pull {row.model} --precision {row.precision}"
    return (
        f"<li>{safe(row.title)} {safe(row.precision)}: <code>{safe(command)}</code>, or copy the files of "
        f"<code>{safe(row.source)}</code> into <code>{safe(folder)}</code></li>"
    )


def _devices(studio: Studio) -> str:
    rows = [(f"<b>{safe(row.name)}</b>", safe(row.full_name), safe(row.version)) for row in studio.devices]
    plans = [
        (safe(plan.tower), safe(plan.device), safe(plan.granted_device), safe(plan.precision), safe(plan.reason))
        for plan in getattr(studio.embedder, "plan", ())
    ]
    towers = _table(("Tower", "Asked for", "Runs on", "Computes in", "Why"), plans)
    return _table(("Device", "Name", "Plugin"), rows) + towers


def _storage(studio: Studio) -> str:
    data, models = studio.settings.data_dir, studio.settings.models_dir
    rows = [
        ("Library", safe(data), size(_bytes([data]))),
        ("Models", safe(models), size(_bytes([models]))),
    ]
    return _table(("What", "Where", "Size"), rows)


def _versions() -> str:
    rows = [("Python", platform.python_version()), ("System", platform.platform())]
    rows += [(name, _version(name)) for name in LIBRARIES]
    return _table(("What", "Version"), [(safe(name), safe(version)) for name, version in rows])


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _bytes(folders: Iterable[Path]) -> int:
    files = (path for folder in folders if folder.is_dir() for path in folder.rglob("*"))
    return sum(path.stat().st_size for path in files if path.is_file())


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{safe(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
