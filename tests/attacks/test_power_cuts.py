"""An index after power cuts: the next run that comes to its end gives the one that is made from nothing."""

import json
import os
import shutil
from pathlib import Path

import pytest

from lmm_core.crawl.catalogue import CATALOGUE, SNIPPETS
from lmm_core.indexing.records import FILES
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from tests.attacks.power_cuts import record
from tests.commands import write
from tests.crawl.indexed import page
from tests.indexing import document, lmm, without_time

BEFORE = {"a.md": ("alpha", "beta"), "b.md": ("gamma",), "gone.md": ("delta",)}
AFTER = {"a.md": ("alpha", "epsilon"), "renamed.md": ("gamma",), "new.md": ("zeta",)}
OTHERS = {"a.md": ("omega",)}
pytestmark = pytest.mark.slow


class Index:
    """`lmm index`"""

    command, root, folder = "index . --prune", Path(".lmm"), Path(".lmm/index")
    files, collections = Path(), ("chunks", "documents", "chunks" + FILES)

    def text(self, words):
        return document(*words, header="title: T\ndocid: one" if words == ("gamma",) else "title: T")

    def beside(self):
        return {}


class Folder:
    """`lmm md-index`"""

    command, root, folder = "md-index --root docs", Path(".md_index"), Path(".md_index/docs")
    files, collections = Path("docs"), ("vectors", "vectors" + FILES)

    def text(self, words):
        return page(*words)

    def beside(self):
        """The files beside the collections."""
        files = {path.name: path.read_bytes() for path in (self.folder / SNIPPETS).iterdir()}
        return files | {CATALOGUE: json.loads((self.root / CATALOGUE).read_bytes())}


def fill(kind, texts):
    """Have these documents and no others. The time of each is a matter of its text, as when it is put back."""
    for path in kind.files.glob("*.md"):
        path.unlink()
    for name, words in texts.items():
        write(kind.files / name, kind.text(words))
        os.utime(kind.files / name, (10**9, 10**9 + sum(map(ord, "".join(words)))))


def state(kind):
    """All that is stored, but for when."""
    store = open_store(LocalStorage(kind.folder))
    try:
        stored = {
            name: {point.id: without_time(point.payload) for point in store.scroll(name)} for name in kind.collections
        }
    finally:
        store.close()
    return stored, kind.beside()


def as_new(kind, texts):
    """What is stored from nothing."""
    fill(kind, texts)
    shutil.rmtree(kind.root, ignore_errors=True)
    lmm(kind.command)
    return state(kind)


@pytest.mark.parametrize(
    ("kind", "before", "options", "later"),
    [
        (Index(), {}, "", AFTER),
        (Index(), {}, "", OTHERS),
        (Index(), BEFORE, "", AFTER),
        (Index(), BEFORE, "", BEFORE),
        (Index(), BEFORE, "--rebuild", AFTER),
        (Folder(), {}, "", AFTER),
        (Folder(), {}, "", OTHERS),
        (Folder(), BEFORE, "", AFTER),
        (Folder(), BEFORE, "", BEFORE),
    ],
)
def test_after_a_power_cut_at_any_moment_the_index_is_as_new(kind, before, options, later, monkeypatch, tmp_path):
    """later: the files when the next run comes, as they were left, put back or others."""
    write("config.toml", "")
    kind.files.mkdir(exist_ok=True)
    wanted = as_new(kind, later)
    shutil.rmtree(kind.root)
    if before:
        as_new(kind, before)
    fill(kind, AFTER)
    recorded = record(
        monkeypatch, kind.root, kind.folder, tmp_path / "copies", lambda: lmm(f"{kind.command} {options}")
    )
    fill(kind, later)
    wrong = []
    for count, kept in recorded.moments():
        recorded.leave(count, kept)
        lmm(kind.command)
        if state(kind) != wanted:
            wrong.append((recorded.steps[count - 1][:2], {*kept}))
    assert not wrong, f"{len(wrong)} of {len([*recorded.moments()])}"
