"""Make an index anew on a server while it is in service.

New collections are filled beside those that are asked, and then get their names, all in the same
moment: nobody is ever without answers. A record on the server tells who is at it. It is made first
and removed last: whatever ends a run, the next one finds what it left, and the old index stays in
service until the new one is complete.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import TracebackType

from ...errors import StoreError
from ...store.vector_store import AliasStore, Point, VectorSpec
from .renamed_store import RenamedStore

RECORD = ".lmm-run"  # behind the name of the first collection
NEW = re.compile(r"(?P<name>.*)\.lmm-[0-9a-f]{8}", re.S)  # the collections behind the names
POINT = str(uuid.uuid5(uuid.NAMESPACE_URL, "lmm-run"))
BEAT = 2.0  # seconds between signs of life
PATIENCE = 7.0  # seconds without a sign of life after which a run counts as ended
BUSY = (
    "Another run of `lmm index` is making this index anew. Wait until it is done; if it was ended, it is found out "
    f"within {PATIENCE:.0f} seconds."
)
TAKEN = "Another run of `lmm index` has taken over from this one, whose signs of life did not reach the server."


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a run leaves on the server: its id, its signs of life, the collections that it fills by
    the names that they will have, and whether they are complete."""

    run: str
    beat: int
    collections: Mapping[str, str]
    is_filled: bool = False


def read_record(store: AliasStore, names: Sequence[str]) -> RunRecord | None:
    """Return the record of a run that makes the collections of these names anew, or None. Raise StoreError."""
    name = names[0] + RECORD
    if store.metadata(name) is None:
        return None
    found = store.retrieve(name, [POINT])
    return RunRecord(**found[0].payload) if found else RunRecord("", 0, {})


def settle(store: AliasStore, names: Sequence[str]) -> RenamedStore:
    """End what a run left that was killed: its collections get their names if they are complete, or are removed.

    Return the store with the collections that have the names now. Raise StoreError, also if that
    run goes on."""
    if (record := read_record(store, names)) is not None:
        if _is_alive(store, names, record):
            raise StoreError(BUSY)
        if record.is_filled:
            _put_in_service(store, record.collections)
        _remove_unused(store, names)
        store.drop(names[0] + RECORD)
    aliases = store.aliases()
    return RenamedStore(store, {name: aliases[name] for name in names if name in aliases})


def _is_alive(store: AliasStore, names: Sequence[str], record: RunRecord) -> bool:
    """Return True if a run gives a sign of life, which is waited for."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        time.sleep(min(BEAT, PATIENCE) / 4)
        if read_record(store, names) != record:
            return True
    return False


def _put_in_service(store: AliasStore, collections: Mapping[str, str]) -> None:
    """Give collections their names.

    Where a collection itself has the name, as before there were replacements, it is removed first,
    since a name cannot mean two."""
    there = store.collections()
    for name in collections:
        if name in there:
            store.drop(name)
    store.switch(collections)


def _remove_unused(store: AliasStore, names: Iterable[str]) -> None:
    """Remove the collections that were made for some names and do not have them."""
    used, ours = set(store.aliases().values()), set(names)
    for name in store.collections():
        made = NEW.fullmatch(name)
        if made and made["name"] in ours and name not in used:
            store.drop(name)


class Replacement:
    """A run that makes collections anew.

    As a context manager, it removes what it made unless `finish` has put it into service."""

    def __init__(self, store: AliasStore, names: Sequence[str]) -> None:
        self._store, self._names = store, names
        run = uuid.uuid4().hex[:8]
        self._record = RunRecord(run, 0, {name: f"{name}.lmm-{run}" for name in names})
        self._writing = threading.Lock()
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._is_begun = False

    def begin(self) -> RenamedStore:
        """Return the store with new collections behind the names, none of which is there yet. Raise StoreError."""
        settle(self._store, self._names)
        try:
            self._store.create(self._names[0] + RECORD, VectorSpec(), {}, {})
        except StoreError:
            if read_record(self._store, self._names) is None:
                raise
            raise StoreError(BUSY) from None  # another run has begun in this moment
        self._is_begun = True
        self._write(self._record)
        self._beating.start()
        return RenamedStore(self._store, self._record.collections)

    def _write(self, record: RunRecord) -> None:
        with self._writing:
            self._record = record
            self._store.upsert(self._names[0] + RECORD, [Point(POINT, {}, asdict(record))])

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            try:
                self._write(replace(self._record, beat=self._record.beat + 1))
            except StoreError:
                continue  # whoever waits for it will take over

    def finish(self) -> None:
        """Put the new collections into service, and remove the old ones. Raise StoreError."""
        self._stop_beating()
        if not self._is_own():
            self._is_begun = False
            raise StoreError(TAKEN)
        self._write(replace(self._record, is_filled=True, beat=self._record.beat + 1))
        _put_in_service(self._store, self._record.collections)
        _remove_unused(self._store, self._names)
        self._store.drop(self._names[0] + RECORD)
        self._is_begun = False

    def _is_own(self) -> bool:
        found = read_record(self._store, self._names)
        return found is not None and found.run == self._record.run

    def _stop_beating(self) -> None:
        self._ended.set()
        if self._beating.ident is not None:
            self._beating.join()

    def __enter__(self) -> Replacement:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop_beating()
        if not self._is_begun or self._record.is_filled:
            return  # what is complete is put into service by the next run
        try:
            if self._is_own():
                _remove_unused(self._store, self._names)
                self._store.drop(self._names[0] + RECORD)
        except StoreError:
            return  # the next run removes it
