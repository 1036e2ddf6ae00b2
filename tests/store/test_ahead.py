"""What is written ahead holds again where a store was not closed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lmm_core.store import folder_files
from lmm_core.store.folder_files import AHEAD, note_points, noted_points
from lmm_core.store.places import LocalStorage, open_store
from lmm_core.store.vector_store import Point, VectorSpec
from tests.store.points import key

REPOSITORY = Path(__file__).parents[2]


def record(number, state):
    return Point(key(number), {}, {"state": state})


def states(store):
    return [point.payload["state"] for point in store.scroll("files")]


def made(folder):
    """An index with a collection of two points."""
    store = open_store(LocalStorage(folder))
    store.create("files", VectorSpec(), {}, {})
    store.upsert("files", [record(1, "old"), record(2, "old")])
    store.close()
    return folder / "files" / AHEAD


# The file


def test_each_point_is_as_it_was_noted_last(tmp_path):
    assert noted_points(tmp_path) == []
    note_points(tmp_path, [record(1, "ä\ud800"), record(2, "begun")])
    note_points(tmp_path, [record(1, "again")])
    assert noted_points(tmp_path) == [record(1, "again"), record(2, "begun")]


def test_a_line_that_a_power_cut_tore_takes_no_other_with_it(tmp_path):
    note_points(tmp_path, [record(1, "begun")])
    whole = (tmp_path / AHEAD).read_bytes()
    for length in range(1, len(whole)):
        (tmp_path / AHEAD).write_bytes(whole + whole[:length] + b"\0" * 50)
        note_points(tmp_path, [record(2, "begun")])
        assert noted_points(tmp_path) == [record(1, "begun"), record(2, "begun")]


def test_the_disk_has_the_points_and_the_name_of_their_file_before_the_collection(tmp_path, monkeypatch):
    made(tmp_path / "index")
    synced = []
    store = open_store(LocalStorage(tmp_path / "index"))
    assert states(store) == ["old", "old"]

    def sync(file):
        synced.append((file, (tmp_path / "index" / "files" / AHEAD).stat().st_size > 0, states(store)))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda file: sync("file"))
        patched.setattr(folder_files, "sync_folder", lambda folder: sync(folder.name))
        store.write_ahead("files", [record(1, "begun"), record(2, "begun")])
    assert synced == [("file", True, ["old", "old"]), ("files", True, ["old", "old"])]
    assert states(store) == ["begun", "begun"]
    store.close()


# The store


@pytest.mark.slow
def test_a_store_that_was_not_closed_has_what_was_written_ahead(tmp_path):
    noted = made(tmp_path / "index")
    script = f"""
import os
from lmm_core.store.places import LocalStorage
from lmm_core.store.places import open_store
from tests.store.test_ahead import record, states
store = open_store(LocalStorage({str(tmp_path / "index")!r}))
store.write_ahead("files", [record(1, "begun")])
store.upsert("files", [record(1, "done"), record(2, "done"), record(3, "done")])
assert states(store) == ["done", "done", "done"]
os._exit(7)
"""
    assert subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY).returncode == 7
    assert noted.exists()
    for _ in range(2):  # whoever opens it first, and all after
        store = open_store(LocalStorage(tmp_path / "index"))
        assert states(store) == ["begun", "done", "done"]
        store.close()
        assert not noted.exists()
