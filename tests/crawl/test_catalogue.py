"""The catalogue: names, entries, and the indexes that fit a query."""

from dataclasses import replace
from pathlib import Path

import pytest

from lmm_core.crawl.catalogue import CATALOGUE, CatalogueEntry, Database, checked_index_name, shortlist
from lmm_core.errors import CrawlError, StoreError
from lmm_core.settings.project import Project
from lmm_core.store.folder_lock import FolderLock
from tests.commands import write
from tests.crawl.indexed import DATABASE, fill, index, page


def entry(name, description="", **values):
    return CatalogueEntry(name, description, f"../{name}", 1, 1, **values)


def database(*entries):
    """Return a database whose catalogue has these entries."""
    made = Database(Path("db"), Project(Path()))
    for one in entries:
        made.folder(one.name).mkdir(parents=True)
        made.write(one)
    return made


def names(entries):
    return [entry.name for entry in entries]


@pytest.mark.parametrize(
    "name", ["a/b", "..", ".", "", "a\\b", ".hidden", "all", "ALL", "catalogue.json", "a b", "x" * 101, "a."]
)
def test_what_cannot_be_a_folder_s_name_is_refused(name):
    with pytest.raises(CrawlError, match="cannot be the name of an index"):
        checked_index_name(name)


def test_entries_are_kept_by_name_and_replaced():
    first = entry("one", centroid=[0.5, 1.0], said=[1.0, 0.0], identity={"embedding": "x"})
    made = database(first, entry("two"))
    assert made.entries() == {"one": first, "two": entry("two")}
    made.write(replace(first, files=7))
    assert made.entries()["one"].files == 7 and len(made.entries()) == 2


def test_an_index_whose_folder_is_gone_is_not_in_the_catalogue():
    made = database(entry("one"), entry("two"))
    made.folder("one").rmdir()
    assert list(made.entries()) == ["two"]


def test_a_damaged_catalogue_is_told_of_and_never_replaced():
    made = database(entry("one"))
    write(made.root / CATALOGUE, "{}")
    for work in (made.entries, lambda: made.write(entry("two"))):
        with pytest.raises(CrawlError, match=r"db/catalogue\.json cannot be read .*: remove it"):
            work()
    assert (made.root / CATALOGUE).read_text() == "{}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        '{"format": 1, "indexes": {"../out": {}}}',
        '{"format": 1, "indexes": {"one": {"centroid": ["x"]}}}',
        '{"format": 2, "indexes": {}}',
    ],
)
def test_a_catalogue_from_elsewhere_is_told_of(text):
    made = database(entry("one"))
    write(made.root / CATALOGUE, text)
    with pytest.raises(CrawlError, match=r"db/catalogue\.json cannot be read .*: remove it"):
        made.entries()


def test_two_processes_do_not_write_the_catalogue_at_once(monkeypatch):
    monkeypatch.setattr("lmm_core.store.folder_lock.WAIT", 0.05)
    made = database(entry("one"))
    other = FolderLock(made.root)
    other.take()
    with pytest.raises(StoreError, match="db is already open in this program"):
        made.write(entry("two"))
    other.release()
    made.write(replace(entry("one"), files=2))
    assert made.entries()["one"].files == 2


def test_roots_are_named_from_the_database_so_that_both_can_move():
    assert DATABASE.from_root(Path("docs")) == "../docs"


# The shortlist


@pytest.mark.parametrize("where", ["said", "centroid"])
def test_an_index_is_chosen_by_a_dense_vector(where):
    """The specification's `catalogue_lookup`: orthogonal descriptions, or centroids."""
    entries = [entry("cooking", **{where: [1.0, 0.0]}), entry("stars", **{where: [0.0, 1.0]})]
    assert names(shortlist(entries, [0.1, 0.9])) == ["stars", "cooking"]
    assert names(shortlist(entries, [0.9, 0.1])) == ["cooking", "stars"]


def test_five_are_chosen():
    assert names(shortlist([entry(name) for name in "gfedcba"], [1.0])) == list("abcde")


def test_indexing_fills_the_catalogue():
    fill("trees", oak=page("oak", "birch"))
    index("trees", description="Trees of the garden")
    [made] = DATABASE.entries().values()
    assert (made.name, made.description, made.root, made.files) == ("trees", "Trees of the garden", "../trees", 1)
    assert made.snippets == 2 and made.centroid == []
