"""The catalogue: names, entries, and the indexes that fit a query."""

from dataclasses import replace
from pathlib import Path

import pytest

from lmm_core.crawl.catalogue import CATALOGUE, CatalogueEntry, Database, checked_index_name, shortlist
from lmm_core.errors import CrawlError
from lmm_core.settings.project import Project
from tests.commands import write


def entry(name, **values):
    return CatalogueEntry(name, "", f"../{name}", 1, 1, **values)


def database(*entries):
    """Return a database whose catalogue has these entries."""
    database = Database(Path("db"), Project(Path()))
    for each in entries:
        database.folder(each.name).mkdir(parents=True)
        database.write(each)
    return database


@pytest.mark.parametrize("name", ["a/b", "", "ALL", "catalogue.json", "x" * 101])
def test_what_cannot_be_a_folder_s_name_is_refused(name):
    with pytest.raises(CrawlError, match="cannot be the name of an index"):
        checked_index_name(name)


def test_entries_are_replaced_and_listed_while_their_folder_is_there():
    first = entry("one", centroid=[0.5, 1.0], said=[1.0, 0.0], identity={"embedding": "x"})
    both = database(first, entry("two"))
    assert both.entries() == {"one": first, "two": entry("two")}
    both.write(replace(first, files=7))
    both.folder("two").rmdir()
    assert both.entries() == {"one": replace(first, files=7)}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"format": 1, "indexes": {"../out": {}}}',
        '{"format": 1, "indexes": {"one": {"centroid": ["x"]}}}',
    ],
)
def test_a_damaged_catalogue_is_reported_and_never_replaced(text):
    damaged = database(entry("one"))
    write(damaged.root / CATALOGUE, text)
    with pytest.raises(CrawlError, match=r"db/catalogue\.json cannot be read .*Remove it"):
        damaged.write(entry("two"))
    assert (damaged.root / CATALOGUE).read_text() == text


@pytest.mark.parametrize("where", ["said", "centroid"])
def test_the_five_nearest_indexes_are_chosen_by_description_or_content(where):
    entries = [entry("cooking", **{where: [1.0, 0.0]}), entry("stars", **{where: [0.0, 1.0]})]
    entries += [entry(name) for name in "edcba"]
    assert [each.name for each in shortlist(entries, [0.1, 0.9])] == ["stars", "cooking", "a", "b", "c"]
