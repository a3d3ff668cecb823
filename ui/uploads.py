"""What browsers send, as files: not converted by Gradio, and under the name that each had.

`take_uploads` gives a component these functions. A subclass would be the usual way, but Gradio writes a stub file
beside the source of every subclass.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

from ui.inputs import refuse

LONGEST_NAME = 240  # bytes; file systems take 255, and a library may add to it
OLD = 24 * 3600.0  # seconds after which no server still waits for a file


@dataclass(frozen=True)
class Upload:
    """A file that a browser sent: where it lies now, and the name it had."""

    path: str
    name: str


def checked(path: object) -> str:
    """The path when it is a regular file in the folder of uploads; an error for the client otherwise."""
    try:
        file = Path(str(path)).resolve()
        if file.is_file() and file.is_relative_to(Path(get_upload_folder()).resolve()):
            return str(path)
    except (OSError, ValueError):  # a name that no file can have
        pass
    raise refuse("This file was not uploaded, or the server has deleted it since: send it again.")


def take_uploads(part: Any, convert: Callable[[Any], Any]) -> None:
    """Let a component take uploaded files only, and give them to events as `convert` makes them."""

    async def keep(path: Any) -> str:  # before Gradio notes it as a file to delete some day
        return checked(path)

    part.async_move_resource_to_block_cache = keep
    part.preprocess = convert


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
    """The files in a folder of their own, each under the name that it had, as far as a file system takes it.

    Gradio keeps one file for all uploads of one content and name, so it stays in place for others who sent the same.
    One that was sent twice comes once; of one that is gone the library says so, and the others are not held up.
    """
    files = []
    for number, upload in enumerate(dict.fromkeys(sent)):
        source, folder = Path(upload.path), staging / str(number)
        folder.mkdir(parents=True)
        name = re.sub(r"[/\\\x00]", "_", upload.name).strip()
        if name in ("", ".", "..") or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
            name = source.name
        files.append(_linked(source, folder / name))
    return files


def _linked(source: Path, target: Path) -> Path:
    try:
        os.link(source, target)
    except FileNotFoundError:
        pass  # the library says of the path that there is no such file
    except OSError:  # a file system without links
        shutil.copyfile(source, target)
    return target


def sweep(folders: Iterable[Path], older_than: float = OLD) -> None:
    """Delete what a killed server left: files older than that many seconds, then empty folders of that age."""
    limit = time.time() - older_than
    for folder in folders:
        for base, _, names in os.walk(folder, topdown=False):
            for path in (os.path.join(base, name) for name in names):
                _drop(path, os.unlink, limit)
            if Path(base) != folder:
                _drop(base, os.rmdir, limit)


def _drop(path: str, delete: Callable[[str], None], limit: float) -> None:
    try:
        if os.lstat(path).st_ctime < limit:  # a link to an old file is new
            delete(path)
    except OSError:
        pass  # not empty, or gone already
