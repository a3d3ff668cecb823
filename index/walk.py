"""From what a person names to files: folders are walked, what is hidden or the system's own is left out silently."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = frozenset(
    {b"thumbs.db", b"ehthumbs.db", b"desktop.ini", b"icon\r", b"__macosx", b"lost+found"}
    | {b"$recycle.bin", b"system volume information"}
)


@dataclass(frozen=True)
class Found:
    """A file to add, or, with a reason, a path that cannot be. `path` is absolute, in bytes of the file system."""

    path: bytes
    reason: str = ""


def walk(paths: Iterable[Path | str], private: Iterable[Path] = ()) -> list[Found]:
    """All files of the paths, each once, folders by name. Links to folders are followed; no folder is entered twice.

    `private` files and folders are left out: what a library keeps for itself is no input.
    """
    entered = {key for path in private if (key := _identity(os.fsencode(path))) is not None}
    found: dict[bytes, Found] = {}
    for named in paths:
        path = os.path.abspath(os.fsencode(named))
        seen = _identity(path) in entered
        inside = list(_named(path, entered))
        found.update((entry.path, entry) for entry in inside if entry.path not in found)
        if not inside and not seen and not any(entry.startswith(os.path.join(path, b"")) for entry in found):
            found[path] = Found(path, "is a folder without files to add")
    return list(found.values())


def _named(path: bytes, entered: set[tuple[int, int]]) -> Iterator[Found]:
    """A path that was named; it is taken even when it is hidden."""
    if b"\0" in path:
        yield Found(path, "is no path (it holds a NUL)")
        return
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        yield Found(path, _reason(path, error))
        return
    if stat.S_ISDIR(mode):
        yield from _folder(path, entered)
    else:
        yield _file(path, mode)


def _folder(path: bytes, entered: set[tuple[int, int]]) -> Iterator[Found]:
    """Everything below a folder in the order of names. A stack instead of recursion: folders may be very deep."""
    stack = [path]
    while stack:
        path = stack.pop()
        try:
            status = os.stat(path)
            identity = status.st_dev, status.st_ino
            if identity in entered:
                continue
            if not stat.S_ISDIR(status.st_mode):
                yield _file(path, status.st_mode)
                continue
            entered.add(identity)
            with os.scandir(path) as entries:
                names = sorted((entry.name for entry in entries), reverse=True)
        except OSError as error:
            yield Found(path, _reason(path, error))
            continue
        stack += [os.path.join(path, name) for name in names if not _is_hidden(name)]


def _file(path: bytes, mode: int) -> Found:
    return Found(path) if stat.S_ISREG(mode) else Found(path, "is neither a file nor a folder")


def _is_hidden(name: bytes) -> bool:
    return name.startswith((b".", b"~$")) or name.lower() in _SYSTEM


def _identity(path: bytes) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _reason(path: bytes, error: OSError) -> str:
    if os.path.islink(path) and isinstance(error, FileNotFoundError):
        return "is a link to nothing"
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    return f"cannot be read: {(error.strerror or str(error)).lower()}"
