"""Indexing a folder: what is stored, what is left alone, and what interruptions leave behind."""

import gc
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest

from lmm_core.crawl import catalogue, cutter, indexer, stored, walk
from lmm_core.crawl.catalogue import SNIPPETS, TERMS, UNFINISHED, VECTORS, Database
from lmm_core.crawl.cutter import TextCutter
from lmm_core.crawl.points import as_text, payload_of, snippet_of
from lmm_core.crawl.snippets import slice_text
from lmm_core.crawl.stored import StoredSnippets
from lmm_core.errors import CrawlError, StoreError
from lmm_core.index.cutting import workers
from lmm_core.index.records import FILES
from lmm_core.store.edge_store import EdgeStore
from lmm_core.store.opening import open_store
from lmm_core.store.places import RemoteSource
from tests.commands import copy_folder, write
from tests.crawl.indexed import DATABASE, age, bm25, fill, index, made, page, read_snippet_file, search
from tests.indexing import WRITES, FailingStore
from tests.qdrant_server import QdrantServer

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def reads(monkeypatch):
    """Record the paths of all files that are read."""
    seen = []

    def counted(found):
        seen.append(found.doc_path)
        return read(found)

    read = walk.read
    monkeypatch.setattr(walk, "read", counted)
    return seen


def sources(state):
    return sorted({payload["source"] for payload in state["points"].values()})


# What is stored


def test_every_snippet_is_a_point_and_a_file():
    fill("docs", trees=page("oak", "birch"), more=page("elm"))
    done = index(description="Trees")
    state = made()
    assert (done.files, done.read, done.unchanged, done.written, done.snippets) == (2, 2, 0, 3, 3)
    assert len(state["points"]) == len(state["snippets"]) == state["count"] == state["entry"].snippets == 3
    wanted = {
        one.id: one
        for path in ("trees.md", "more.md")
        for one in slice_text(Path("docs", path).read_text(), path, "docs")
    }
    assert {one.id: one for one in map(snippet_of, state["points"].values())} == wanted
    assert {name.removesuffix(".md"): read_snippet_file(text) for name, text in state["snippets"].items()} == wanted
    assert not state["unfinished"]


def test_git_does_not_see_the_indexes():
    fill("docs", trees=page("oak"))
    index()
    assert (DATABASE.root / ".gitignore").read_text() == "*\n"


def test_snippets_that_a_power_cut_took_are_stored_again(reads):
    """Records and snippets are synced each in its own time, so a record may be left of snippets that are not."""
    fill("docs", trees=page("oak", "birch"), more=page("elm"))
    index()
    whole = made()
    opened = DATABASE.open("docs")
    opened.store.delete(opened.collection, [ident for ident, one in whole["points"].items() if "birch" in str(one)])
    opened.close()
    write(DATABASE.folder("docs") / UNFINISHED, "")
    reads.clear()
    done = index()
    assert (reads, done.written, done.unchanged) == (["trees.md"], 1, 1)
    assert made() == whole


def test_an_index_is_marked_as_whole_once_its_snippets_survive_a_power_cut(monkeypatch):
    synced, folder = [], DATABASE.folder("docs")

    def sync(store, name):
        synced.append((name, (folder / UNFINISHED).exists(), store.count(name)))

    def sync_folder(path):
        synced.append((path.name, (folder / UNFINISHED).exists(), len([*(folder / SNIPPETS).iterdir()])))

    monkeypatch.setattr(EdgeStore, "sync", sync)
    monkeypatch.setattr(stored, "sync_folder", sync_folder)
    fill("docs", trees=page("oak", "birch"))
    index()
    whole = [("vectors", True, 2), ("vectors.files", True, 1), ("snippets", True, 2)]
    assert synced == [("docs", True, 0), *whole], "the mark is on the disk before anything changes"
    assert not (folder / UNFINISHED).exists()
    index()
    assert len(synced) == 4, "nothing has changed"


def test_a_snippet_comes_back_from_its_payload_and_from_another_process():
    for snippet in slice_text(f"---\ntitle: T\n---\n\n{page('oak', 'elm')}", "a/b.md", "docs"):
        assert snippet_of(payload_of(snippet.doc_path, as_text(snippet))) == snippet
        assert snippet_of(as_earlier(snippet)) == snippet
        assert pickle.loads(pickle.dumps(snippet)) == snippet


def as_earlier(snippet):
    """The payload of a snippet as earlier versions wrote it."""
    fields = asdict(snippet)
    return {"page_content": fields.pop("body"), "source": fields.pop("doc_path"), **fields}


def test_the_engine_is_given_few_values_and_indexes():
    """It takes long for each, and there is a point for every half kilobyte of text."""
    fill("docs", trees=page("oak"))
    index()
    assert {frozenset(payload) for payload in made()["points"].values()} == {frozenset({"source", "snippet"})}
    record = json.loads(Path(".md_index/docs/vectors/collection.json").read_bytes())
    assert record["indexes"] == {"source": "keyword"}


def test_snippets_that_an_earlier_version_stored_are_found_and_replaced():
    fill("docs", trees=page("oak", "birch"), more=page("elm"))
    index()
    wanted = made()
    opened = DATABASE.open("docs")
    there = {point.id: snippet_of(point.payload) for point in opened.store.scroll(opened.collection)}
    opened.store.set_payload(opened.collection, {at: as_earlier(one) for at, one in there.items()})
    opened.close()
    fill("docs", trees=page("oak"))
    done = index()
    assert (done.written, done.dropped) == (0, 1)
    assert set(made()["points"]) < set(wanted["points"])


def test_where_things_lie():
    fill("docs", trees=page("oak"))
    index()
    assert sorted(path.name for path in Path(".md_index").iterdir() if not path.name.startswith(".")) == [
        "catalogue.json",
        "docs",
    ]
    there = sorted(path.name for path in Path(".md_index/docs").iterdir() if not path.name.startswith("."))
    assert there == ["snippets", "terms.json", "vectors", "vectors.files"]


def test_batches_go_over_files(monkeypatch):
    sizes = []
    monkeypatch.setattr(indexer, "BATCH", 4)
    add = StoredSnippets.add
    monkeypatch.setattr(StoredSnippets, "add", lambda self, batch: [sizes.append(len(batch)), add(self, batch)][1])
    fill("docs", a=page("oak", "elm", "ash"), b=page("fir", "yew", "box"), c=page("may", "bay", "fig", "nut", "pea"))
    assert index().snippets == 11
    assert sizes == [4, 4, 3]


def test_small_files_are_handed_over_together(monkeypatch):
    together = []
    cut = TextCutter.cut
    monkeypatch.setattr(TextCutter, "cut", lambda self, texts: [together.append(len(texts)), cut(self, texts)][1])
    fill("docs", **{f"page{at:02}": page(f"word{at}") for at in range(40)}, zz="a line of a long page\n" * 10_000)
    assert index().files == 41
    assert together == [41]


def test_other_processes_start_before_the_first_text_is_cut(monkeypatch):
    """Files are found before they are read. Those that were merely touched need no other process."""
    steps = []
    cut = TextCutter.cut
    monkeypatch.setattr(TextCutter, "cut", lambda self, texts: [steps.append("cut"), cut(self, texts)][1])
    monkeypatch.setattr(workers.Workers, "start", lambda self: steps.append("start"))
    monkeypatch.setattr(cutter, "INLINE", 1000)
    pages = {f"page{at}": page(f"word{at}") for at in range(3)}
    fill("docs", **pages)
    index(workers=2)
    assert steps == ["start", "start", "cut"]  # nothing has started here, so that each further file asks for it
    for name in pages:
        os.utime(f"docs/{name}.md", (1, 1))
    index(workers=2)
    assert steps == ["start", "start", "cut"]
    fill("docs", **{name: text + "More.\n" for name, text in pages.items()})
    index(workers=2)
    assert steps[3:] == ["start", "start", "cut"]


@pytest.mark.slow
def test_other_processes_cut_the_same_snippets(monkeypatch):
    names = " ".join(f"Alpha{at % 7} beta{at % 5}" for at in range(400))  # in no language
    fill("docs", **{f"page{at}": page(f"word{at}", "oak", "elm") for at in range(12)}, zz=names)
    index()
    before = made()
    shutil.rmtree(".md_index")
    monkeypatch.setattr(cutter, "INLINE", 1000)
    index(workers=2)
    assert made() == before


def test_a_process_that_is_ended_from_outside_is_told(monkeypatch, caplog):
    """A system short of memory may end a process. The next run continues."""
    fill("docs", **{f"page{at}": page(f"word{at}", "oak", "elm") for at in range(12)})
    with monkeypatch.context() as patched:
        patched.setattr(cutter, "INLINE", 1000)
        patched.setattr(workers, "begin_work", partial(os._exit, 9))
        with pytest.raises(CrawlError, match=r"was ended from outside.*; run this again: what was done is kept"):
            index(workers=2)
    gc.collect()
    assert "never retrieved" not in caplog.text
    assert index().files == 12


def test_the_database_is_never_crawled():
    fill("docs", trees=page("oak"))
    for _ in range(2):
        assert index(".", "here").files == 1
    with pytest.raises(CrawlError, match="where the indexes are"):
        index(".md_index", "self")


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


def test_unchanged_files_are_not_read_again(reads):
    fill("docs", trees=page("oak"), more=page("elm"))
    index()
    assert sorted(reads) == ["more.md", "trees.md"]
    before = made()
    done = index()
    assert sorted(reads) == ["more.md", "trees.md"]
    assert (done.read, done.unchanged, done.written, done.files, done.snippets) == (0, 2, 0, 2, 2)
    assert made() == before


def test_a_file_that_was_only_touched_is_read_once_and_not_stored_again(reads):
    fill("docs", trees=page("oak"))
    index()
    os.utime("docs/trees.md", (1, 1))
    assert [(done.read, done.unchanged, done.written) for done in (index(), index())] == [(1, 1, 0), (0, 1, 0)]
    assert reads == ["trees.md", "trees.md"]


def test_a_file_that_is_written_twice_within_a_tick_of_the_clock(reads):
    """Git calls such files racy: size and time are the same, and the text differs."""
    now = time.time_ns()
    for word in ("oak", "elm"):
        os.utime(write("docs/trees.md", page(word)), ns=(now, now))
        index()
    assert [match.source for match in search("elm")] == ["trees.md#L1-L5"] and not search("oak")
    age("docs/trees.md")
    assert [(done.read, done.unchanged) for done in (index(), index())] == [(1, 1), (0, 1)]


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
        yield from (one for one in crawl(*given, **named) if not one.doc_path.startswith("sub/"))

    monkeypatch.setattr(indexer, "crawl", without_sub)
    assert index().removed == 0
    assert sources(made()) == ["sub/more.md", "trees.md"]


def test_a_file_that_vanishes_between_crawl_and_read_is_listed(monkeypatch):
    fill("docs", trees=page("oak"), more=page("elm"))
    read = walk.read

    def vanishing(found):
        if found.doc_path == "more.md":
            found.path.unlink()
        return read(found)

    monkeypatch.setattr(walk, "read", vanishing)
    done = index()
    assert [(one.doc_path, one.reason) for one in done.skipped] == [("more.md", "gone since it was found")]
    assert done.files == 1


def test_a_large_file_is_indexed_with_advice():
    write("docs/large.md", page(*(f"word{at}" for at in range(2200))))
    write("docs/huge.md", "word " * 2_200_000)
    done = index()
    assert [(one.doc_path, "split" in one.reason) for one in done.large] == [("large.md", True)]
    assert [(one.doc_path, "split" in one.reason) for one in done.skipped] == [("huge.md", True)]
    assert done.files == 1 and search("word1234")[0].source.startswith("large.md#L")


def test_a_new_description_alone_changes_the_catalogue_alone(reads):
    fill("docs", trees=page("oak"))
    index(description="Trees")
    state = made()
    index(description="Woods")
    after = made()
    assert after["entry"].description == "Woods" and after["points"] == state["points"] and reads == ["trees.md"]


# What cannot be


def test_one_name_is_one_folder():
    fill("docs", trees=page("oak"))
    fill("other", more=page("elm"))
    index("docs", "docs")
    with pytest.raises(CrawlError, match=r"is of the folder .*docs: choose another name"):
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


def test_other_models_are_refused_in_a_sentence():
    from lmm_core.models.embedders.bm25 import Bm25Encoder

    class OtherEncoder(Bm25Encoder):
        name = "splade"

    def other(known=None):
        encoder = bm25()
        encoder.sparse = OtherEncoder()
        return encoder

    fill("docs", trees=page("oak"))
    index()
    before = made()
    with pytest.raises(CrawlError, match=r"'docs' was made otherwise \(word model bm25, now splade\)"):
        index(encoder_for=other)
    assert made() == before


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
from lmm_core.crawl import catalogue, indexer
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
indexer.BATCH = 2
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


def test_files_that_change_or_go_after_an_interruption_leave_nothing_behind(monkeypatch):
    first_version()
    monkeypatch.setattr(indexer, "BATCH", 2)
    written = indexer._Run._close_files
    monkeypatch.setattr(indexer._Run, "_close_files", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        index()
    monkeypatch.setattr(indexer._Run, "_close_files", written)
    assert os.listdir(".md_index/docs/snippets")
    fill("docs", a=page("may"))
    Path("docs/b.md").unlink()
    index()
    state = made()
    shutil.rmtree(".md_index")
    index()
    assert made() == state


def test_files_are_counted_though_the_records_of_new_ones_are_not_kept(monkeypatch):
    kept = []
    finish = indexer._Run.finish
    monkeypatch.setattr(indexer._Run, "finish", lambda run: (kept.append(sorted(run.records)), finish(run))[1])
    first_version()
    assert index().files == 3
    second_version()
    assert index().files == 3
    fill("docs", e=page("oak"))
    assert index().files == 4
    assert kept == [[], ["a.md", "c.md"], ["a.md", "c.md", "d.md"]]


def test_a_file_is_recorded_once_if_it_is_new_and_twice_if_it_changes(monkeypatch):
    recorded = []
    upsert = EdgeStore.upsert

    def counted(store, name, points):
        recorded.extend(point.payload["source"] for point in points if name == VECTORS + FILES)
        upsert(store, name, points)

    monkeypatch.setattr(EdgeStore, "upsert", counted)
    first_version()
    index()
    assert recorded == ["a.md", "b.md", "c.md"]
    recorded.clear()
    fill("docs", a=page("may"), d=page("fig"))
    index()
    assert sorted(recorded) == ["a.md", "a.md", "d.md"]


def test_the_records_of_files_have_no_index_which_would_be_in_memory():
    first_version()
    index()
    record = Path(".md_index/docs", VECTORS + FILES, "collection.json")
    assert json.loads(record.read_text(encoding="utf-8"))["indexes"] == {}


class InMemory(FailingStore):
    """A store that outlives the runs. It is fast, and fails when told to."""

    def __init__(self):
        super().__init__(open_store(":memory:"), 10_000, WRITES)

    def close(self):
        pass

    def mark(self, path):
        """Do what `Path.touch` does, and perhaps fail."""
        if self.left < 1:
            raise StoreError("the disk is full")
        self.left -= 1
        path.write_bytes(b"")


def lose(name):
    """Take a collection away."""
    return lambda store: store.store.drop(name)


def remove_a_file(store):
    Path("docs/b.md").unlink()


def edit_a_file(store):
    fill("docs", a=page("oak", "may"))


@pytest.mark.parametrize("change", [edit_a_file, remove_a_file, lose(VECTORS), lose(VECTORS + FILES)])
def test_what_goes_back_after_a_run_that_failed_at_any_write_is_what_it_was(change, monkeypatch):
    monkeypatch.setattr(indexer, "BATCH", 2)
    for after in range(30):
        store = InMemory()
        monkeypatch.setattr(Database, "open", lambda *given, store=store: catalogue.OpenIndex(store, VECTORS))
        monkeypatch.setattr(Path, "touch", lambda path, store=store: store.mark(path))
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


@pytest.mark.parametrize("missing", [TERMS, SNIPPETS, VECTORS, VECTORS + FILES, "../catalogue.json", "../docs"])
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


def test_a_server_holds_the_collections_and_the_folder_the_rest():
    fill("docs", trees=page("oak", "elm"), more=page("fir"))
    with QdrantServer() as server:
        database = Database(Path(".md_index"), RemoteSource(server.url))
        assert index(database=database).snippets == 3
        assert sorted(one.name for one in server.client.get_collections().collections) == [
            "docs.vectors",
            "docs.vectors.files",
        ]
        assert sorted(os.listdir(".md_index/docs")) == [".lmm-folder", ".lock", ".queue", "snippets", "terms.json"]
        assert [match.source for match in search("elm", database=database)] == ["trees.md#L7-L9"]
        Path("docs/more.md").unlink()
        assert index(database=database).dropped == 1
        assert len(made(database=database)["points"]) == 2 and not search("fir", database=database)


def test_on_a_server_too_one_process_changes_an_index_at_a_time(monkeypatch):
    monkeypatch.setattr("lmm_core.store.folder_lock.WAIT", 0.05)
    fill("docs", trees=page("oak"))
    with QdrantServer() as server:
        database = Database(Path(".md_index"), RemoteSource(server.url))
        index(database=database)
        opened = database.open("docs", to_change=True)
        with pytest.raises(StoreError, match="already open in this program"):
            index(database=database)
        assert search("oak", database=database)
        opened.close()
