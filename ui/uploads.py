"""What browsers send, as files: not converted by Gradio, and under the name that each had.

A component gets these functions as its `preprocess`. A subclass would be the usual way, but Gradio writes a stub file
beside the source of every subclass. Before a call, Gradio has checked that each path lies in its folder of uploads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

from embedding.errors import MediaError

LONGEST_NAME = 240  # bytes; file systems take 255, and a library may add to it


@dataclass(frozen=True)
class Upload:
    """A file that a browser sent: where it lies now, and the name it had."""

    path: str
    name: str


def checked(path: str) -> str:
    """The path when it lies in the folder of uploads; MediaError otherwise, should Gradio's own check ever be off."""
    if not Path(path).resolve().is_relative_to(Path(get_upload_folder()).resolve()):
        raise MediaError("is not an upload")
    return path


def uploaded_path(payload: Any) -> str | None:
    """The file of a picture as it was sent: our decoder reads it (EXIF, damage, size), Gradio does not touch it."""
    return checked(payload.path) if payload else None


def uploads(payload: Any) -> list[Upload]:
    """All files of a drop."""
    files = getattr(payload, "root", payload) or []
    return [
        Upload(checked(file.path), file.orig_name or "") for file in (files if isinstance(files, list) else [files])
    ]


def staged(sent: Sequence[Upload], staging: Path) -> list[Path]:
    """The files moved out of Gradio's folder, each under the name that it had, as far as a file system takes it."""
    files = []
    for number, upload in enumerate(sent):
        source, folder = Path(upload.path), staging / str(number)
        folder.mkdir(parents=True)
        name = re.sub(r"[/\\\x00]", "_", upload.name).strip()
        if name in ("", ".", "..") or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
            name = source.name
        files.append(source.rename(folder / name))
    return files
