"""What is kept of a collection: found again, brought up to date, or made."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ...files.remembered import program_mark
from ...files.stamps import stamps_of
from ...index.passages import build_material
from ...index.refresh import FileRecord
from ...store.vector_store import KeepingStore, Where
from .making import Settings, make_tables, update_tables
from .tables import Tables

LEAST = 1_000  # points; of fewer, all is made anew in less time than it takes to write it
MOST_CHANGED = 0.2  # share of the documents; if more have changed, all is made anew


@dataclass(frozen=True)
class KeptCollection:
    """What is kept of a collection.

    records: those of its files; settings: those of what is kept; revision: of the store, before anything is read."""

    store: KeepingStore
    name: str
    records: Sequence[FileRecord]
    settings: Settings
    revision: object | None

    def tables(self) -> Tables | None:
        """Return the tables of the collection as it is now, None if it is too small for any. Raise StoreError."""
        key = key_of(self.settings)
        data: bytes | None = None
        if (found := self.store.recall(self.name, key)) is not None:
            known = Tables(found[0])
            changed = self._changed(known, found[1])
            if not changed and known.whole("choices") == self.settings.choices:
                return known
            data = self._updated(known, changed)
        elif self.store.count(self.name) < LEAST:
            return None
        made = data or self._made()
        self.store.keep(self.name, key, made, self.revision)
        return Tables(made)

    def _made(self) -> bytes:
        material = build_material(self.store.scroll(self.name), self.settings.order)
        return make_tables(material, self.settings, self._files())

    def _files(self) -> dict[str, str]:
        return {one.source: one.fingerprint for one in self.records}

    def _changed(self, known: Tables, ids: Sequence[str]) -> set[str]:
        """Return the docids of the documents that have changed, are new, or are there no longer.

        ids: of the points that were changed through the store. Files are compared, too, in case that was not the
        only way, as for copies."""
        before, now = known.whole("files"), self._files()
        sources = {one for one in before.keys() | now.keys() if before.get(one) != now.get(one)}
        there = known.rows("SELECT docid, source FROM documents") + [(one.docid, one.source) for one in self.records]
        docids = {docid for docid, source in there if source in sources}
        of_passage = (
            "SELECT docid FROM passages JOIN documents ON documents.rowid = passages.document WHERE passages.id = ?"
        )
        docids.update(found[0] for one in ids if (found := known.first(of_passage, one)))
        return docids | {str(point.payload.get("docid", "")) for point in self.store.retrieve(self.name, ids)}

    def _updated(self, known: Tables, changed: set[str]) -> bytes | None:
        """Return the tables with other documents in place of those that have changed, None if that does not do."""
        if len(changed) > MOST_CHANGED * known.first("SELECT COUNT(*) FROM documents")[0]:
            return None
        points = self.store.scroll(self.name, Where({"docid": sorted(changed)})) if changed else ()
        material = build_material(points, self.settings.order)
        return update_tables(known, material, changed, self.settings, self._files())


def key_of(settings: Settings) -> str:
    """Return what tells tables from those of other versions of the program, and of other languages.

    Whether there is an order tells, too: `lmm search` knows none, and `lmm ask` does."""
    stemmers = find_spec("py_rust_stemmers")
    made_by = stamps_of([Path(stemmers.origin)] if stemmers and stemmers.origin else [])
    said = repr((bool(settings.order), settings.language, made_by))
    return hashlib.blake2b(program_mark() + said.encode(), digest_size=16).hexdigest()
