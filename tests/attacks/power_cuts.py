"""What a power cut may leave of an index in a folder, tried without cutting the power.

A run is recorded: what it writes to its collections, how far they are on the disk for sure, and the
files beside them. What is not on the disk for sure may have got there or not, in each collection apart:
the system writes in an order of its own.
"""

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from lmm_core.crawl.catalogue import CATALOGUE, SNIPPETS
from lmm_core.indexing.records import FILES
from lmm_core.store import edge_store
from lmm_core.store.edge_store import EdgeStore
from lmm_core.store.folder_files import note_points
from lmm_core.store.places import LocalStorage, open_store

WRITES = ("upsert", "set_payload", "delete")  # on the disk once the collection is synced
AT_ONCE = ("create", "drop", "write_ahead")  # on the disk when they return
SYNCED, FORGOTTEN = "synced", "forgotten"


@dataclass
class Recorded:
    """A recorded run. root: the folder of all that is made; folder: that of the collections;
    copies: the files beside these, before each step."""

    root: Path
    folder: Path
    place: Path
    steps: list = field(default_factory=list)

    def step(self, name, collection, *given):
        self.copy_files()
        self.steps.append((name, collection, given))

    def copy_files(self):
        shutil.copytree(self.root, self.place / str(len(self.steps)), ignore=_collections)

    def moments(self):
        """All that is tried: after how many steps, and which collections have on the disk what was not synced."""
        for count in range(len(self.steps) + 1):
            unsynced = Counter()
            for name, collection, _ in self.steps[:count]:
                unsynced[collection] = 0 if name in (SYNCED, "drop") else unsynced[collection] + (name in WRITES)
            names = frozenset(unsynced.elements())
            records = frozenset(name for name in names if name.endswith(FILES))
            for kept in {frozenset(), names, records, names - records}:
                yield count, kept

    def leave(self, count, kept):
        """Make the folder what a power cut leaves after some steps."""
        shutil.rmtree(self.root)
        shutil.copytree(self.place / "start", self.root)
        noted, done = {}, self.steps[:count]
        store = open_store(LocalStorage(self.folder))
        for number, (name, collection, given) in enumerate(done):
            if name in ("create", "drop"):
                getattr(store, name)(collection, *given)
            if name == "write_ahead":
                noted.setdefault(collection, []).extend(*given)
            elif name in (FORGOTTEN, "drop"):
                noted.pop(collection, None)
            elif name in WRITES and (collection in kept or (SYNCED, collection, ()) in done[number:]):
                getattr(store, name)(collection, *given)
        store.close()
        for collection, points in noted.items():
            note_points(self.folder / collection, points)
        self._leave_files(self.place / str(count))

    def _leave_files(self, copy):
        """Leave the files beside the collections. Nobody waits for the contents of the run's new snippets."""
        shutil.rmtree(self.folder / SNIPPETS, ignore_errors=True)
        shutil.copytree(copy, self.root, dirs_exist_ok=True)
        before = self.place / "start" / self.folder.name / SNIPPETS
        catalogue = self.root / CATALOGUE
        entries = json.loads(catalogue.read_bytes())["indexes"] if catalogue.exists() else {}
        is_settled = all(entry["state"] for entry in entries.values()) if entries else False
        if (self.folder / SNIPPETS).exists() and not is_settled:
            for path in (self.folder / SNIPPETS).iterdir():
                if not (before / path.name).exists() or (before / path.name).read_bytes() != path.read_bytes():
                    path.write_bytes(b"")


def _collections(folder, names):
    """What is no file beside the collections: they themselves, and locks."""
    return [name for name in names if Path(folder, name, "shard").exists() or name in (".lock", ".queue")]


def record(monkeypatch, root, folder, place, run):
    """Record what a run makes. root, folder: see `Recorded`; place: an empty folder for copies."""
    recorded = Recorded(Path(root), Path(folder), Path(place))
    recorded.root.mkdir(exist_ok=True)
    shutil.copytree(recorded.root, recorded.place / "start")
    with monkeypatch.context() as patched:
        for name in (*WRITES, *AT_ONCE):
            patched.setattr(EdgeStore, name, _before(recorded, name, getattr(EdgeStore, name)))
        patched.setattr(EdgeStore, "_forget", _after(recorded, EdgeStore._forget))
        patched.setattr(edge_store, "forget_points", _forgotten(recorded, edge_store.forget_points))
        run()
    recorded.copy_files()
    return recorded


def _before(recorded, name, work):
    def method(store, collection, *given):
        recorded.step(name, collection, *given)
        return work(store, collection, *given)

    return method


def _after(recorded, work):
    def method(store, collection):
        work(store, collection)
        recorded.step(SYNCED, collection)

    return method


def _forgotten(recorded, work):
    def function(path):
        recorded.step(FORGOTTEN, path.name)
        work(path)

    return function
