"""The SQLite file of a library: connections, schema, transactions. Knows nothing of embedders and stores."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from embedding.errors import LibraryError

APPLICATION_ID = 0x54525054  # "TRPT": the file says whose it is
BUSY_SECONDS = 30.0

# One script for each schema version; a released script is never edited, a change is a new one at the end.
MIGRATIONS = (
    """
    CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE items (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        path BLOB NOT NULL,               -- bytes of the file system; below the data folder when `copied`
        copied INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        size INTEGER NOT NULL,
        added REAL NOT NULL,
        note TEXT NOT NULL DEFAULT '',
        width INTEGER, height INTEGER, seconds REAL,
        deleted_at REAL
    );
    CREATE UNIQUE INDEX items_live_path ON items (path) WHERE deleted_at IS NULL;
    CREATE INDEX items_sha256 ON items (sha256);
    CREATE TABLE segments (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
        ordinal INTEGER NOT NULL,
        "start" REAL, "end" REAL, text TEXT,
        content TEXT NOT NULL,            -- hash of what was embedded: the key of the cache
        UNIQUE (item_id, ordinal)
    );
    CREATE INDEX segments_content ON segments (content);
    CREATE TABLE spaces (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL);
    CREATE TABLE vectors (
        space_id INTEGER NOT NULL REFERENCES spaces (id),
        content TEXT NOT NULL,
        vector BLOB NOT NULL,             -- float32, little-endian, unit length
        PRIMARY KEY (space_id, content)
    );
    """,
)


class Database:
    """One file, one writing and one reading connection, each with a lock: a reader never waits for a writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()
        with self._told():
            self._writer = _connect(path)
            try:
                _prepare(self._writer, path)
                self._reader = _connect(path)
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A snapshot: everything read inside belongs to one moment."""
        with self._read_lock, self._told():
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("COMMIT")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on the disk afterwards, or nothing is."""
        with self._write_lock, self._told():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def revision(self) -> str:
        """Name of the present state of items, segments and vectors; another one after every change by any process."""
        with self._read_lock, self._told():
            return revision(self._reader)

    def close(self) -> None:
        """Close both connections; SQLite then folds its log into the file."""
        with self._write_lock, self._read_lock:
            self._reader.close()
            self._writer.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError as error:
            if "closed" in str(error):
                raise LibraryError("The library is closed; open it again.") from error
            raise
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise LibraryError(
                    f"The library {self.path} is busy: another process has been writing for {BUSY_SECONDS:.0f} s. "
                    "Wait for it and try again."
                ) from error
            folder = self.path.parent
            cause = "" if os.access(folder, os.W_OK) else f" {folder} cannot be written; choose another --data-dir."
            raise LibraryError(f"The library {self.path} cannot be used: {error}.{cause}") from error
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.IntegrityError):
                raise
            raise LibraryError(
                f"The library {self.path} is damaged or no library ({error}). "
                "Move it away and add the files again, or choose another --data-dir."
            ) from error


def revision(connection: sqlite3.Connection) -> str:
    """The present revision, as this connection sees it."""
    (value,) = connection.execute("SELECT value FROM state WHERE key = 'revision'").fetchone()
    return str(value)


def advance(connection: sqlite3.Connection) -> tuple[str, str]:
    """Count a change inside a transaction; the revisions before and after.

    The random part tells two histories apart that share a number, as after a backup was put back.
    """
    before = revision(connection)
    after = f"{int(before.partition('.')[0]) + 1}.{secrets.token_hex(4)}"
    connection.execute("UPDATE state SET value = ? WHERE key = 'revision'", (after,))
    return before, after


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.create_function("folded", 1, lambda text: str(text).casefold(), deterministic=True)
        connection.execute("PRAGMA foreign_keys = ON")
        # FULL: a commit survives a power cut too. It costs one flush a file, which inference dwarfs.
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make or migrate the schema; LibraryError when the file is another program's or a newer version's."""
    _check_owner(connection, path)
    _use_write_ahead_log(connection)
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(_version(connection), len(MIGRATIONS)):  # read again: another process may have been first
            for statement in MIGRATIONS[number].split(";\n"):
                connection.execute(statement)
        connection.execute("INSERT OR IGNORE INTO state VALUES ('revision', ?)", (f"0.{secrets.token_hex(4)}",))
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _check_owner(connection: sqlite3.Connection, path: Path) -> None:
    with_snapshot = "SELECT (SELECT count(*) FROM sqlite_master), application_id FROM pragma_application_id"
    tables, owner = connection.execute(with_snapshot).fetchone()
    if tables and owner != APPLICATION_ID:
        raise LibraryError(f"{path} is the database of another program; choose another --data-dir.")
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise LibraryError(
            f"The library {path} was written by a newer Triptych (schema {version}, this one knows {len(MIGRATIONS)}). "
            "Update Triptych, or choose another --data-dir."
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Readers and one writer side by side. Switching a new file does not wait for other openers, so wait here."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
