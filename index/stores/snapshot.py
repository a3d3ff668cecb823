"""A store in one file, written whole or not at all, and read only when it is exactly what was asked for."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

from index.files import write_whole

_MAGIC = b"TRIPTYCH STORE 1\n"


@dataclass(frozen=True)
class Stamp:
    """What a snapshot is of: engine, space and revision of the catalogue, and how many vectors it holds."""

    engine: str
    space: str
    revision: str
    count: int


def save(path: Path, stamp: Stamp, data: bytes | memoryview) -> None:
    """Write stamp, checksum and data; an older file stays whole until the new one is complete."""
    head = json.dumps({**asdict(stamp), "size": len(data), "crc": zlib.crc32(data)}).encode()
    write_whole(path, _MAGIC, head, b"\n", data)


def load(path: Path, stamp: Stamp) -> memoryview:
    """The data of the snapshot with this stamp. Raises ValueError when it is another or damaged, OSError when none."""
    content = path.read_bytes()
    if not content.startswith(_MAGIC):
        raise ValueError("it is no snapshot of a store")
    line_end = content.find(b"\n", len(_MAGIC))
    found = json.loads(content[len(_MAGIC) : line_end])
    data = memoryview(content)[line_end + 1 :]
    if not isinstance(found, dict):
        raise ValueError("its head is damaged")
    for name, value in asdict(stamp).items():
        if found.get(name) != value:
            raise ValueError(f"its {name} is {found.get(name)!r}, not {value!r}")
    if len(data) != found.get("size") or zlib.crc32(data) != found.get("crc"):
        raise ValueError("its content is damaged")
    return data
