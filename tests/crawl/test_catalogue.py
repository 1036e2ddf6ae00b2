"""The catalogue: names, entries, terms, and which indexes a query is about."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from lmm_core.crawl.catalogue import (
    CATALOGUE,
    TERMS,
    CatalogueEntry,
    Database,
    Tally,
    Terms,
    checked_index_name,
    rarity,
    shortlist,
)
from lmm_core.errors import CrawlError, StoreError
from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store.folder_lock import FolderLock
from tests.commands import write
from tests.crawl.indexed import fill, index, page

BM25 = Bm25Encoder("en")


def entry(name, **values):
    return CatalogueEntry(name, f"about {name}", f"../{name}", 1, 1, **values)


def database(*entries):
    """A database whose catalogue has these."""
    made = Database(Path("db"))
    for one in entries:
        made.folder(one.name).mkdir(parents=True)
        made.write(one)
    return made


def terms_of(*texts):
    tally = Tally()
    for vector in BM25.encode(texts):
        tally.add({"sparse": vector})
    return tally.terms()


def words(text):
    vector = BM25.encode([text])[0]
    return dict(zip(vector.indices, vector.values, strict=True))


def names(entries):
    return [entry.name for entry in entries]


@pytest.mark.parametrize(
    "name", ["a/b", "..", ".", "", "a\\b", ".hidden", "all", "ALL", "catalogue.json", "a b", "x" * 101, "a."]
)
def test_what_cannot_be_a_folder_s_name_is_refused(name):
    with pytest.raises(CrawlError, match="cannot be the name of an index"):
        checked_index_name(name)


@pytest.mark.parametrize("name", ["docs", "my-docs_2", "v1.2"])
def test_a_plain_name_is_taken(name):
    assert checked_index_name(name) == name


def test_entries_are_kept_by_name_and_replaced():
    first = entry("one", centroid=[0.5, 1.0], said=[1.0, 0.0], words={3: 1.5}, identity={"embedding": "x"})
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
        '{"format": 1, "indexes": {"one": {"words": {}, "centroid": ["x"]}}}',
        '{"format": 2, "indexes": {}}',
    ],
)
def test_a_catalogue_from_elsewhere_is_told_of(text):
    made = database(entry("one"))
    write(made.root / CATALOGUE, text)
    with pytest.raises(CrawlError, match=r"db/catalogue\.json cannot be read .*: remove it"):
        made.entries()


@pytest.mark.parametrize("values", [{"numbers": [1, 2]}, {"numbers": [-1]}, {"count": None}])
def test_terms_from_elsewhere_are_not_known(values):
    made = database(entry("one"))
    whole = {"count": 1, "numbers": [1], "frequencies": [1], "weights": [1.0], "dense": []}
    write(made.folder("one") / TERMS, json.dumps(whole))
    assert made.terms("one").frequency(1) == 1
    write(made.folder("one") / TERMS, json.dumps(whole | values))
    assert made.terms("one") is None


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
    assert Database(Path(".md_index")).from_root(Path("docs")) == "../docs"


# Terms


def test_what_is_removed_leaves_what_was_never_added():
    tally = Tally(terms_of("a walnut tree", "walnut wood"))
    [vector] = BM25.encode(["a cherry and a walnut"])
    tally.add({"sparse": vector, "dense": [1.0, 2.0]})
    tally.remove({"sparse": vector, "dense": [1.0, 2.0]})
    after, wanted = tally.terms(), terms_of("walnut wood", "a walnut tree")
    assert (after.count, list(after.numbers), list(after.frequencies)) == (
        2,
        list(wanted.numbers),
        list(wanted.frequencies),
    )
    assert list(after.weights) == pytest.approx(list(wanted.weights))


def test_terms_say_how_many_snippets_hold_a_word_and_its_mean_weight():
    terms = terms_of("walnut walnut", "cherry", "walnut")
    [walnut] = words("walnut")
    assert terms.frequency(walnut) == 2
    assert terms.mean(walnut) == pytest.approx((words("walnut walnut")[walnut] + words("walnut")[walnut]) / 3)
    assert terms.frequency(1) == 0 and terms.mean(1) == 0.0 and Terms().mean(1) == 0.0


def test_the_centroid_is_the_mean_of_the_dense_vectors():
    tally = Tally()
    tally.add({"dense": [1.0, 0.0]})
    tally.add({"dense": [0.0, 3.0]})
    assert tally.terms().centroid == [0.5, 1.5]


def test_terms_come_back_from_disk_as_they_were():
    made = database(entry("one"))
    terms = terms_of("walnut walnut", "cherry")
    assert made.terms("one") is None
    made.write_terms("one", terms)
    assert made.terms("one") == terms
    write(made.folder("one") / "terms.json", '{"count": 3')
    assert made.terms("one") is None


def test_rarity_is_over_all_indexes_together():
    one, other = terms_of("walnut", "walnut"), terms_of("cherry")
    [walnut] = words("walnut")
    assert rarity([one, other], walnut) == pytest.approx(math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)))


# The shortlist


def test_an_index_is_chosen_by_its_description():
    """The specification's `catalogue_lookup`, where words alone are compared."""
    entries = [
        entry("cooking", words=words("Recipes for soups and bread")),
        entry("stars", words=words("Planets and galaxies")),
    ]
    none = {"cooking": Terms(), "stars": Terms()}
    assert names(shortlist(entries, none, {"sparse": BM25.encode_query("which planets have rings?")}, 1)) == ["stars"]
    assert names(shortlist(entries, none, {"sparse": BM25.encode_query("bread without yeast")}, 1)) == ["cooking"]


@pytest.mark.parametrize("where", ["said", "centroid"])
def test_an_index_is_chosen_by_a_dense_vector(where):
    """The specification's `catalogue_lookup`: orthogonal descriptions, or centroids."""
    entries = [entry("cooking", **{where: [1.0, 0.0]}), entry("stars", **{where: [0.0, 1.0]})]
    assert names(shortlist(entries, {}, {"dense": [0.1, 0.9]}, 1)) == ["stars"]
    assert names(shortlist(entries, {}, {"dense": [0.9, 0.1]}, 1)) == ["cooking"]


def test_an_index_is_chosen_by_what_its_snippets_say():
    terms = {"one": terms_of("walnut", "cherry"), "two": terms_of("birch", "oak")}
    entries = [entry("one"), entry("two")]
    assert names(shortlist(entries, terms, {"sparse": BM25.encode_query("oak")}, 1)) == ["two"]


def test_a_word_of_all_descriptions_does_not_hide_who_has_the_rare_one():
    texts = ["the documentation of the project"] * 20
    entries = [entry(name, words=words("Project documentation")) for name in "abcdefg"]
    terms = {name: terms_of(*texts, *(["a walnut"] if name == "g" else [])) for name in "abcdefg"}
    query = BM25.encode_query("documentation about the walnut")
    assert names(shortlist(entries, terms, {"sparse": query}))[0] == "g"


def test_five_are_chosen_and_few_are_all_taken():
    entries = [entry(name) for name in "gfedcba"]
    assert names(shortlist(entries, {}, {"sparse": Sparse([1], [1.0])})) == list("abcde")
    assert names(shortlist(entries[:2], {}, {"sparse": Sparse([1], [1.0])})) == ["g", "f"]


def test_indexing_fills_the_catalogue():
    fill("trees", oak=page("oak", "birch"))
    index("trees", description="Trees of the garden")
    [made] = Database(Path(".md_index")).entries().values()
    assert (made.name, made.description, made.root, made.files) == ("trees", "Trees of the garden", "../trees", 1)
    assert made.snippets == 2 and made.centroid == [] and made.words == words("Trees of the garden")
