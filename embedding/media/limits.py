"""Limits that are read before a file is decoded, and the one way in which decoders open what they are given."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from embedding.errors import MediaError

Source: TypeAlias = Path | str | bytes


@dataclass(frozen=True)
class Limits:
    """Largest picture in pixels, longest sound in seconds, largest text and largest file of any kind in bytes."""

    max_pixels: int = 64_000_000
    max_seconds: float = 4 * 3600.0
    max_text_bytes: int = 32_000_000
    max_bytes: int = 2_000_000_000


def open_source(source: Source, limits: Limits) -> BinaryIO:
    """A binary stream over a path or over bytes; MediaError when it is no file, empty, unreadable or too large."""
    if isinstance(source, bytes):
        size, stream = len(source), io.BytesIO(source)
    else:
        try:
            path = Path(source)
            if not path.is_file():
                raise MediaError("is not a file")
            size = path.stat().st_size
        except OSError as error:
            raise MediaError(f"cannot be read: {error.strerror or error}") from error
        stream = None
    if size == 0:
        raise MediaError("is empty (0 bytes)")
    if size > limits.max_bytes:
        raise MediaError(f"has {size / 1e6:,.0f} MB, more than the limit of {limits.max_bytes / 1e6:,.0f} MB")
    if stream is not None:
        return stream
    try:
        return path.open("rb")
    except OSError as error:
        raise MediaError(f"cannot be read: {error.strerror or error}") from error
