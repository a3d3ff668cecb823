"""What becomes of files: added, unchanged, skipped with a reason, replaced, copied, taken from the cache."""

import json
import os
import threading
import tracemalloc
from dataclasses import asdict

import numpy as np
import pytest
from PIL import Image

from embedding.errors import LibraryError
from embedding.media import Limits
from embedding.types import Media, Modality
from index import Kind, Library, Query, shown
from index.ingest import read
from tests.index.fakes import FakeEmbedder, picture, sound, text


def found(library, words, **options):
    return [hit.item.name for hit in library.search(Query(Media(text=words), **options)).hits]


def outcomes(events):
    return {os.path.basename(event.path): event.reason or event.outcome for event in events}


def test_every_kind_is_added_with_what_is_known_of_it(library, files):
    events = list(library.add([files]))
    assert [(event.done, event.total, event.outcome) for event in events] == [(n, 6, "added") for n in range(1, 7)]
    by_name = {event.item.name: event.item for event in events}
    assert list(by_name) == ["bird.wav", "cherry.png", "drum.wav", "fire.md", "grass.txt", "sky.png"]
    cherry, bird, fire = by_name["cherry.png"], by_name["bird.wav"], by_name["fire.md"]
    assert (cherry.kind, cherry.width, cherry.height, cherry.seconds) == (Kind.IMAGE, 64, 48, None)
    assert (bird.kind, bird.seconds, bird.width) == (Kind.AUDIO, 1.0, None)
    assert (fire.kind, fire.segments, fire.size) == (Kind.DOCUMENT, 1, 25)
    assert cherry.path == str(files / "cherry.png")
    assert library.count() == {Kind.DOCUMENT: 2, Kind.IMAGE: 2, Kind.AUDIO: 2}
    assert {"decode", "vision", "thumbnail", "store"} <= set(events[1].timings.ms)


def test_the_same_again_is_unchanged_and_costs_nothing(library, files, embedder):
    first = library.add_all([files])
    calls = embedder.calls
    again = library.add_all([files])
    assert again.added == again.skipped == []
    assert again.unchanged == first.added
    assert embedder.calls == calls


def test_changed_content_takes_the_place_of_the_old(library, tmp_path):
    path = text(tmp_path / "note.txt", "red")
    (old,) = library.add_all([path]).added
    text(path, "blue")
    (new,) = library.add_all([path]).added
    assert new.id > old.id
    assert [item.id for item in library.items()] == [new.id]
    assert library.search(Query(Media(text="blue"))).hits[0].segment.text == "blue"
    assert library.restore([old.id]) == []
    with pytest.raises(LibraryError, match=f"no item {old.id}"):
        library.item(old.id)


def test_a_removed_a_moved_and_a_copied_file_cost_no_inference(library, files, embedder):
    library.add_all([files])
    calls = embedder.calls
    library.remove([item.id for item in library.items()])
    assert len(library.add_all([files]).added) == 6
    moved = files.parent / "elsewhere"
    files.rename(moved)
    assert len(library.add_all([moved]).added) == 6
    assert len(library.add_all([moved], copy=True).added) == 6
    assert embedder.calls == calls
    assert library.count()[Kind.IMAGE] == 6  # at the old path, at the new one, and the copy
    assert found(library, "red", kinds=frozenset({Kind.IMAGE}), k=3) == ["cherry.png"] * 3


def test_passages_that_did_not_change_come_from_the_cache(library, tmp_path, embedder):
    paragraphs = [" ".join([f"word{n}"] * 199) + f" end{n}." for n in range(12)]
    path = text(tmp_path / "long.txt", "\n\n".join(paragraphs))
    (item,) = library.add_all([path]).added
    calls = embedder.calls
    assert item.segments == calls >= 6
    text(path, "\n\n".join([*paragraphs[:-1], "green " * 190 + "end."]))
    library.add_all([path])
    assert 1 <= embedder.calls - calls <= 2


def test_one_bad_file_fails_alone_with_its_reason(library, tmp_path, embedder):
    folder = tmp_path / "mixed"
    picture(folder / "a good.png", "red")
    (folder / "b empty.png").parent.mkdir(exist_ok=True)
    (folder / "b empty.png").write_bytes(b"")
    (folder / "c cut.png").write_bytes((folder / "a good.png").read_bytes()[:60])
    (folder / "d binary.txt").write_bytes(b"a\0b")
    text(folder / "e blank.txt", " \n\t\n")
    (folder / "f other.xyz").write_bytes(b"what")
    picture(folder / "g nan.png", "red", (10, 10))
    (folder / "h cut.wav").write_bytes(sound(folder / "i.wav", (500, 1)).read_bytes()[:30])
    embedder.broken.add("g nan.png")
    report = library.add_all([folder])
    assert [item.name for item in report.added] == ["a good.png", "i.wav"]
    reasons = {os.path.basename(skipped.path): skipped.reason for skipped in report.skipped}
    assert reasons["b empty.png"] == "is empty (0 bytes)"
    assert "picture" in reasons["c cut.png"]
    assert "NUL" in reasons["d binary.txt"]
    assert "no text" in reasons["e blank.txt"]
    assert reasons["f other.xyz"].startswith("is of a kind that is not indexed")
    assert reasons["g nan.png"] == "makes the model give NaN"
    assert "sound" in reasons["h cut.wav"]
    assert len(report.added) + len(report.skipped) == 9


def test_a_fault_nobody_thought_of_skips_one_file(library, files, embedder, monkeypatch, caplog):
    embed = embedder.embed

    def failing(items, role):
        if items[0].name == "drum.wav":
            raise ZeroDivisionError("division by zero")
        return embed(items, role)

    monkeypatch.setattr(embedder, "embed", failing)
    report = library.add_all([files])
    assert len(report.added) == 5
    assert [skipped.reason for skipped in report.skipped] == ["cannot be added (ZeroDivisionError: division by zero)"]
    assert "drum.wav" in caplog.text


@pytest.mark.parametrize("vector", [np.nan, np.inf, 0.0, 2.0])
def test_what_is_no_unit_vector_never_reaches_the_library(library, tmp_path, embedder, monkeypatch, vector):
    monkeypatch.setattr(embedder, "_vector", lambda item: np.full(embedder.dim, vector, np.float32))
    report = library.add_all([text(tmp_path / "a.txt", "red")])
    assert [skipped.reason for skipped in report.skipped] == ["The model gave a vector that is not of length 1."]
    assert sum(library.count().values()) == 0


def test_limits_are_kept(tmp_path, embedder):
    limits = Limits(max_pixels=1000, max_seconds=2.0, max_bytes=40_000)
    picture(tmp_path / "f" / "big.png", "red", (40, 30))
    sound(tmp_path / "f" / "long.wav", (100, 3), rate=4000)
    text(tmp_path / "f" / "huge.txt", "word " * 10_000)
    with Library(tmp_path / "data", embedder, limits) as library:
        report = library.add_all([tmp_path / "f"])
    reasons = {os.path.basename(skipped.path): skipped.reason for skipped in report.skipped}
    assert "limit" in reasons["big.png"]
    assert "limit" in reasons["long.wav"]
    assert reasons["huge.txt"] == "has 0 MB, more than the limit of 0 MB"
    assert embedder.calls == 0


def test_reading_a_small_file_takes_little_memory(tmp_path):
    path = os.fsencode(text(tmp_path / "a.txt", "red"))
    read(path, Limits())
    tracemalloc.start()
    assert read(path, Limits()).data == b"red"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_a_file_that_grows_while_it_is_read_is_left_for_later(library, tmp_path, monkeypatch):
    path, fstat = text(tmp_path / "a.txt", "red"), os.fstat

    def growing(handle):
        status = fstat(handle)
        with path.open("a") as stream:
            stream.write(" and more")
        return status

    monkeypatch.setattr("index.ingest.os.fstat", growing)
    report = library.add_all(path)
    assert [skipped.reason for skipped in report.skipped] == [
        "is being written while it is read; add it when that is done"
    ]


def test_a_kind_that_the_model_does_not_read_is_skipped(tmp_path, files):
    with Library(tmp_path / "data", FakeEmbedder("deaf", {Modality.TEXT, Modality.IMAGE})) as library:
        report = library.add_all([files])
    assert len(report.added) == 4
    assert {skipped.reason for skipped in report.skipped} == {
        "needs a model that reads audio; deaf reads image, text. Choose another model"
    }


def test_copies_stay_when_the_original_goes(library, files):
    report = library.add_all([files], copy=True)
    assert len(report.added) == 6
    for path in files.iterdir():
        path.unlink()
    for item in library.items():
        place = library.data_dir / "files" / item.sha256[:2] / item.sha256 / item.name
        assert item.path == str(place)
        assert place.stat().st_size == item.size


def test_the_same_upload_is_unchanged_and_a_lost_copy_is_written_again(library, tmp_path):
    (item,) = library.add_all([picture(tmp_path / "upload1" / "a.png", "red")], copy=True).added
    os.unlink(item.path)
    report = library.add_all([picture(tmp_path / "upload2" / "a.png", "red")], copy=True)
    assert report.unchanged == [item]
    assert os.path.getsize(item.path) == item.size


def test_a_library_can_be_moved_with_its_copies(tmp_path, embedder, files):
    with Library(tmp_path / "data", embedder) as library:
        library.add_all([files], copy=True)
    (tmp_path / "data").rename(tmp_path / "new place")
    with Library(tmp_path / "new place", embedder) as library:
        assert all(os.path.isfile(item.path) for item in library.items())
        assert found(library, "red", k=1) == ["cherry.png"]


ODD = [
    b"new\nline.txt",
    "\U0001f415 d\u00f6g.txt".encode(),
    b"latin \xe9\xff.txt",
    b"'quote\" <b>%00.txt",
    b"a" * 251 + b".txt",
]


@pytest.mark.parametrize("copy", [False, True])
def test_odd_file_names_are_kept_found_and_sent(library, tmp_path, copy):
    folder = tmp_path / "odd"
    folder.mkdir()
    for number, name in enumerate(ODD):
        with open(os.path.join(os.fsencode(folder), name), "wb") as stream:
            stream.write(b"red " * (number + 1))
    events = list(library.add([folder], copy=copy))
    assert [event.outcome for event in events] == ["added"] * len(ODD), outcomes(events)
    assert {os.path.basename(os.fsencode(item.path)) for item in library.items()} == set(ODD)
    assert all(os.path.isfile(item.path) for item in library.items())
    for event in events:
        item = json.loads(json.dumps(asdict(event.item)))
        assert item["path"] == event.item.path
        assert event.item.name.encode("utf-8")
        assert shown(event.item.path).encode("utf-8")
    assert [event.outcome for event in library.add([folder], copy=copy)] == ["unchanged"] * len(ODD)
    assert len(found(library, "red")) == len(ODD)


def test_text_with_lone_surrogates_is_kept_as_text(library, tmp_path):
    path = tmp_path / "wide.txt"
    path.write_bytes(b"\xff\xfe" + "red".encode("utf-16-le"))
    (item,) = library.add_all([path]).added
    assert [segment.text for segment in library.segments(item.id)] == ["red"]


def test_a_long_text_has_passages_with_lines(library, tmp_path):
    lines = [f"Line {number} tells of nothing." for number in range(1, 301)]
    lines[249] = "Here is a blue blue blue blue blue blue blue blue word."
    (item,) = library.add_all([text(tmp_path / "book.txt", "\n".join(lines))]).added
    segments = library.segments(item.id)
    assert item.segments == len(segments) > 3
    assert [segment.ordinal for segment in segments] == list(range(len(segments)))
    hit = library.search(Query(Media(text="blue"))).hits[0]
    assert hit.segment.start <= 250 <= hit.segment.end
    assert hit.segment.label(Kind.DOCUMENT) == f"lines {int(hit.segment.start)}-{int(hit.segment.end)}"
    assert "blue" in hit.segment.text


def test_a_long_sound_has_even_windows_and_the_best_one_answers(library, tmp_path):
    (item,) = library.add_all([sound(tmp_path / "two.wav", (100, 15.5), (3000, 15.5))]).added
    assert [(segment.start, segment.end) for segment in library.segments(item.id)] == [(0.0, 15.5), (15.5, 31.0)]
    (hit,) = library.search(Query(Media(text="high"))).hits
    assert (hit.segment.ordinal, hit.segment.label(Kind.AUDIO)) == (1, "0:15-0:31")
    (hit,) = library.search(Query(Media(text="low"))).hits
    assert hit.segment.ordinal == 0


def test_cancelling_keeps_what_was_reported(library, files):
    stop = threading.Event()
    seen = []
    for event in library.add([files], cancelled=stop.is_set):
        seen.append(event.item.name)
        if len(seen) == 2:
            stop.set()
    assert seen == ["bird.wav", "cherry.png"]
    assert sum(library.count().values()) == 2


def test_cancelling_inside_a_long_file_leaves_nothing_of_it(library, tmp_path, embedder):
    path = text(tmp_path / "long.txt", "\n\n".join(f"Part {n}. " + "word " * 300 for n in range(100)))
    events = list(library.add([path], cancelled=lambda: embedder.calls >= 16))
    assert events == []
    assert embedder.calls == 16
    assert sum(library.count().values()) == 0


def test_without_a_model_a_library_is_listed_and_cleared(tmp_path, files, embedder):
    with Library(tmp_path / "data", embedder) as library:
        library.add_all([files])
    with Library(tmp_path / "data") as library:
        assert len(library.items()) == 6
        assert library.remove([1]) == [1]
        for use in (lambda: list(library.add([files])), lambda: library.search(Query(Media(text="red")))):
            with pytest.raises(LibraryError, match="No model is loaded"):
                use()
    with Library(tmp_path / "data", embedder) as library:
        assert len(found(library, "red")) == 5


def test_thumbnails_are_small_and_made_again_when_lost(library, tmp_path):
    (item,) = library.add_all([picture(tmp_path / "wide.png", "blue", (3000, 100))]).added
    path = library.thumbnail(item.id)
    with Image.open(path) as image:
        assert (image.format, image.size) == ("WEBP", (320, 11))
        assert np.abs(np.asarray(image.convert("RGB"), int).mean(axis=(0, 1)) - [0, 0, 255]).max() < 6
    path.unlink()
    assert library.thumbnail(item.id) == path
    assert path.is_file()


def test_thumbnails_of_extreme_and_lost_pictures(library, tmp_path):
    thin = picture(tmp_path / "thin.png", "red", (5000, 1))
    (item,) = library.add_all([thin]).added
    with Image.open(library.thumbnail(item.id)) as image:
        assert image.size == (320, 1)
    library.thumbnail(item.id).unlink()
    picture(thin, "green")
    assert library.thumbnail(item.id) is None, "the file is another one now"
    thin.unlink()
    assert library.thumbnail(item.id) is None
    (note,) = library.add_all([text(tmp_path / "a.txt", "red")]).added
    assert library.thumbnail(note.id) is None


def test_what_is_left_out_or_odd_is_noted(library, tmp_path):
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "green", "blue")]
    for name in ("moving.gif", "pages.tif", "moving.webp", "moving.png"):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
    picture(tmp_path / "still.gif", "red")
    sound(tmp_path / "silent.wav", (0, 1))
    sound(tmp_path / "tone.wav", (500, 1))
    notes = {item.name: item.note for item in library.add_all([tmp_path]).added}
    assert notes == {
        **dict.fromkeys(("moving.gif", "pages.tif", "moving.webp", "moving.png"), "the first of 3 frames"),
        **dict.fromkeys(("still.gif", "tone.wav"), ""),
        "silent.wav": "silent: no sample is louder than -80 dB",
    }
    assert found(library, "red", kinds=frozenset({Kind.IMAGE}), k=1)[0] in notes
