"""Many threads, several processes, and kill -9: nothing reported is lost or half there, nobody waits for a model."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest

from embedding.errors import InferenceError, LibraryError
from embedding.types import Media
from index import Library, Query
from tests.index.fakes import FakeEmbedder, picture, text

ROOT = Path(__file__).parents[2]


def start_adding(data, folder):
    command = [sys.executable, "-m", "tests.index.adder", str(data), str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def names(library, words="red", k=1000):
    return [hit.item.name for hit in library.search(Query(Media(text=words), k=k)).hits]


def agrees(library):
    """The store holds just the segments of the database, each with its own vector."""
    mirror = library._engine.mirror
    with closing(sqlite3.connect(library.data_dir / "catalogue.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        live = connection.execute(
            "SELECT s.id, v.vector FROM segments s JOIN items i ON i.id = s.item_id LEFT JOIN vectors v"
            " ON v.content = s.content AND v.space_id = ? WHERE i.deleted_at IS NULL ORDER BY s.id",
            (mirror.space_id,),
        ).fetchall()
    assert mirror.ids().tolist() == [row[0] for row in live]
    assert all(vector is not None for _, vector in live)
    for item in library.items(limit=None):
        (segment, *_) = library.segments(item.id)
        best = library.search(Query(like=item.id, k=1)).hits[0]
        assert (best.item.id, best.score) == (item.id, 1.0)
        assert segment.item_id == item.id
    return True


def killed(data, folder, chance, opening):
    """Start adding and kill -9, while opening or some moment into a file, after others. The names it reported."""
    child = start_adding(data, folder)
    lines = []
    if opening:
        time.sleep(chance.random() * 0.8)
    else:
        wanted = chance.randint(1, 40)
        while sum(line.startswith("added") for line in lines) < wanted:
            lines.append(child.stdout.readline())
            assert lines[-1], child.stderr.read()
        time.sleep(chance.random() * 0.012)
    child.send_signal(signal.SIGKILL)
    lines += child.stdout.read().splitlines(keepends=True)  # what was still in the pipe was reported too
    child.communicate()
    return {line.split()[1] for line in lines if line.startswith("added") and line.endswith("\n")}


def test_kill_9_at_any_moment_loses_nothing_reported(tmp_path):
    folder, data = tmp_path / "files", tmp_path / "data"
    for number in range(400):
        if number % 3:
            text(folder / f"{number:03d}.txt", f"red number {number} " + "word " * number)
        else:
            picture(folder / f"{number:03d}.png", (255, number % 256, number // 256))
    chance, reported = random.Random(4), set()
    for round_number in range(12):
        reported |= killed(data, folder, chance, opening=round_number % 4 == 3)
        with Library(data, FakeEmbedder(), store=("faiss", "exact")[round_number % 2]) as library:
            items = library.items(limit=None)
            there = {item.name for item in items}
            assert reported <= there
            assert len(there) == len(items) <= len(reported) + round_number + 1, "at most one unreported file a kill"
            assert set(names(library)) == there
            assert all(Path(item.path).stat().st_size == item.size for item in items)
    with Library(data, FakeEmbedder()) as library:
        assert len(reported) > 100
        assert agrees(library)
        report = library.add_all([folder], copy=True)
        assert {item.name for item in report.unchanged} == there
        assert sum(library.count().values()) == 400


def test_two_processes_and_this_one_share_a_library(tmp_path):
    one, other, mine = tmp_path / "one", tmp_path / "other", tmp_path / "mine"
    for number in range(60):
        text(one / f"one{number}.txt", f"red one {'a' * number}")
        text(other / f"other{number}.txt", f"red other {'b' * number}")
        text(mine / f"mine{number}.txt", f"red mine {'c' * number}")
    with Library(tmp_path / "data", FakeEmbedder()) as library:
        children = [start_adding(tmp_path / "data", folder) for folder in (one, other, one)]
        seen = []
        for event in library.add([mine]):
            assert event.outcome == "added"
            seen.append(len(names(library)))
            assert event.item.name in names(library)
        for child in children:
            output, errors = child.communicate(timeout=60)
            assert child.returncode == 0, errors
            assert output.count("\n") == 61
        assert len(names(library)) == 180, "two processes added the same files: each is there once"
        assert seen == sorted(seen)
        assert agrees(library)


def test_a_library_sees_what_another_one_did(tmp_path, files):
    with Library(tmp_path / "data", FakeEmbedder()) as page, Library(tmp_path / "data", FakeEmbedder()) as line:
        assert names(page) == []
        line.add_all([files])
        assert sorted(names(page)) == sorted(path.name for path in files.iterdir())
        gone = page.items()[0]
        assert line.remove([gone.id]) == [gone.id]
        assert gone.name not in names(page)
        page.restore([gone.id])
        assert gone.name in names(line)
        line.remove([gone.id])
        line.purge()
        assert gone.name not in names(page)
        page.add_all([files])
        assert gone.name in names(line)
        assert agrees(page) and agrees(line)


def test_threads_add_remove_restore_and_search_at_once(tmp_path):
    for worker in range(4):
        for number in range(30):
            text(tmp_path / f"{worker}" / f"{worker}-{number}.txt", f"red {'abcdefg'[worker] * (number + 1)}")
    shared = tmp_path / "shared"
    for number in range(20):
        text(shared / f"shared{number}.txt", f"blue {'z' * number}")
    stop = threading.Event()

    def add(worker):
        folder = shared if worker >= 4 else tmp_path / f"{worker}"
        return [event.outcome for event in library.add([folder])]

    def toggle():
        count = 0
        while not stop.is_set():
            ids = [item.id for item in library.items(text="shared", limit=5)]
            assert library.restore(library.remove(ids)) is not None
            count += 1
        return count

    def search():
        count = 0
        while not stop.is_set():
            hits = library.search(Query(Media(text="red"), k=50)).hits
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert len({hit.item.id for hit in hits}) == len(hits)
            assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
            count += 1
        return count

    with Library(tmp_path / "data", FakeEmbedder()) as library, ThreadPoolExecutor(12) as pool:
        others = [pool.submit(task) for task in (search, search, toggle)]
        adding = [pool.submit(add, worker) for worker in range(7)]  # the shared folder three times
        outcomes = [future.result() for future in adding]
        stop.set()
        assert all(future.result() > 0 for future in others)
        assert outcomes[:4] == [["added"] * 30] * 4
        assert set(chain(*outcomes[4:])) <= {"added", "unchanged"}
        assert len(set(names(library))) == 140
        assert agrees(library)


def test_a_search_does_not_wait_for_a_long_addition(library, tmp_path, embedder):
    """The model is held inside the embedding of a file; searches, lists and removals answer meanwhile."""
    text(tmp_path / "a.txt", "red")
    text(tmp_path / "slow.txt", "blue")
    library.add_all([tmp_path / "a.txt"])
    inside, go_on = threading.Event(), threading.Event()
    vector = embedder._vector

    def held(item):
        if item.name == "slow.txt":
            inside.set()
            assert go_on.wait(20)
        return vector(item)

    embedder._vector = held
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(library.add_all, [tmp_path / "slow.txt"])
        assert inside.wait(20)
        try:
            assert names(library) == ["a.txt"]
            assert [item.name for item in library.items()] == ["a.txt"]
            assert library.restore(library.remove([1])) == [1]
        finally:
            go_on.set()
        assert [item.name for item in adding.result().added] == ["slow.txt"]
    assert sorted(names(library)) == ["a.txt", "slow.txt"]


def test_a_model_switched_under_an_addition_and_a_question(library, files, embedder):
    """What fails because the old model was closed is done again with the new one."""
    other = FakeEmbedder("other")
    library.add_all([files / "sky.png"])

    def closed(item):
        library.use(other)
        raise InferenceError("The model is closed.")

    embedder._vector = closed
    assert len(library.add_all([files]).added) == 5
    assert (embedder.calls, other.calls) == (1, 6)
    library.use(embedder)
    assert names(library, k=1) == ["cherry.png"], "the question was asked again, in the new space"
    assert other.calls == 7


def test_a_thread_of_another_model_leaves_the_present_store_right(tmp_path, files):
    """Vectors of one space never enter the store of another, whoever commits while."""
    one, other = FakeEmbedder("one", delay=0.005), FakeEmbedder("other", delay=0.005)
    with Library(tmp_path / "data", one) as library, ThreadPoolExecutor(1) as pool:
        adding = pool.submit(library.add_all, [files])
        while not adding.done():
            library.use(other)
            library.use(one)
        assert len(adding.result().added) == 6
        for model in (one, other):
            library.use(model)
            list(library.embed_pending())
            assert sorted(names(library)) == sorted(path.name for path in files.iterdir())
            assert agrees(library)


def test_closing_under_an_addition_ends_it_with_a_sentence(tmp_path, files):
    library = Library(tmp_path / "data", FakeEmbedder())
    events = library.add(files)
    assert next(events).outcome == "added"
    library.close()
    with pytest.raises(LibraryError):
        next(events)
    library.close()
    with Library(tmp_path / "data", FakeEmbedder()) as library:
        assert sum(library.count().values()) == 1


def test_cancelling_and_closing_is_quiet(tmp_path, files):
    stop = threading.Event()
    library = Library(tmp_path / "data", FakeEmbedder())
    events = library.add(str(files), cancelled=stop.is_set)
    next(events)
    stop.set()
    library.close()
    assert list(events) == []


def test_opening_a_new_library_in_many_processes_at_once(tmp_path):
    text(tmp_path / "f" / "a.txt", "red")
    children = [start_adding(tmp_path / "data", tmp_path / "f") for _ in range(4)]
    results = [child.communicate(timeout=60) for child in children]
    assert [child.returncode for child in children] == [0] * 4, results
    assert sum(output.count("added") for output, _ in results) == 1
    assert sum(output.count("unchanged") for output, _ in results) == 3


@pytest.mark.parametrize("readers", [1, 8])
def test_opening_and_closing_while_others_read(tmp_path, files, readers):
    with Library(tmp_path / "data", FakeEmbedder()) as library:
        library.add_all([files])

        def read(_):
            with Library(tmp_path / "data", FakeEmbedder()) as again:
                return names(again, k=1)

        with ThreadPoolExecutor(readers) as pool:
            assert list(pool.map(read, range(8))) == [["cherry.png"]] * 8


def test_a_database_that_others_hold_too_long_is_told_and_reading_goes_on(tmp_path, files, monkeypatch):
    monkeypatch.setattr("index.database.BUSY_SECONDS", 0.2)
    with Library(tmp_path / "data", FakeEmbedder()) as library:
        library.add_all([files])
        with closing(sqlite3.connect(tmp_path / "data" / "catalogue.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LibraryError, match="busy: another process has been writing"):
                library.remove([1])
            with pytest.raises(LibraryError, match="busy"):
                library.add_all([text(tmp_path / "late.txt", "red")])
            assert len(names(library)) == 6
            with Library(tmp_path / "data", FakeEmbedder()) as again:
                assert len(names(again)) == 6, "opening needs no right to write"
            other.execute("ROLLBACK")
        assert library.remove([1]) == [1]


def test_an_item_removed_while_its_file_is_embedded_again(library, files, embedder):
    library.add_all([files])
    other = FakeEmbedder("other")
    library.use(other)
    vector = other._vector

    def removing(item):
        library.remove([1, 2, 3, 4, 5, 6])
        library.purge()
        return vector(item)

    other._vector = removing
    assert [event.reason for event in library.embed_pending()] == ["was removed meanwhile"]
    assert sum(library.count().values()) == 0
    assert library.search(Query(Media(text="red"))).hits == ()


def test_a_cached_vector_purged_under_an_addition_is_computed_again(library, tmp_path, embedder):
    """Between the look into the cache and the transaction another process may purge."""
    first, second = picture(tmp_path / "a.png", "red"), picture(tmp_path / "b.png", "red")
    library.add_all([first])
    insert = library._catalogue.insert

    def late(*arguments):
        library._catalogue.insert = insert
        library._catalogue.remove([1])
        library._catalogue.purge(time.time() + 1)
        return insert(*arguments)

    library._catalogue.insert = late
    (item,) = library.add_all([second]).added
    assert embedder.calls == 2
    assert names(library) == [item.name]
    assert agrees(library)
