"""The sample library is exactly what its SOURCES.md says: complete, unchanged, openly licensed, small."""

import hashlib
import re
from collections import Counter
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parent.parent / "assets" / "library"
ROW = re.compile(
    r"^\| `(?P<file>[^`]+)` \| (?P<kind>\w+) \| (?P<origin>.+) \| (?P<licence>.+) \| `(?P<sha256>\w{64})` \|$"
)
LICENCES = {"CC0-1.0", "CC-BY-2.0", "MIT", "public domain"}
KIND_BY_FOLDER = {"documents": "document", "pictures": "picture", "sounds": "sound"}
ROWS = [
    match.groupdict()
    for line in (LIBRARY / "SOURCES.md").read_text(encoding="utf-8").splitlines()
    if (match := ROW.match(line))
]


def test_every_file_is_listed_once_and_every_listed_file_exists() -> None:
    listed = [row["file"] for row in ROWS]
    present = {path.relative_to(LIBRARY).as_posix() for path in LIBRARY.rglob("*") if path.is_file()}
    assert sorted(listed) == sorted(present - {"SOURCES.md"})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_row_states_what_the_file_is(row: dict[str, str]) -> None:
    assert hashlib.sha256((LIBRARY / row["file"]).read_bytes()).hexdigest() == row["sha256"]
    assert row["kind"] == KIND_BY_FOLDER[row["file"].split("/")[0]]
    assert row["licence"] in LICENCES


def test_library_is_small_and_holds_all_kinds() -> None:
    assert sum(path.stat().st_size for path in LIBRARY.rglob("*")) < 6_000_000
    assert min(Counter(row["kind"] for row in ROWS).values()) >= 18
    assert len({row["sha256"] for row in ROWS}) == len(ROWS)


def test_clips_and_pictures_are_within_bounds() -> None:
    import soundfile
    from PIL import Image

    for path in (LIBRARY / "pictures").iterdir():
        with Image.open(path) as picture:
            assert max(picture.size) <= 1024, path.name
    for path in (LIBRARY / "sounds").iterdir():
        info = soundfile.info(path)
        assert 2.0 <= info.duration <= 6.0, path.name
