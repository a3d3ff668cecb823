"""Odd and damaged files in one batch: each is indexed rightly or listed with a reason, and none stops the others."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedding import load_embedder
from embedding.errors import MediaError
from embedding.media import decode_image
from embedding.types import Media
from index import Kind, Library, Progress, Query, shown
from tests.odd_files import LINKS, NAMES, SILENT, TEXTS, Odd, write_all
from tests.odd_pictures import PICTURES
from tests.odd_sounds import SOUNDS

ODD_FILES = (*TEXTS, *NAMES, *PICTURES, *SOUNDS, *LINKS)
INDEXED = tuple(odd for odd in ODD_FILES if odd.kind)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("odd")
    write_all(folder, (*ODD_FILES, *SILENT))
    yield folder
    for forbidden in folder.glob("forbidden"):
        forbidden.chmod(0o700)  # so that pytest can clear it away


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with load_embedder("nano") as embedder, Library(tmp_path_factory.mktemp("data"), embedder) as library:
        yield library


@pytest.fixture(scope="module")
def events(folder: Path, library: Library) -> dict[str, Progress]:
    """What became of each file, by its name: all of them added in one call."""
    found = list(library.add([folder]))
    by_name = {os.path.relpath(event.path, folder): event for event in found}
    assert len(by_name) == len(found)
    assert [event.done for event in found] == list(range(1, len(found) + 1))
    return by_name


def test_table_is_large_and_has_no_twins() -> None:
    names = [odd.name for odd in ODD_FILES]
    assert len(set(names)) == len(names) >= 80
    assert all(bool(odd.kind) != bool(odd.reason) for odd in ODD_FILES)


def test_every_file_is_answered_for_and_nothing_else(events: dict[str, Progress]) -> None:
    assert sorted(events) == sorted(odd.name for odd in ODD_FILES)


@pytest.mark.parametrize("odd", ODD_FILES, ids=lambda odd: ascii(odd.name)[:40])
def test_outcome(odd: Odd, events: dict[str, Progress], library: Library) -> None:
    event = events[odd.name]
    if odd.reason:
        assert (event.outcome, event.item) == ("skipped", None)
        assert odd.reason in event.reason
        assert not event.reason.startswith("cannot be added"), "that is how unexpected faults are reported"
        return
    assert (event.outcome, event.reason) == ("added", "")
    assert event.item is not None
    assert (event.item.kind, event.item.name) == (odd.kind, shown(Path(odd.name).name))
    assert library.item(event.item.id) == event.item
    if odd.size is not None:
        assert (event.item.width, event.item.height) == odd.size
    if odd.seconds is not None:
        assert event.item.seconds == pytest.approx(odd.seconds, abs=0.1)  # lossy formats pad
    if odd.segments is not None:
        assert event.item.segments == odd.segments
    if odd.text is not None:
        passage = library.segments(event.item.id)[0].text
        assert passage is not None
        assert passage[: len(odd.text)] == odd.text


@pytest.mark.parametrize("odd", [odd for odd in PICTURES if odd.corner or odd.far_corner], ids=lambda odd: odd.name)
def test_picture_is_decoded_with_its_colours(odd: Odd, folder: Path) -> None:
    picture = decode_image(folder / odd.name)
    assert picture.mode == "RGB"
    for colour, place in ((odd.corner, (0, 0)), (odd.far_corner, (picture.width - 1, picture.height - 1))):
        if colour is not None:
            assert picture.getpixel(place) == pytest.approx(colour, abs=6)


def test_long_texts_are_split_and_nothing_is_cut_away(events: dict[str, Progress], library: Library) -> None:
    for name in ("one-line.txt", "one-word.txt"):
        item = events[name].item
        assert item is not None and item.segments > 1
        size = sum(len(segment.text or "") for segment in library.segments(item.id))
        assert size >= len(Path(os.fsdecode(item.path)).read_text().strip())


def test_batch_left_a_library_that_answers(events: dict[str, Progress], library: Library) -> None:
    assert sum(library.count().values()) == len(INDEXED)
    for kind in Kind:
        hits = library.search(Query(Media(text="a dog"), kinds=frozenset({kind}), k=5)).hits
        assert len(hits) == 5
        assert {hit.item.kind for hit in hits} == {kind}


def test_second_time_changes_nothing(events: dict[str, Progress], library: Library, folder: Path) -> None:
    again = {os.path.relpath(event.path, folder): event for event in library.add([folder])}
    assert {name for name, event in again.items() if event.outcome == "added"} == set()
    assert {name for name, event in again.items() if event.outcome == "unchanged"} == {odd.name for odd in INDEXED}


def test_what_is_shown_can_be_sent_as_json(events: dict[str, Progress]) -> None:
    for event in events.values():
        line = json.dumps({"path": shown(event.path), "reason": event.reason})
        assert json.loads(line.encode("utf-8"))["reason"] == event.reason


def test_decoder_names_the_fault_of_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="not a file"):
        decode_image(tmp_path / "nothing.jpg")
