"""Files of the data folder: copies of originals by content, thumbnails, and writing that is whole or not at all."""

from __future__ import annotations

import io
import os
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from PIL import Image

THUMBNAIL_SIDE = 320
_QUALITY = 80
_PART = ".part-"
_ABANDONED_SECONDS = 3600.0


def write_whole(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file from its parts: after a crash at any moment it is the old one or the new one.

    It is on the disk when this returns.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=_PART, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            for part in parts:
                stream.write(part)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def sweep(folder: Path) -> None:
    """Delete what a killed process left half written in a folder; younger parts may still be written by another one."""
    for part in folder.glob(f"{_PART}*"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED_SECONDS:
                part.unlink()


class DataFiles:
    """Copies and thumbnails below a data folder, each under the hash of the original's content."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.lock = threading.Lock()  # a copy is not deleted between its writing and the item's transaction
        names = (
            "files",
            "thumbs",
            "stores",
            "models",
            "compiled",
            "uploads",
            "incoming",
            "catalogue.sqlite",
            "catalogue.sqlite-wal",
            "catalogue.sqlite-shm",
        )
        self.private = tuple(data_dir / name for name in names)

    def copy_path(self, sha256: str, original: bytes) -> bytes:
        """Where a copy of an original lies below the data folder, in bytes: under its content, with its own name."""
        return os.path.join(b"files", sha256[:2].encode(), sha256.encode(), os.path.basename(original))

    def keep(self, copy: bytes, data: bytes) -> None:
        """Write a copy unless it is there. On the disk when this returns."""
        path = self._path(copy)
        if not path.is_file() or path.stat().st_size != len(data):
            write_whole(path, data)
            for folder in path.parents[1:4]:  # new folders have to be durable too, up to the data folder
                _sync_folder(folder)

    def thumbnail(self, sha256: str) -> Path:
        """Where the thumbnail of a picture lies, whether it is there or not."""
        return self.data_dir / "thumbs" / sha256[:2] / f"{sha256}.webp"

    def make_thumbnail(self, sha256: str, picture: Image.Image) -> Path:
        """Write a thumbnail of at most 320 px a side where there is none; its path."""
        path = self.thumbnail(sha256)
        if not path.is_file():
            small = picture.copy() if max(picture.size) <= THUMBNAIL_SIDE else _reduced(picture)
            buffer = io.BytesIO()
            small.save(buffer, "WEBP", quality=_QUALITY, method=2)
            write_whole(path, buffer.getvalue())
        return path

    def forget(self, copy: bytes | None, sha256: str | None) -> None:
        """Delete a copy (path below the data folder) and the thumbnail of a content."""
        if copy is not None:
            path = self._path(copy)
            path.unlink(missing_ok=True)
            with suppress(OSError):  # another name of the same content lies there still
                path.parent.rmdir()
        if sha256 is not None:
            self.thumbnail(sha256).unlink(missing_ok=True)

    def _path(self, copy: bytes) -> Path:
        return Path(os.fsdecode(os.path.join(os.fsencode(self.data_dir), copy)))


def _reduced(picture: Image.Image) -> Image.Image:
    scale = THUMBNAIL_SIDE / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def _sync_folder(folder: Path) -> None:
    """Make a new name durable. Windows cannot open folders and needs no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
