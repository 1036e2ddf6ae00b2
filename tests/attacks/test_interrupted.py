"""An index after runs that were ended at any moment, while files went back, moved and went away.

What counts is the next run that comes to its end: after it the index is the one that is made
from nothing of the same files. Moments are counted, not timed (`killed_runs`).
"""

import os
import shutil
import tempfile
import zlib
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lmm_core.crawl.catalogue import CATALOGUE, SNIPPETS, database_at
from lmm_core.crawl.search import Indexes
from lmm_core.indexing.records import FILES
from lmm_core.indexing.stores import project_store
from lmm_core.models.chat import run as run_async
from lmm_core.retrieve.library import open_library
from lmm_core.retrieve.search import search_points
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from tests.attacks.killed_runs import ENDS, Commands
from tests.commands import text, write
from tests.crawl.indexed import page
from tests.indexing import document, without_time
from tests.qdrant_server import remove_collections

NAMES = ("a.md", "b.md", "sub/c.md")
KEPT = "kept.md"
WORDS = ("alpha", "beta", "gamma", "delta")
pytestmark = pytest.mark.slow
MOST = 90  # writes: a run of these documents that is ended by then has not many more


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.qdrant)])
def server(request):
    """The address of a server for the index, or "" for a folder."""
    return request.getfixturevalue("qdrant") if request.param == "server" else ""


@pytest.fixture(scope="module")
def commands():
    """The program, imported once."""
    with Commands() as running:
        yield running


# The two commands


class Lmm:
    """`lmm index .`"""

    command = ("index", ".")
    has_options = True
    made = ".lmm"
    files = Path()

    def __init__(self, server):
        self.server = server

    def text(self, words, docid):
        """A document that has a section for each word."""
        return document(*words, header=f"title: T\ndocid: {docid}" if docid else "title: T")

    def state(self):
        """All that is stored, and what is found."""
        project = load_project(None)
        store, database = project_store(project), project.database
        try:
            names = (database.collection_name, database.companion_collection, database.collection_name + FILES)
            stored = {name: {point.id: without_time(point.payload) for point in store.scroll(name)} for name in names}
            found = {word: run_async(self.search(store, project, word)) for word in WORDS}
            return {"stored": stored, "found": found}
        finally:
            store.close()

    async def search(self, store, project, word):
        return await search_points(await open_library(project, Models(), store), word, 6, None, print)


class Md:
    """`lmm md-index --root docs`"""

    command = ("md-index", "--root", "docs")
    has_options = False
    made = ".md_index"
    files = Path("docs")

    def __init__(self, server):
        self.server = server

    def text(self, words, docid):
        """A page that has a snippet for each word."""
        return page(*words) + docid

    def state(self):
        """All that is stored, the files that are made, and what is found."""
        database = database_at(load_project(None), Path(".md_index"))
        folder, project = database.folder("docs"), database.project_of("docs")
        store, collection = project_store(project), project.database.collection_name
        try:
            names = (collection, collection + FILES)
            stored = {name: {point.id: without_time(point.payload) for point in store.scroll(name)} for name in names}
        finally:
            store.close()
        return {
            "stored": stored,
            "snippets": {path.name: path.read_bytes() for path in (folder / SNIPPETS).iterdir()},
            "catalogue": (database.root / CATALOGUE).read_bytes(),
            "found": {word: self.search(database, word) for word in WORDS},
        }

    def search(self, database, word):
        async def work():
            indexes = Indexes(database, Models())
            try:
                return await indexes.search(word, "docs")
            finally:
                await indexes.close()

        return run_async(work())


@contextmanager
def project(kind, server):
    """An empty project as the working folder, whose index is in its folder or on a server."""
    with tempfile.TemporaryDirectory(dir=".") as folder, chdir(folder):
        write("config.toml", f'[storage]\nurl = "{server}"\n' if server else "")
        made = kind(server)
        yield made
        remove_index(made)


def remove_index(kind):
    """Begin with nothing."""
    shutil.rmtree(kind.made, ignore_errors=True)
    if kind.server:
        remove_collections(kind.server)


def check_as_new(kind, commands):
    """The next complete run gives what is made from nothing."""
    commands.complete(*kind.command)
    after = kind.state()
    remove_index(kind)
    commands.complete(*kind.command)
    assert after == kind.state()


# The files


def put(path, content):
    """Write a file. Its time is a matter of its content, as when a file goes back that had
    been put aside: size and time tell nothing then."""
    write(path, content)
    seconds = 10**9 + zlib.crc32(content.encode()) % 10**8
    os.utime(path, (seconds, seconds))


def contents(folder):
    """The files by their paths."""
    return {path: text(path) for path in sorted(folder.rglob("*.md")) if ".lmm" not in path.parts}


def edit(kind, change, versions):
    """Do something to the files, as it is said."""
    what, name, other, words, docid = change
    path = kind.files / name
    if what == "write":
        put(path, kind.text(words, docid))
    elif what == "delete":
        path.unlink(missing_ok=True)
    elif what == "rename" and path.exists():
        (kind.files / other).parent.mkdir(exist_ok=True)
        os.replace(path, kind.files / other)
    elif what == "go back":
        for there in contents(kind.files):
            there.unlink()
        for there, content in versions[len(words) % len(versions)].items():
            put(there, content)


changes = st.tuples(
    st.sampled_from(("write", "write", "go back", "rename", "delete")),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(WORDS), max_size=4),
    st.sampled_from(("", "", "one", "two")),
)
runs = st.tuples(
    st.lists(changes, max_size=3),
    st.none() | st.integers(0, MOST),
    st.sampled_from((*ENDS, "kill")),
    st.sampled_from(((), (), ("--prune",), ("--rebuild",))),
)
histories = st.lists(runs, min_size=2, max_size=4)


def play(kind, commands, history):
    """Edit files and run the command, ended or not, as a history says; files whose ids are
    the same by then go."""
    put(kind.files / KEPT, kind.text(["omega"], ""))
    versions = [contents(kind.files)]
    for edits, at, end, options in history:
        for change in edits:
            edit(kind, change, versions)
        versions.append(contents(kind.files))
        status, said, _ = commands.run(*kind.command, *(options if kind.has_options else ()), at=at, end=end)
        assert status in (0, 1, -9) or end == "interrupt", said
    seen = set()
    for path, content in contents(kind.files).items():
        docid = next((docid for docid in ("one", "two") if f"docid: {docid}\n" in content), path)
        path.unlink() if docid in seen else seen.add(docid)
    check_as_new(kind, commands)


few = settings(
    max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
many = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("kind", [Lmm, Md])
@few
@given(history=histories)
def test_after_any_history_the_index_is_as_new(kind, server, commands, history):
    with project(kind, server) as made:
        play(made, commands, history)


@pytest.mark.long
@pytest.mark.parametrize("kind", [Lmm, Md])
@many
@given(history=histories)
def test_after_very_many_histories_the_index_is_as_new(kind, server, commands, history):
    with project(kind, server) as made:
        play(made, commands, history)


# Examples


def texts_found(kind, word):
    """What a search gives for a word that stands in one part of a file."""
    return [match.snippet if hasattr(match, "snippet") else match.payload["page_content"]
            for match in kind.state()["found"][word]]  # fmt: skip


@pytest.mark.parametrize("kind", [Lmm, Md])
def test_a_file_that_goes_back_after_a_killed_run_is_found_as_it_is(kind, server, commands):
    with project(kind, server) as made:
        put(made.files / "notes.md", made.text(["alpha", "beta"], ""))
        commands.complete(*made.command)
        as_indexed = made.state()
        put(made.files / "notes.md", made.text(["alpha", "gamma"], ""))
        assert commands.run(*made.command, at=0, count="records")[0] == -9
        assert texts_found(made, "gamma")
        put(made.files / "notes.md", made.text(["alpha", "beta"], ""))  # git checkout notes.md
        commands.complete(*made.command)
        assert texts_found(made, "beta") and not texts_found(made, "gamma")
        assert made.state() == as_indexed


@pytest.mark.parametrize("kind", [Lmm, Md])
def test_what_a_killed_run_had_removed_counts_no_longer_when_words_are_weighed(kind, commands):
    with project(kind, "") as made:
        for name in NAMES:
            put(made.files / name, made.text(["alpha", "beta"], ""))
        commands.complete(*made.command)
        put(made.files / NAMES[0], made.text(["alpha"], ""))
        assert commands.run(*made.command, at=0, count="records")[0] == -9
        check_as_new(made, commands)
