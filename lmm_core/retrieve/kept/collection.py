"""Keep what is made of a collection, and find it again."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ...files.remembered import program_mark
from ...files.stamps import stamps_of
from ...index.refresh import FileRecord
from ...store.vector_store import KeepingStore, VectorStore
from ..ranking.lexical import LexicalIndex
from ..ranking.synonyms import Synonymous
from ..ranking.words import CountedStems
from .tables import Tables, make_tables

LEAST = 1_000  # passages; of fewer, all is made anew in less time than it takes to write it


def key_for(records: Iterable[FileRecord], order: Sequence[str], synonyms: Synonymous, language: str) -> str:
    """Return what tells a material and its words from those of other files, settings and versions of the program.

    The store sees to it that nothing is kept of a collection that has changed; the records are for those that were
    changed from outside, such as copies. order, synonyms: see `Library`; language: of the encoder."""
    files = sorted((one.source, one.docid, one.fingerprint, one.count) for one in records)
    stemmers = find_spec("py_rust_stemmers")
    made_by = stamps_of([Path(stemmers.origin)] if stemmers and stemmers.origin else [])
    said = repr((files, list(order), [(name, list(synonyms[name])) for name in synonyms], language, made_by))
    return hashlib.blake2b(program_mark() + said.encode(), digest_size=16).hexdigest()


def recall_tables(store: VectorStore, collection: str, key: str) -> Tables | None:
    """Return the tables that were kept of a collection, or None. Raise StoreError."""
    data = store.recall(collection, key) if isinstance(store, KeepingStore) else None
    return Tables(data) if data else None


def keep_tables(store: VectorStore, collection: str, key: str, lexical: LexicalIndex, revision: object) -> None:
    """Keep a material and its words that have been counted now, if that is worth it.

    revision: of the store, when its points were read. If it cannot be kept, it is made anew each time."""
    stems = lexical.counts.stems
    if isinstance(store, KeepingStore) and isinstance(stems, CountedStems) and len(lexical.material.passages) >= LEAST:
        with suppress(sqlite3.Error):
            store.keep(collection, key, make_tables(lexical, stems), revision)
