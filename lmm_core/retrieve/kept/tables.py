"""The tables in which a material and its words are kept, as bytes."""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SCHEMA = """
CREATE TABLE documents (docid TEXT, source TEXT, sections INTEGER, passages INTEGER, texts INTEGER, content BLOB,
    stems BLOB, words BLOB, added BLOB);  -- numbered from 1, in their order; see `Row`
CREATE TABLE said (docid TEXT PRIMARY KEY, names TEXT) WITHOUT ROWID;  -- see `Document.said`
CREATE TABLE passages (id TEXT PRIMARY KEY, document INTEGER) WITHOUT ROWID;
CREATE TABLE titles (anchor TEXT PRIMARY KEY, title TEXT) WITHOUT ROWID;
CREATE TABLE stems (stem TEXT PRIMARY KEY, count INTEGER, form TEXT) WITHOUT ROWID;
CREATE TABLE words (initial TEXT, length INTEGER, number INTEGER, word TEXT, stem TEXT,
    PRIMARY KEY (initial, length, number)) WITHOUT ROWID;
CREATE TABLE whole (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""

CAN_KEEP = hasattr(sqlite3.Connection, "deserialize")  # some systems have an SQLite of before 3.36, without it


class Tables:
    """The tables, which several threads may read."""

    def __init__(self, data: bytes) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.deserialize(data)
        self._alone = threading.Lock()

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows that an SQL statement selects."""
        with self._alone:
            return self._connection.execute(statement, values).fetchall()

    def first(self, statement: str, *values: Any) -> Any:
        """Return the first row that an SQL statement selects, or None."""
        with self._alone:
            return self._connection.execute(statement, values).fetchone()

    def whole(self, name: str) -> Any:
        """Return a value that was written for the whole material."""
        return json.loads(self.first("SELECT value FROM whole WHERE name = ?", name)[0])


def write_tables(tables: Mapping[str, Iterable[Sequence[Any]]]) -> bytes:
    """Return tables with these rows."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(SCHEMA)
        for table, rows in tables.items():
            columns = len(connection.execute(f"SELECT * FROM {table}").description)
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})", rows)
        connection.commit()
        return connection.serialize()
    finally:
        connection.close()


def as_json(value: Any) -> str:
    """Return a value as the tables have it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pack(value: Any) -> bytes:
    """Return a value of JSON in few bytes."""
    return zlib.compress(as_json(value).encode(), 1)


def unpack(data: bytes) -> Any:
    """Return what was packed."""
    return json.loads(zlib.decompress(data))
