"""The truth of a library: items, their segments, spaces and vectors, in SQLite. Every method is one transaction."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from embedding.errors import LibraryError
from embedding.types import Space, Vectors
from index.database import Database, advance, revision
from index.rows import KINDS, Change, Entry, Leftover, LiveRows, Page, Part
from index.types import Ids, Item, Kind, Segment

ORDERS = {"added": "i.added DESC, i.id DESC", "name": "folded(i.name), i.id", "size": "i.size DESC, i.id"}

_ITEM = (
    "i.id, i.kind, i.name, i.path, i.copied, i.sha256, i.size, i.added, i.note, i.width, i.height, i.seconds, "
    "(SELECT count(*) FROM segments c WHERE c.item_id = i.id)"
)
_SEGMENT = 's.id, s.item_id, s.ordinal, s."start", s."end", s.text'
_AMONG = "IN (SELECT value FROM json_each(?))"


class VectorsGone(Exception):
    """A cached vector was purged between the look into the cache and the transaction; embedding again helps."""


class Catalogue:
    """Items and vectors of a data folder. Safe from several threads and processes; ids are never used again."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.database = Database(data_dir / "catalogue.sqlite")

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    # Items -----------------------------------------------------------------------------------------------------------

    def insert(
        self, entry: Entry, parts: Sequence[Part], space_id: int, vectors: dict[str, Vectors]
    ) -> tuple[Item, Change | None]:
        """Add an item with its segments and their new vectors; an item of other content at the same path is removed.

        The same content at the same path is left as it is: then no change is returned.
        """
        with self.database.write() as db:
            row = db.execute(
                "SELECT id, sha256 FROM items WHERE path = ? AND deleted_at IS NULL", (entry.path,)
            ).fetchone()
            if row and row[1] == entry.sha256:
                return self._item(db, row[0]), None
            before, after = advance(db)
            removed = _segment_ids(db, [row[0]]) if row else ()
            if row:
                db.execute("UPDATE items SET deleted_at = ? WHERE id = ?", (time.time(), row[0]))
            item_id = _insert_item(db, entry)
            added = _insert_segments(db, item_id, parts)
            _insert_vectors(db, space_id, vectors)
            _require_vectors(db, item_id, space_id)
            return self._item(db, item_id), Change(before, after, (item_id,), added, removed)

    def remove(self, ids: Iterable[int]) -> Change:
        """Hide live items until they are purged or restored; `items` of the change are those that were live."""
        return self._mark(ids, "deleted_at IS NULL", time.time())

    def restore(self, ids: Iterable[int]) -> Change:
        """Bring hidden items back, but not where another live item has taken the path meanwhile."""
        free = (
            "deleted_at IS NOT NULL AND id = (SELECT max(o.id) FROM items o WHERE o.path = items.path)"
            " AND NOT EXISTS (SELECT 1 FROM items o WHERE o.path = items.path AND o.deleted_at IS NULL)"
        )
        return self._mark(ids, free, None)

    def _mark(self, ids: Iterable[int], condition: str, deleted_at: float | None) -> Change:
        with self.database.write() as db:
            wanted = f"SELECT id FROM items WHERE {condition} AND id {_AMONG} ORDER BY id"
            met = [int(row[0]) for row in db.execute(wanted, (_json(ids),))]
            if not met:
                return Change(revision(db), revision(db))
            before, after = advance(db)
            db.execute(f"UPDATE items SET deleted_at = ? WHERE id {_AMONG}", (deleted_at, _json(met)))
            segments = _segment_ids(db, met)
            added, removed = ((), segments) if deleted_at is not None else (segments, ())
            return Change(before, after, tuple(met), added, removed)

    def purge(self, hidden_before: float) -> list[Leftover]:
        """Forget items that were removed before that time, and vectors that no segment needs; the files left over."""
        with self.database.read() as db:
            if not db.execute("SELECT 1 FROM items WHERE deleted_at <= ? LIMIT 1", (hidden_before,)).fetchone():
                return []
        with self.database.write() as db:
            gone = db.execute(
                "DELETE FROM items WHERE deleted_at <= ? RETURNING path, copied, sha256", (hidden_before,)
            ).fetchall()
            db.execute("DELETE FROM vectors WHERE content NOT IN (SELECT content FROM segments)")
            leftovers = []
            for path, copied, sha256 in gone:
                kept = db.execute("SELECT 1 FROM items WHERE path = ?", (path,)).fetchone()
                shared = db.execute("SELECT 1 FROM items WHERE sha256 = ?", (sha256,)).fetchone()
                leftovers.append(Leftover(path if copied and not kept else None, None if shared else sha256))
            return leftovers

    def item(self, item_id: int) -> Item:
        """A live item; LibraryError when there is none."""
        with self.database.read() as db:
            return self._item(db, item_id)

    def at_path(self, path: bytes) -> Item | None:
        """The live item of a path."""
        with self.database.read() as db:
            rows = db.execute(f"SELECT {_ITEM} FROM items i WHERE i.path = ? AND i.deleted_at IS NULL", (path,))
            return next((self._as_item(row) for row in rows), None)

    def file_of(self, item_id: int) -> bytes:
        """Where the original of an item lies, in bytes of the file system."""
        return os.fsencode(self.item(item_id).path)

    def items(self, page: Page) -> list[Item]:
        """A page of the live items, whatever the case of letters in a name."""
        if page.order not in ORDERS:
            raise LibraryError(f"Items are not ordered by {page.order!r}; choose one of {', '.join(sorted(ORDERS))}.")
        query = (
            f"SELECT {_ITEM} FROM items i WHERE i.deleted_at IS NULL AND (?1 IS NULL OR i.kind = ?1)"
            f" AND (?2 = '' OR instr(folded(i.name), ?2)) ORDER BY {ORDERS[page.order]} LIMIT ?3 OFFSET ?4"
        )
        with self.database.read() as db:
            rows = db.execute(query, (page.kind, page.text.casefold(), page.limit, page.offset))
            return [self._as_item(row) for row in rows]

    def count(self) -> dict[Kind, int]:
        """Live items of each kind."""
        with self.database.read() as db:
            rows = dict(db.execute("SELECT kind, count(*) FROM items WHERE deleted_at IS NULL GROUP BY kind"))
        return {kind: int(rows.get(kind.value, 0)) for kind in Kind}

    # Segments --------------------------------------------------------------------------------------------------------

    def segments(self, item_id: int) -> list[tuple[Segment, str]]:
        """Segments of an item in their order, each with its content hash."""
        query = f"SELECT {_SEGMENT}, s.content FROM segments s WHERE s.item_id = ? ORDER BY s.ordinal"
        with self.database.read() as db:
            return [(Segment(*row[:6]), row[6]) for row in db.execute(query, (item_id,))]

    def lookup(self, segment_ids: Iterable[int]) -> dict[int, tuple[Item, Segment]]:
        """Item and segment of each id, removed ones too: a search answers for the moment in which it ran."""
        query = f"SELECT {_SEGMENT}, {_ITEM} FROM segments s JOIN items i ON i.id = s.item_id WHERE s.id {_AMONG}"
        with self.database.read() as db:
            rows = db.execute(query, (_json(segment_ids),)).fetchall()
        return {row[0]: (self._as_item(row[6:]), Segment(*row[:6])) for row in rows}

    # Spaces and vectors ----------------------------------------------------------------------------------------------

    def space_id(self, space: Space) -> int:
        """Number of a space in this database; it is entered when it is new."""
        query = "SELECT id FROM spaces WHERE key = ?"
        with self.database.read() as db:
            row = db.execute(query, (space.key,)).fetchone()
        if row is None:
            with self.database.write() as db:
                db.execute("INSERT OR IGNORE INTO spaces (key, dim) VALUES (?, ?)", (space.key, space.dim))
                row = db.execute(query, (space.key,)).fetchone()
        return int(row[0])

    def spaces(self) -> list[tuple[str, int]]:
        """Key of each space that live items have vectors in, with the number of these items, most first."""
        query = (
            "SELECT p.key, count(DISTINCT s.item_id) FROM spaces p JOIN vectors v ON v.space_id = p.id"
            " JOIN segments s ON s.content = v.content JOIN items i ON i.id = s.item_id AND i.deleted_at IS NULL"
            " GROUP BY p.id ORDER BY 2 DESC, p.key"
        )
        with self.database.read() as db:
            return [(str(key), int(items)) for key, items in db.execute(query)]

    def known(self, space_id: int, contents: Iterable[str]) -> set[str]:
        """Which contents have a vector already."""
        query = f"SELECT content FROM vectors WHERE space_id = ? AND content {_AMONG}"
        with self.database.read() as db:
            return {str(row[0]) for row in db.execute(query, (space_id, json.dumps(list(contents))))}

    def vectors(self, space_id: int, segment_ids: Iterable[int]) -> tuple[Ids, Vectors]:
        """Those of the segments that have a vector in the space, with it: ids [n], float32 [n, dim]."""
        query = (
            "SELECT s.id, v.vector FROM segments s JOIN vectors v ON v.space_id = ? AND v.content = s.content"
            f" WHERE s.id {_AMONG} ORDER BY s.id"
        )
        with self.database.read() as db:
            (dim,) = db.execute("SELECT dim FROM spaces WHERE id = ?", (space_id,)).fetchone()
            rows = db.execute(query, (space_id, _json(segment_ids))).fetchall()
        joined = b"".join(row[1] for row in rows)
        return _ids(row[0] for row in rows), np.frombuffer(joined, "<f4").astype(np.float32).reshape(len(rows), dim)

    def embed(
        self, item_id: int, space_id: int, vectors: dict[str, Vectors], parts: Sequence[Part] | None = None
    ) -> Change | None:
        """Give a live item vectors of another space; with `parts`, finer segments take the place of the old ones.

        None when the item is gone.
        """
        with self.database.write() as db:
            if not db.execute("SELECT 1 FROM items WHERE id = ? AND deleted_at IS NULL", (item_id,)).fetchone():
                return None
            before, after = advance(db)
            removed = _segment_ids(db, [item_id])
            if parts is not None:
                db.execute("DELETE FROM segments WHERE item_id = ?", (item_id,))
                _insert_segments(db, item_id, parts)
            _insert_vectors(db, space_id, vectors)
            _require_vectors(db, item_id, space_id)
            return Change(before, after, (item_id,), _segment_ids(db, [item_id]), removed)

    def live(self, space_id: int, segment_ids: Iterable[int] | None = None) -> LiveRows:
        """All live segments (or those given) and whether they have a vector in the space."""
        query = (
            "SELECT s.id, s.item_id, i.kind, v.rowid IS NOT NULL FROM segments s JOIN items i ON i.id = s.item_id"
            " LEFT JOIN vectors v ON v.space_id = ?1 AND v.content = s.content WHERE i.deleted_at IS NULL"
        )
        with self.database.read() as db:
            now = revision(db)
            if segment_ids is None:
                rows = db.execute(f"{query} ORDER BY s.id", (space_id,)).fetchall()
            else:
                few = f"{query} AND s.id {_AMONG.replace('?', '?2')} ORDER BY s.id"
                rows = db.execute(few, (space_id, _json(segment_ids))).fetchall()
        kinds = np.fromiter((KINDS.index(row[2]) for row in rows), np.int8)
        embedded = np.fromiter((row[3] for row in rows), bool)
        return LiveRows(now, _ids(row[0] for row in rows), _ids(row[1] for row in rows), kinds, embedded)

    def _item(self, db: sqlite3.Connection, item_id: int) -> Item:
        query = f"SELECT {_ITEM} FROM items i WHERE i.id = ? AND i.deleted_at IS NULL"
        row = db.execute(query, (item_id,)).fetchone() if 0 < item_id < 2**63 else None
        if row is None:
            raise LibraryError(f"The library has no item {item_id}; `python app.py list` shows the ids.")
        return self._as_item(row)

    def _as_item(self, row: Sequence[object]) -> Item:
        number, kind, name, path, copied, sha256, size, added, note, width, height, seconds, segments = row
        assert isinstance(path, bytes)
        full = os.path.join(os.fsencode(self.data_dir), path) if copied else path
        values = (number, Kind(str(kind)), name, os.fsdecode(full), sha256, size, added, segments, note, width, height)
        return Item(*values, seconds)  # type: ignore[arg-type]  # the schema gives these columns their types


def _insert_item(db: sqlite3.Connection, entry: Entry) -> int:
    columns = "kind, name, path, copied, sha256, size, note, width, height, seconds"
    values = (
        entry.kind, entry.name, entry.path, entry.copied, entry.sha256, entry.size,
        entry.note, entry.width, entry.height, entry.seconds,
    )  # fmt: skip
    marks = ", ".join("?" * len(values))
    cursor = db.execute(f"INSERT INTO items ({columns}, added) VALUES ({marks}, ?)", (*values, time.time()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _insert_segments(db: sqlite3.Connection, item_id: int, parts: Sequence[Part]) -> tuple[int, ...]:
    rows = ((item_id, n, part.start, part.end, part.text, part.content) for n, part in enumerate(parts))
    db.executemany(
        'INSERT INTO segments (item_id, ordinal, "start", "end", text, content) VALUES (?, ?, ?, ?, ?, ?)', rows
    )
    return _segment_ids(db, [item_id])


def _insert_vectors(db: sqlite3.Connection, space_id: int, vectors: dict[str, Vectors]) -> None:
    rows = ((space_id, content, vector.astype("<f4").tobytes()) for content, vector in vectors.items())
    db.executemany("INSERT OR IGNORE INTO vectors (space_id, content, vector) VALUES (?, ?, ?)", rows)


def _require_vectors(db: sqlite3.Connection, item_id: int, space_id: int) -> None:
    query = (
        "SELECT count(*) FROM segments s LEFT JOIN vectors v ON v.space_id = ? AND v.content = s.content"
        " WHERE s.item_id = ? AND v.rowid IS NULL"
    )
    if db.execute(query, (space_id, item_id)).fetchone()[0]:
        raise VectorsGone


def _segment_ids(db: sqlite3.Connection, item_ids: Iterable[int]) -> tuple[int, ...]:
    rows = db.execute(f"SELECT id FROM segments WHERE item_id {_AMONG} ORDER BY id", (_json(item_ids),))
    return tuple(int(row[0]) for row in rows)


def _json(ids: Iterable[int]) -> str:
    return json.dumps([int(number) for number in ids])


def _ids(numbers: Iterable[int]) -> Ids:
    return np.fromiter(numbers, np.int64)
