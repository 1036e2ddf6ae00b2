"""Indexing a folder: what is stored, what is left alone, and what interruptions leave behind."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from lmm_core.crawl import indexer, walk
from lmm_core.crawl.catalogue import SNIPPETS, VECTORS, Database
from lmm_core.crawl.windows import cut_windows
from lmm_core.errors import CrawlError, StoreError
from lmm_core.indexing import refresh
from lmm_core.indexing.encoding import EncodingModel
from lmm_core.indexing.records import FILES
from lmm_core.indexing.stores import project_store
from lmm_core.settings.project import Project
from lmm_core.settings.tables import StorageOptions
from lmm_core.store.folder_lock import FolderLock
from lmm_core.store.opening import open_store
from tests.commands import copy_folder, write
from tests.crawl.indexed import DATABASE, fill, index, made, page, read_snippet_file, search
from tests.indexing import WRITES, FailingStore
from tests.qdrant_server import collections_of

REPOSITORY = Path(__file__).parents[2]


def sources(state):
    return sorted({payload["source"] for payload in state["points"].values()})


# What is stored


def test_every_snippet_is_a_point_and_a_file():
    fill("docs", trees=page("oak", "birch"), more=page("elm"))
    done = index(description="Trees")
    state = made()
    assert (done.files, done.read, done.unchanged, done.written, done.snippets) == (2, 2, 0, 3, 3)
    assert len(state["points"]) == len(state["snippets"]) == state["entry"].snippets == 3
    wanted = {
        one.uuid: one
        for path in ("trees.md", "more.md")
        for one in cut_windows(Path("docs", path).read_text(), f"docs/{path}", path, EncodingModel.BM25)
    }
    assert state["points"] == {ident: one.payload for ident, one in wanted.items()}
    files = {name.removesuffix(".md"): read_snippet_file(text) for name, text in state["snippets"].items()}
    assert {ident: one["body"] for ident, one in files.items()} == {at: one.content for at, one in wanted.items()}


def test_git_does_not_see_the_indexes():
    fill("docs", trees=page("oak"))
    index()
    assert (DATABASE.root / ".gitignore").read_text() == "*\n"


def stored_again(change):
    """Return the result of a run after something was done to the collections."""
    store = project_store(DATABASE.project_of("docs"))
    change(store)
    store.close()
    return index()


def test_snippets_that_are_lost_are_stored_again():
    fill("docs", trees=page("oak", "birch"), more=page("elm"))
    index()
    whole = made()
    lost = [ident for ident, one in whole["points"].items() if "birch" in str(one)]
    assert stored_again(lambda store: store.delete(VECTORS, lost)).written == 3
    assert made() == whole


def test_an_index_of_an_earlier_version_is_made_anew():
    fill("docs", trees=page("oak", "birch"), more=page("elm"))
    index()
    wanted = made()
    for path in (*Path(".md_index").rglob("collection.json"), Path(".md_index/catalogue.json")):
        path.write_text(path.read_text().replace('"version": 5', '"version": 4'))
    with pytest.raises(CrawlError, match="an earlier version of LM markdown: run `lmm md-index` on its folder"):
        search("oak", "docs")
    told = []
    with pytest.raises(CrawlError, match="none of the indexes"):
        search("oak", warn=told.append)
    assert told[0].startswith("left out: the index 'docs' was made by an earlier version")
    done = index()
    assert done.written == 3
    assert made() == wanted and search("oak")


def test_what_moves_is_not_embedded_again_and_its_file_says_where_it_stands():
    fill("docs", trees=page("oak", "birch"))
    index()
    fill("docs", trees="A line before all.\n\n" + page("oak", "birch"))
    done = index()
    assert (done.written, done.dropped) == (1, 1)  # the first one has the line
    assert search("birch")[0].source == "trees.md#L9-L11"
    [moved] = [one for one in map(read_snippet_file, made()["snippets"].values()) if "birch" in one["body"]]
    assert (moved["line_start"], moved["line_end"]) == (9, 11)


def test_snippets_hold_nothing_from_elsewhere(monkeypatch):
    """Snippets hold nothing of linked or ignored files, private metadata, or the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret-key")
    write("outside.md", page("s3cret-outside"))
    write("docs/.gitignore", "private.md\n")
    private = "---\ntitle: T\n~~note: s3cret-note\n~chat: s3cret-chat\n---\n\n"
    fill("docs", trees=private + page("oak"), private=page("s3cret-ignored"))
    os.symlink(Path("outside.md").resolve(), "docs/link.md")
    done = index()
    assert [one.doc_path for one in done.skipped] == ["link.md"]
    assert made()["points"]
    kept = [path for path in Path(".md_index").rglob("*") if path.is_file()]
    assert not [path for path in kept if b"s3cret" in path.read_bytes()]


# What is left alone


def test_only_what_has_changed_is_written():
    fill("docs", trees=page("oak", "birch"), more=page("elm"))
    index()
    fill("docs", trees=page("oak", "beech"))
    done = index()
    assert (done.read, done.unchanged, done.written, done.dropped) == (1, 1, 1, 1)
    assert search("beech")[0].source.startswith("trees.md#L") and not search("birch")
    state = made()
    shutil.rmtree(".md_index")
    index()
    assert made() == state  # as if it had been indexed at once


def test_what_is_removed_leaves_with_all_that_was_stored_of_it():
    fill("docs", trees=page("oak"), more=page("elm"), sub=page("fir"))
    index()
    Path("docs/more.md").unlink()
    done = index()
    assert (done.removed, done.dropped, done.files) == (1, 1, 2)
    state = made()
    assert sources(state) == ["sub.md", "trees.md"] and len(state["snippets"]) == 2
    shutil.rmtree(".md_index")
    index()
    assert made() == state


def test_a_file_that_cannot_be_read_any_more_leaves():
    fill("docs", trees=page("oak"), more=page("elm"))
    index()
    Path("docs/more.md").write_bytes(b"caf\xe9 " * 100)
    done = index()
    assert [one.doc_path for one in done.skipped] == ["more.md"]
    assert sources(made()) == ["trees.md"]


def test_a_folder_that_cannot_be_looked_into_for_once_keeps_its_place(monkeypatch):
    fill("docs", trees=page("oak"))
    fill("docs/sub", more=page("elm"))
    index()
    crawl = indexer.crawl

    def without_sub(*given, **named):
        yield walk.Skipped("sub/", "may not be read: permission denied")
        yield from (
            one for one in crawl(*given, **named) if isinstance(one, walk.Skipped) or not one.name.startswith("sub/")
        )

    monkeypatch.setattr(indexer, "crawl", without_sub)
    assert index().removed == 0
    assert sources(made()) == ["sub/more.md", "trees.md"]


def test_a_file_that_vanishes_between_crawl_and_read_is_listed(monkeypatch):
    fill("docs", trees=page("oak"), more=page("elm"))
    read = indexer.read

    def vanishing(found):
        if found.name == "more.md":
            found.path.unlink()
        return read(found)

    monkeypatch.setattr(indexer, "read", vanishing)
    done = index()
    assert [(one.doc_path, one.reason) for one in done.skipped] == [("more.md", "gone since it was found")]
    assert done.files == 1


def test_a_new_description_alone_changes_the_catalogue_alone():
    fill("docs", trees=page("oak"))
    index(description="Trees")
    state = made()
    index(description="Woods")
    after = made()
    assert after["entry"].description == "Woods" and after["points"] == state["points"]


# What cannot be


def test_one_name_is_one_folder():
    fill("docs", trees=page("oak"))
    fill("other", more=page("elm"))
    index("docs", "docs")
    with pytest.raises(CrawlError, match=r"belongs to the folder .*docs: choose another name"):
        index("other", "docs")
    with pytest.raises(CrawlError, match="differs by more than case"):
        index("other", "Docs")
    shutil.move("docs", "moved")
    assert index("moved", "docs").unchanged == 1


def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_made():
    fill("docs", trees=page("oak"))
    for name in ("../out", "a/b", ".."):
        with pytest.raises(CrawlError, match="cannot be the name"):
            index("docs", name)
    with pytest.raises(CrawlError, match="is not a folder"):
        index("nowhere", "docs")
    assert os.listdir() == ["docs"]


@pytest.mark.slow
def test_two_processes_do_not_change_an_index_at_once(monkeypatch):
    fill("docs", trees=page("oak"))
    monkeypatch.setattr("lmm_core.store.folder_lock.WAIT", 0.05)
    index()
    hold = "import sys, pathlib\nfrom lmm_core.store.folder_lock import FolderLock\nlock = FolderLock(pathlib.Path('.md_index/docs'))\nlock.take()\nprint('held', flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=rf"in use by another process \(pid {other.pid}\)"):
            index()
        other.stdin.close()
    assert index().unchanged == 1


# Interruptions


# Ends the process before its n-th change: of the store, of a snippet file, of the catalogue.
KILLED = """
import os, sys
from pathlib import Path
from lmm_core.crawl import catalogue
from lmm_core.indexing import refresh
from lmm_core.store.edge_store import EdgeStore
from tests.crawl.indexed import index
left = int(sys.argv[1])
def counted(work):
    def counting(*given, **named):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return work(*given, **named)
    return counting
for owner, names in ((EdgeStore, "create upsert delete"), (Path, "write_bytes unlink touch"), (catalogue, "write_markdown")):
    for name in names.split():
        setattr(owner, name, counted(getattr(owner, name)))
refresh.BATCH = 2
index()
print(int(sys.argv[1]) - left)
"""


def killed(at):
    """Run until the n-th change, and return the number of changes, or None if it was killed."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", KILLED, str(at)], capture_output=True, text=True, env=environment)
    assert done.returncode in (0, -9), done.stderr
    return int(done.stdout) if done.returncode == 0 else None


def first_version():
    fill("docs", a=page("oak", "elm", "ash"), b=page("fir"), c=page("yew", "box"))


def second_version():
    fill("docs", a=page("oak", "may", "ash", "bay"), d=page("fig"))
    Path("docs/b.md").unlink()


@pytest.mark.long
@pytest.mark.parametrize("update", [False, True], ids=["first run", "update"])
def test_a_run_that_is_killed_at_any_moment_is_completed_by_the_next(update):
    first_version()
    if update:
        index()
        second_version()
    copy_folder(".md_index" if update else "docs", "before")
    changes = killed(10_000)
    wanted = made()
    assert changes > 12
    for at in range(0, changes, 1 if update else 2):
        shutil.rmtree(".md_index")
        if update:
            copy_folder("before", ".md_index")
        assert killed(at) is None
        index()
        assert made() == wanted, at


class InMemory(FailingStore):
    """A store that outlives the runs. It is fast, and fails when told to."""

    def __init__(self):
        super().__init__(open_store(":memory:"), 10_000, WRITES)

    def close(self):
        pass


def lose(name):
    """Take a collection away."""
    return lambda store: store.store.drop(name)


def remove_a_file(store):
    Path("docs/b.md").unlink()


def edit_a_file(store):
    fill("docs", a=page("oak", "may"))


@pytest.mark.parametrize("change", [edit_a_file, remove_a_file, lose(VECTORS), lose(VECTORS + FILES)])
def test_what_goes_back_after_a_run_that_failed_at_any_write_is_what_it_was(change, monkeypatch):
    monkeypatch.setattr(refresh, "BATCH", 2)
    for after in range(30):
        store = InMemory()
        monkeypatch.setattr(indexer, "project_store", lambda project, store=store: store)
        monkeypatch.setattr("tests.crawl.indexed.project_store", lambda project, store=store: store)
        shutil.rmtree(".md_index", ignore_errors=True)
        first_version()
        index()
        wanted = made()
        times = {path: os.stat(path).st_mtime_ns for path in Path("docs").iterdir()}
        change(store)
        store.left = after
        with suppress(StoreError):
            index()
        is_done, store.left = store.left >= 0, 10_000
        first_version()
        for path, mtime in times.items():  # as `mv` brings a file back: size and time are what they were
            os.utime(path, ns=(mtime, mtime))
        index()
        assert made() == wanted, after
        if is_done:
            return
    raise AssertionError("more writes than were thought of")


@pytest.mark.parametrize("missing", [SNIPPETS, VECTORS, VECTORS + FILES, "../catalogue.json", "../docs"])
def test_what_can_be_made_again_is_made_again(missing):
    fill("docs", trees=page("oak", "elm"), gone=page("fir"))
    index()
    path = DATABASE.folder("docs") / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    Path("docs/gone.md").unlink()
    fill("docs", trees=page("oak", "elm", "yew"))
    index()
    state = made()
    shutil.rmtree(".md_index")
    index()
    assert made() == state


# On a server


def on_server(url):
    return Database(Path(".md_index"), Project(Path(), storage=StorageOptions(url=url)))


@pytest.mark.qdrant
def test_a_server_holds_the_collections_and_the_folder_the_rest(qdrant):
    fill("docs", trees=page("oak", "elm"), more=page("fir"))
    database = on_server(qdrant)
    assert index(database=database).snippets == 3
    assert collections_of(qdrant) == ["docs.vectors", "docs.vectors.files", "docs.vectors.none"]
    assert sorted(os.listdir(".md_index/docs")) == [".lmm-folder", ".lock", ".queue", "snippets"]
    assert [match.source for match in search("elm", database=database)] == ["trees.md#L7-L9"]
    Path("docs/more.md").unlink()
    assert index(database=database).dropped == 1
    assert len(made(database=database)["points"]) == 2 and not search("fir", database=database)


@pytest.mark.qdrant
def test_on_a_server_too_one_process_changes_an_index_at_a_time(monkeypatch, qdrant):
    monkeypatch.setattr("lmm_core.store.folder_lock.WAIT", 0.05)
    fill("docs", trees=page("oak"))
    database = on_server(qdrant)
    index(database=database)
    lock = FolderLock(database.folder("docs"))
    lock.take()
    with pytest.raises(StoreError, match="already open in this program"):
        index(database=database)
    assert search("oak", database=database)
    lock.release()
