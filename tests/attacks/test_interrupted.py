"""An index after runs that were ended at any write, by a kill or an error, while files went
back, moved and went away.

What counts is the next run that comes to its end: after it the index is the one that is made
from nothing of the same files. Moments are counted, not timed (`killed_runs`).
"""

import json
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
from lmm_core.indexing.collection import project_store
from lmm_core.indexing.records import FILES
from lmm_core.settings.project import load_project
from tests.attacks.killed_runs import ENDS, Commands
from tests.commands import text, write
from tests.crawl.indexed import page
from tests.indexing import document, lmm, without_time
from tests.qdrant_server import remove_collections

NAMES = ("a.md", "b.md", "sub/c.md")
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

    command, options = ("index", "."), ((), ("--prune",), ("--rebuild",))
    root, folder, files = Path(".lmm"), Path(".lmm/index"), Path()

    def __init__(self, server=""):
        self.server = server

    def text(self, words, docid):
        """A document that has a section for each word."""
        return document(*words, header=f"title: T\ndocid: {docid}" if docid else "title: T")

    def stored(self):
        """Return everything stored."""
        project = load_project(None)
        database = project.database
        return points_of(project, database.companion_collection, database.collection_name)

    def found(self, word):
        """Return the results of a search."""
        return lmm(f"search {word} --json")[0]


class Md(Lmm):
    """`lmm md-index --root docs`"""

    command, options = ("md-index", "--root", "docs"), ((),)
    root, folder, files = Path(".md_index"), Path(".md_index/docs"), Path("docs")

    def text(self, words, docid):
        """A page that has a snippet for each word."""
        return page(*words) + docid

    def stored(self):
        """Return everything stored, and the files written."""
        project = database_at(load_project(None), self.root).project_of("docs")
        return {
            "points": points_of(project, project.database.collection_name),
            "snippets": {path.name: path.read_bytes() for path in (self.folder / SNIPPETS).iterdir()},
            "catalogue": json.loads((self.root / CATALOGUE).read_bytes()),
        }

    def found(self, word):
        """Return the results of a search."""
        return lmm(f"md-search --query {word} --index docs --json")[0]


def points_of(project, *collections):
    """All points of collections and of the one of files, but for when they were written.

    The joint statistics are left out: where they are missing, a search adds those of the files.
    """
    store = project_store(project)
    try:
        return {
            name: {
                point.id: without_time(point.payload) for point in store.scroll(name) if "whole" not in point.payload
            }
            for name in (*collections, collections[-1] + FILES)
        }
    finally:
        store.close()


def state(kind):
    """Return everything stored, and the results of a search."""
    return kind.stored(), {word: kind.found(word) for word in WORDS}


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
    shutil.rmtree(kind.root, ignore_errors=True)
    if kind.server:
        remove_collections(kind.server)


def check_as_new(kind, commands):
    """Check that the next complete run gives what is made from nothing."""
    commands.complete(*kind.command)
    after = state(kind)
    remove_index(kind)
    commands.complete(*kind.command)
    assert after == state(kind)


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


def put_all(folder, files):
    """Have these files and no others."""
    for path in contents(folder):
        path.unlink()
    for path, content in files.items():
        put(path, content)


# Ended at any write


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
        put_all(kind.files, versions[len(words) % len(versions)])


changes = st.tuples(
    st.sampled_from(("write", "write", "go back", "rename", "delete")),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(WORDS), max_size=4),
    st.sampled_from(("", "", "one", "two")),
)
runs = st.tuples(
    st.lists(changes, max_size=3), st.none() | st.integers(0, MOST), st.sampled_from((*ENDS, "kill")), st.integers(0, 3)
)
few = settings(
    max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("kind", [Lmm, Md])
@few
@given(history=st.lists(runs, min_size=2, max_size=4))
def test_after_any_history_the_index_is_as_new(kind, server, commands, history):
    """Files are edited and the command is run, ended or not; then files whose ids are the same go."""
    with project(kind, server) as made:
        put(made.files / "kept.md", made.text(["omega"], ""))
        versions = [contents(made.files)]
        for edits, at, end, option in history:
            for change in edits:
                edit(made, change, versions)
            versions.append(contents(made.files))
            options = made.options[option % len(made.options)]
            status, said, _ = commands.run(*made.command, *options, at=at, end=end)
            assert status in (0, 1, -9) or end == "interrupt", said
        seen = set()
        for path, content in contents(made.files).items():
            docid = next((docid for docid in ("one", "two") if f"docid: {docid}\n" in content), path)
            path.unlink() if docid in seen else seen.add(docid)
        check_as_new(made, commands)
