"""Indexing a folder: what is stored, what is left alone, and what interruptions leave behind."""

import os
import re
import shutil
from pathlib import Path

import pytest

from lmm_core.crawl import indexer
from lmm_core.crawl.catalogue import SNIPPETS, Database
from lmm_core.crawl.reader import cut_windows
from lmm_core.errors import CrawlError
from lmm_core.indexing.encoding import EncodingModel
from lmm_core.settings.project import Project
from lmm_core.settings.tables import StorageOptions
from tests.commands import write
from tests.crawl.indexed import DATABASE, fill, index, made, page, read_snippet_file, search
from tests.qdrant_server import collections_of

# What is stored


def test_every_snippet_is_a_point_and_a_file_that_git_does_not_see():
    fill("docs", trees=page("oak", "birch"), more=page("elm"))
    done = index(description="Trees")
    state = made()
    assert (done.files, done.read, done.unchanged, done.written, done.snippets) == (2, 2, 0, 3, 3)
    entry = state["entry"]
    assert (entry.description, entry.root, entry.files, entry.snippets) == ("Trees", "../docs", 2, 3)
    windows = {
        window.uuid: window
        for path in ("trees.md", "more.md")
        for window in cut_windows(Path("docs", path).read_text(), f"docs/{path}", path, EncodingModel.BM25)
    }
    assert state["points"] == {ident: window.payload for ident, window in windows.items()}
    files = {name.removesuffix(".md"): read_snippet_file(text) for name, text in state["snippets"].items()}
    contents = {ident: window.content for ident, window in windows.items()}
    assert {ident: file["body"] for ident, file in files.items()} == contents
    assert (DATABASE.root / ".gitignore").read_text() == "*\n"


def test_what_moves_is_not_embedded_again_and_its_file_says_where_it_stands():
    fill("docs", trees=page("oak", "birch"))
    index()
    fill("docs", trees="A line before all.\n\n" + page("oak", "birch"))
    done = index()
    assert (done.written, done.dropped) == (1, 1)  # the first one has the line
    assert search("birch")[0].source == "trees.md#L9-L11"
    [moved] = [file for file in map(read_snippet_file, made()["snippets"].values()) if "birch" in file["body"]]
    assert (moved["line_start"], moved["line_end"]) == (9, 11)


def test_snippets_hold_nothing_of_linked_or_ignored_files_private_metadata_or_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret-key")
    write("outside.md", page("s3cret-outside"))
    write("docs/.gitignore", "private.md\n")
    private = "---\ntitle: T\n~~note: s3cret-note\n~chat: s3cret-chat\n---\n\n"
    fill("docs", trees=private + page("oak"), private=page("s3cret-ignored"))
    os.symlink(Path("outside.md").resolve(), "docs/link.md")
    assert [file.doc_path for file in index().skipped] == ["link.md"]
    assert made()["points"]
    files = [path for path in Path(".md_index").rglob("*") if path.is_file()]
    assert not [path for path in files if b"s3cret" in path.read_bytes()]


# Another run


def check_as_if_indexed_at_once():
    """Check that an index from nothing holds the same."""
    state = made()
    shutil.rmtree(".md_index")
    index()
    assert made() == state


def test_what_has_changed_is_written_and_what_is_gone_or_damaged_leaves():
    fill("docs", trees=page("oak", "birch"), same=page("elm"), gone=page("fir"), damaged=page("yew"))
    index()
    fill("docs", trees=page("oak", "beech"))
    Path("docs/gone.md").unlink()
    write("docs/damaged.md", b"caf\xe9 " * 100)
    done = index()
    assert (done.files, done.read, done.unchanged, done.removed) == (2, 1, 1, 2)
    assert (done.written, done.dropped) == (1, 3)
    assert [file.doc_path for file in done.skipped] == ["damaged.md"]
    assert search("beech")[0].source.startswith("trees.md#L") and not search("birch")
    check_as_if_indexed_at_once()


def test_a_folder_that_cannot_be_looked_into_for_once_keeps_its_place(monkeypatch):
    fill("docs", trees=page("oak"))
    fill("docs/sub", more=page("elm"))
    index()
    [trees] = [file for file in indexer.crawl(Path("docs")) if file.name == "trees.md"]
    closed = indexer.Skipped("sub/", "may not be read: permission denied")
    monkeypatch.setattr(indexer, "crawl", lambda *arguments, **options: iter([closed, trees]))
    assert index().removed == 0
    assert {payload["source"] for payload in made()["points"].values()} == {"sub/more.md", "trees.md"}


def test_an_index_of_an_earlier_version_is_made_anew():
    fill("docs", trees=page("oak", "birch"), more=page("elm"))
    index()
    wanted = made()
    for path in (*Path(".md_index").rglob("collection.json"), Path(".md_index/catalogue.json")):
        path.write_text(re.sub('"version": [5-9]', '"version": 4', path.read_text()))
    with pytest.raises(CrawlError, match=r"an earlier version\. Run `lmm md-index` on its folder"):
        search("oak", "docs")
    assert index().written == 3
    assert made() == wanted and search("oak")


# What cannot be


def test_a_name_belongs_to_one_folder_wherever_it_moves():
    fill("docs", trees=page("oak"))
    fill("other", more=page("elm"))
    index("docs", "docs")
    with pytest.raises(CrawlError, match=r"belongs to the folder .*docs\. Choose another name"):
        index("other", "docs")
    with pytest.raises(CrawlError, match="differs by more than case"):
        index("other", "Docs")
    shutil.move("docs", "moved")
    assert index("moved", "docs").unchanged == 1


# Interruptions


@pytest.mark.parametrize("missing", [SNIPPETS, "../catalogue.json"])
def test_what_can_be_made_again_is_made_again(missing):
    fill("docs", trees=page("oak", "elm"), gone=page("fir"))
    index()
    path = DATABASE.folder("docs") / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    Path("docs/gone.md").unlink()
    fill("docs", trees=page("oak", "elm", "yew"))
    index()
    check_as_if_indexed_at_once()


@pytest.mark.qdrant
def test_a_server_holds_the_collections_and_the_folder_the_rest(qdrant):
    database = Database(Path(".md_index"), Project(Path(), storage=StorageOptions(url=qdrant)))
    fill("docs", trees=page("oak", "elm"), more=page("fir"))
    assert index(database=database).snippets == 3
    assert collections_of(qdrant) == ["docs.vectors", "docs.vectors.files", "docs.vectors.none"]
    assert sorted(os.listdir(".md_index/docs")) == [".lmm-folder", ".lock", ".queue", "snippets"]
    assert [match.source for match in search("elm", database=database)] == ["trees.md#L7-L9"]
    Path("docs/more.md").unlink()
    assert index(database=database).dropped == 1
    assert len(made(database=database)["points"]) == 2 and not search("fir", database=database)
