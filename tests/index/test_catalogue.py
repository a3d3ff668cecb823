"""The database: ids, undo, purge, what is refused, and what a damaged vector store costs (nothing)."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from embedding.errors import LibraryError, SpaceError
from embedding.types import Media, Modality
from index import Kind, Library, Query
from index.database import MIGRATIONS
from tests.index.fakes import FakeEmbedder, picture, sound, text


def names(library, words="red", **options):
    return [hit.item.name for hit in library.search(Query(Media(text=words), **options)).hits]


def database(library):
    return library.data_dir / "catalogue.sqlite"


def rows(library, query):
    with closing(sqlite3.connect(database(library))) as connection:
        return connection.execute(query).fetchall()


def store_file(library):
    (path,) = (library.data_dir / "stores").iterdir()
    return path


def make(tmp_path, embedder, count=6):
    for number in range(count):
        text(tmp_path / "files" / f"{number}.txt", f"red {'blue ' * number}")
    with Library(tmp_path / "data", embedder) as library:
        library.add_all([tmp_path / "files"])
        return library, names(library)


# Ids, undo, purge ----------------------------------------------------------------------------------------------------


def test_ids_are_never_used_again(library, tmp_path):
    path = text(tmp_path / "a.txt", "red")
    seen_items, seen_segments = [], []
    for _ in range(4):
        (item,) = library.add_all([path]).added
        seen_items.append(item.id)
        seen_segments += [segment.id for segment in library.segments(item.id)]
        library.remove([item.id])
        library.purge()
    assert sum(library.count().values()) == 0
    assert rows(library, "SELECT count(*) FROM items")[0][0] == 0
    assert seen_items == sorted(set(seen_items)) and len(seen_items) == 4
    assert seen_segments == sorted(set(seen_segments)) and len(seen_segments) == 4


def test_purging_forgets_rows_vectors_copies_and_thumbnails(library, tmp_path, embedder):
    (item,) = library.add_all([picture(tmp_path / "a.png", "red")], copy=True).added
    thumbnail = library.thumbnail(item.id)
    assert os.path.isfile(item.path) and thumbnail.is_file()
    library.remove([item.id])
    assert os.path.isfile(item.path), "it can be restored"
    assert library.purge(older_than=60) == 0
    assert library.purge() == 1
    assert library.restore([item.id]) == []
    assert not os.path.exists(item.path) and not thumbnail.exists()
    for table in ("items", "segments", "vectors"):
        assert rows(library, f"SELECT count(*) FROM {table}")[0][0] == 0
    calls = embedder.calls
    library.add_all([tmp_path / "a.png"])
    assert embedder.calls == calls + 1


def test_purging_keeps_what_other_items_share(library, tmp_path):
    first, second = library.add_all(
        [picture(tmp_path / "a.png", "red"), picture(tmp_path / "b.png", "red")], copy=True
    ).added
    library.remove([first.id])
    library.purge()
    assert not os.path.exists(first.path)
    assert os.path.isfile(second.path)
    assert library.thumbnail(second.id).is_file()
    assert names(library) == ["b.png"]
    assert rows(library, "SELECT count(*) FROM vectors")[0][0] == 1


def test_a_copy_that_was_added_again_survives_the_purge_of_its_old_item(library, tmp_path):
    path = picture(tmp_path / "a.png", "red")
    (old,) = library.add_all([path], copy=True).added
    library.remove([old.id])
    (new,) = library.add_all([path], copy=True).added
    assert new.path == old.path
    library.purge()
    assert os.path.isfile(new.path)


def test_opening_purges_what_was_removed_a_day_ago(tmp_path, embedder):
    library, _ = make(tmp_path, embedder, 3)
    with Library(library.data_dir) as again:
        again.remove([1, 2])
    with closing(sqlite3.connect(database(library))) as connection:
        connection.execute("UPDATE items SET deleted_at = deleted_at - 86401 WHERE id = 1")
        connection.commit()
    with Library(library.data_dir) as again:
        assert again.restore([1, 2]) == [2]


def test_undo_gives_way_to_a_file_that_was_added_again(library, tmp_path):
    path = text(tmp_path / "a.txt", "red")
    (old,) = library.add_all([path]).added
    library.remove([old.id])
    (new,) = library.add_all([path]).added
    assert library.restore([old.id]) == []
    library.remove([new.id])
    assert library.restore([old.id, new.id]) == [new.id]
    assert [item.id for item in library.items()] == [new.id]


# The schema ----------------------------------------------------------------------------------------------------------


def test_the_database_uses_a_log_and_foreign_keys(library):
    assert rows(library, "PRAGMA journal_mode")[0][0] == "wal"
    assert rows(library, "PRAGMA user_version")[0][0] == len(MIGRATIONS)
    with library._catalogue.database.write() as connection:
        assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2


def test_a_newer_schema_is_refused(tmp_path, embedder):
    library, _ = make(tmp_path, embedder, 1)
    with closing(sqlite3.connect(database(library))) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(LibraryError, match=r"newer Triptych \(schema 99, this one knows \d+\)"):
        Library(library.data_dir)


def test_an_older_schema_is_migrated_and_keeps_its_items(tmp_path, embedder, monkeypatch):
    library, before = make(tmp_path, embedder)
    step = "ALTER TABLE items ADD COLUMN colour TEXT;\n CREATE INDEX items_colour ON items (colour);\n"
    monkeypatch.setattr("index.database.MIGRATIONS", (*MIGRATIONS, step))
    with Library(library.data_dir, embedder) as again:
        assert names(again) == before
        assert rows(again, "SELECT colour FROM items LIMIT 1") == [(None,)]
        assert rows(again, "PRAGMA user_version")[0][0] == len(MIGRATIONS) + 1


def test_a_migration_that_fails_leaves_the_database_as_it_was(tmp_path, embedder, monkeypatch):
    library, before = make(tmp_path, embedder)
    step = "ALTER TABLE items ADD COLUMN colour TEXT;\n ALTER TABLE absent ADD COLUMN x TEXT;\n"
    with monkeypatch.context() as patch:
        patch.setattr("index.database.MIGRATIONS", (*MIGRATIONS, step))
        with pytest.raises(LibraryError, match="cannot be used: no such table"):
            Library(library.data_dir)
    with Library(library.data_dir, embedder) as again:
        assert names(again) == before


def test_the_database_of_another_program_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    with closing(sqlite3.connect(tmp_path / "data" / "catalogue.sqlite")) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    with pytest.raises(LibraryError, match="database of another program"):
        Library(tmp_path / "data")


@pytest.mark.parametrize("content", [b"this is no database at all " * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_database_is_told_in_one_sentence(tmp_path, content):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "catalogue.sqlite").write_bytes(content)
    with pytest.raises(LibraryError, match=r"damaged or no library .* choose another --data-dir"):
        Library(tmp_path / "data")


def test_a_data_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(LibraryError, match=r"data folder .* cannot be made"):
        Library(tmp_path / "file" / "data")


def test_a_closed_library_says_so(tmp_path, embedder):
    library, _ = make(tmp_path, embedder, 1)
    library.close()
    with pytest.raises(LibraryError, match="closed"):
        library.count()


# The vector store ----------------------------------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch):
    """Counts the vectors that are read from the database to fill a store."""
    from index.catalogue import Catalogue

    counted, vectors = [], Catalogue.vectors

    def counting(self, space_id, segment_ids):
        found = vectors(self, space_id, segment_ids)
        counted.extend(found[0].tolist())
        return found

    monkeypatch.setattr(Catalogue, "vectors", counting)
    return counted


@pytest.mark.parametrize("store", ["exact", "faiss"])
def test_a_store_is_loaded_when_it_is_of_this_state(tmp_path, embedder, reads, store):
    text(tmp_path / "a.txt", "red")
    with Library(tmp_path / "data", embedder, store=store) as library:
        library.add_all([tmp_path / "a.txt"])
    reads.clear()
    with Library(tmp_path / "data", embedder, store=store) as library:
        assert names(library) == ["a.txt"]
    assert reads == []
    assert embedder.calls == 2, "the file once and the question: a restart costs nothing"


DAMAGE = {
    "absent": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "one bit": lambda path: path.write_bytes(
        path.read_bytes()[:-9] + bytes([path.read_bytes()[-9] ^ 1]) + path.read_bytes()[-8:]
    ),
    "no head": lambda path: path.write_bytes(b"TRIPTYCH STORE 1\n[1]\n"),
    "other": lambda path: path.write_bytes(os.urandom(5000)),
    "folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_store_is_rebuilt(tmp_path, embedder, reads, damage):
    library, before = make(tmp_path, embedder)
    DAMAGE[damage](store_file(library))
    reads.clear()
    calls = embedder.calls
    with Library(library.data_dir, embedder) as again:
        assert names(again) == before
        assert sorted(reads) == again._engine.mirror.ids().tolist() == [1, 2, 3, 4, 5, 6]
    assert embedder.calls == calls + 1


def test_a_stale_store_is_rebuilt(tmp_path, embedder, reads):
    library, before = make(tmp_path, embedder)
    kept = store_file(library).read_bytes()
    with Library(library.data_dir, embedder) as again:
        again.remove([1])
    store_file(library).write_bytes(kept)
    with Library(library.data_dir, embedder) as again:
        assert names(again) == before[1:]
        assert again._engine.mirror.ids().tolist() == [2, 3, 4, 5, 6]


def test_a_store_of_another_history_is_rebuilt_after_a_backup_was_put_back(tmp_path, embedder):
    """The ids and the number of changes are the same in both histories, the vectors are not."""
    library, _ = make(tmp_path, embedder, 2)
    backup = tmp_path / "backup.sqlite"
    shutil.copy(database(library), backup)
    with Library(library.data_dir, embedder) as again:
        again.add_all([text(tmp_path / "then.txt", "low low low")])
    shutil.copy(backup, database(library))
    store = store_file(library).read_bytes()
    with Library(library.data_dir, embedder) as again:
        again.add_all([text(tmp_path / "now.txt", "high high high")])
    store_file(library).write_bytes(store)
    with Library(library.data_dir, embedder) as again:
        assert names(again, "high", k=1) == ["now.txt"]
        assert again.search(Query(Media(text="high"))).hits[0].score > 0.9


def test_a_store_that_cannot_be_written_costs_nothing_but_time(tmp_path, embedder, caplog):
    library, before = make(tmp_path, embedder)
    shutil.rmtree(library.data_dir / "stores")
    (library.data_dir / "stores").write_text("a file in the way")
    with Library(library.data_dir, embedder) as again:
        again.add_all([text(tmp_path / "new.txt", "red")])
        assert names(again) == ["0.txt", "new.txt", *before[1:]]
    assert "not written" in caplog.text


def test_what_a_killed_process_left_half_written_is_swept_away(tmp_path, embedder):
    library, before = make(tmp_path, embedder)
    old, young = library.data_dir / "stores" / ".part-old", library.data_dir / "stores" / ".part-young"
    for part in (old, young):
        part.write_bytes(b"half")
    os.utime(old, (1, 1))
    with Library(library.data_dir, embedder) as again:
        assert names(again) == before
    assert (old.exists(), young.exists()) == (False, True)


def test_an_unknown_store_is_refused(tmp_path):
    with pytest.raises(LibraryError, match="no vector store 'annoy'; choose one of exact, faiss"):
        Library(tmp_path / "data", FakeEmbedder(), store="annoy")


# Several spaces ------------------------------------------------------------------------------------------------------


def test_another_model_embeds_what_is_pending_and_both_stay_cached(library, files, embedder):
    library.add_all([files])
    other = FakeEmbedder("other")
    library.use(other)
    assert library.pending() == 6
    events = list(library.embed_pending())
    assert [(event.done, event.total, event.outcome) for event in events] == [(n, 6, "added") for n in range(1, 7)]
    assert other.calls == 6
    assert library.pending() == 0
    assert names(library, k=1) == ["cherry.png"]
    assert sorted(library.spaces()) == [(embedder.space.key, 6), (other.space.key, 6)]
    calls = embedder.calls, other.calls
    for model in (embedder, other, embedder):
        library.use(model)
        assert library.pending() == 0
        assert list(library.embed_pending()) == []
        assert names(library, k=1) == ["cherry.png"]
    assert (embedder.calls - calls[0], other.calls - calls[1]) == (2, 1)  # the questions only


def test_items_added_with_another_model_are_pending_and_counted_in_answers(library, files, tmp_path, embedder):
    library.add_all([files])
    library.use(FakeEmbedder("other"))
    library.add_all([picture(tmp_path / "new.png", (250, 0, 0))])
    assert names(library) == ["new.png"]
    assert library.search(Query(Media(text="red"))).pending == 6
    library.use(embedder)
    assert "new.png" not in names(library)
    assert library.pending() == 1
    assert [event.outcome for event in library.add([files, tmp_path / "new.png"])] == ["unchanged"] * 7
    assert library.pending() == 0, "adding again embeds what the model has not seen"
    assert names(library, k=2) == ["cherry.png", "new.png"]


def test_what_changed_or_went_cannot_be_embedded_again_but_texts_can(library, files):
    library.add_all([files])
    picture(files / "cherry.png", "green")
    for name in ("sky.png", "fire.md", "grass.txt"):
        (files / name).unlink()
    library.use(FakeEmbedder("other"))
    reasons = {os.path.basename(event.path): event.reason for event in library.embed_pending()}
    assert reasons == {
        "bird.wav": "",
        "drum.wav": "",
        "fire.md": "",
        "grass.txt": "",
        "cherry.png": "has changed since it was added; add it again",
        "sky.png": "cannot be read: no such file or directory",
    }
    assert library.pending() == 2
    assert names(library, k=1) == ["fire.md"]


def test_a_model_of_shorter_texts_and_sounds_gets_finer_segments(library, tmp_path):
    lines = [f"Line {number} tells of nothing." for number in range(1, 301)]
    lines[249] = "Here is blue blue blue blue blue blue blue blue blue."
    book, tone = text(tmp_path / "book.txt", "\n".join(lines)), sound(tmp_path / "tone.wav", (100, 15), (3000, 10))
    library.add_all([book, tone])
    coarse = {item.name: item.segments for item in library.items()}
    small = FakeEmbedder("small", max_tokens=60, max_seconds=5.0)
    library.use(small)
    assert [event.outcome for event in library.embed_pending()] == ["added", "added"]
    fine = {item.name: item.segments for item in library.items()}
    assert fine["book.txt"] > 4 * coarse["book.txt"]
    assert (coarse["tone.wav"], fine["tone.wav"]) == (1, 5)
    assert small.longest_text <= 60
    hit = library.search(Query(Media(text="blue"))).hits[0]
    assert hit.segment.start <= 250 <= hit.segment.end
    assert hit.segment.end - hit.segment.start < 15
    assert "blue" in hit.segment.text


def test_kinds_that_the_model_does_not_read_are_not_pending(library, files):
    library.add_all([files])
    library.use(FakeEmbedder("deaf", {Modality.TEXT, Modality.IMAGE}))
    assert library.pending() == 4
    list(library.embed_pending())
    assert library.pending() == 0
    assert {hit.item.kind for hit in library.search(Query(Media(text="red"))).hits} == {Kind.DOCUMENT, Kind.IMAGE}


def test_a_model_that_reads_nothing_of_the_library_says_so(library, files):
    library.add_all([files / "bird.wav", files / "drum.wav"])
    library.use(FakeEmbedder("deaf", {Modality.TEXT, Modality.IMAGE}))
    with pytest.raises(
        SpaceError, match="deaf finds items of these kinds: document, image, and the library holds none"
    ):
        names(library)


def test_embedding_can_be_cancelled_and_goes_on_later(library, files):
    library.add_all([files])
    other = FakeEmbedder("other")
    library.use(other)
    assert len(list(library.embed_pending(cancelled=lambda: other.calls >= 2))) == 2
    assert library.pending() == 4
    assert len(list(library.embed_pending())) == 4
    assert other.calls == 6
