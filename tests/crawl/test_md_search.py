"""Search in indexed folders: what is found, and one ranking over several indexes."""

import asyncio
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from lmm_core.crawl import search as searching
from lmm_core.crawl.catalogue import VECTORS
from lmm_core.crawl.search import Indexes, beginning_of
from lmm_core.errors import CrawlError, StoreError
from lmm_core.retrieve.library import Library
from lmm_core.settings.models import Models
from lmm_core.store.folder_lock import FolderLock
from tests.commands import write
from tests.crawl.indexed import DATABASE, fill, in_language, index, page, search, with_model
from tests.embedding_server import EmbeddingServer

BIRDS = ["owl", "kite", "rook", "lark", "stork", "heron", "robin", "finch", "crane", "wren", "swift"]
PHRASE = "the quokka hums at dusk"


def shown(matches):
    return [(match.index, match.source) for match in matches]


class Colours(EmbeddingServer):
    """An embedder that embeds a text by the colours that it names; a text without one is grey."""

    def vector(self, text):
        return [1.0 + text.count("crimson"), 1.0 + text.count("azure"), 1.0]


@pytest.fixture
def embedded(monkeypatch):
    """Start an embedding model on loopback."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    with Colours() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


@pytest.fixture
def hybrid(embedded):
    """Return the database with that model."""
    return with_model("openai/colours")


@pytest.fixture
def opens(monkeypatch):
    """Record the names of all indexes that are opened."""
    names, work = [], Library._open_store

    def opened(library):
        names.append(Path(library.project.storage.folder).name)
        return work(library)

    monkeypatch.setattr(Library, "_open_store", opened)
    return names


# One index


@pytest.mark.parametrize("encoding", ["bm25", "hybrid"])
def test_a_unique_phrase_is_in_the_top_hit(encoding, hybrid):
    """The specification's `index_roundtrip`."""
    fill(
        "docs",
        trees=page("oak", "birch"),
        animals=page("kangaroo") + f"# Sounds\n\nAt the lake {PHRASE}, they say.\n\n" + page("emu"),
    )
    database = DATABASE if encoding == "bm25" else hybrid
    index(database=database)
    best = search(f"when does {PHRASE}?", database=database)[0]
    assert PHRASE in best.snippet and best.source.startswith("animals.md#L")
    start, end = (int(part.strip("L")) for part in best.source.partition("#")[2].split("-"))
    lines = Path("docs/animals.md").read_text().splitlines()[start - 1 : end]
    assert any(PHRASE in line for line in lines)


def test_a_result_says_where_it_is_from():
    fill("docs/deep", trees=page("oak"))
    index("docs", "plants")
    [found] = search("oak")
    assert asdict(found) == {
        "index": "plants", "score": found.score, "snippet": found.snippet, "source": "deep/trees.md#L1-L5",
    }  # fmt: skip
    assert found.score > 0


def test_the_part_that_fits_best_is_shown_with_its_own_lines():
    lines = [f"The {word} is a bird of the hills, and it is told of at length on this line.\n" for word in BIRDS]
    fill("docs", birds="# Birds\n\n" + "\n".join(lines))
    index()
    [found] = search("which bird is the wren")
    first, last = (int(part.strip("L")) for part in found.source.partition("#")[2].split("-"))
    shown = Path("docs/birds.md").read_text().splitlines()[first - 1 : last]
    assert "The wren is a bird" in found.snippet and "The owl" not in found.snippet
    assert found.snippet == "\n".join(shown).strip() and 1 < first < 2 * BIRDS.index("wren") + 3 <= last


def test_snippets_are_cut_at_a_word():
    assert beginning_of("word " * 50) == ("word " * 50).strip()
    long = beginning_of("wörter " * 200)
    assert 400 < len(long) <= 502 and long.endswith("wörter …")
    assert len(beginning_of("x" * 2000)) == 502


def test_copies_of_a_text_are_one_result(monkeypatch):
    monkeypatch.setattr(searching, "CANDIDATES", 3)
    fill("docs", other=page("elm and oak"), **{f"copy{at}": page("oak") for at in range(20)})
    index()
    found = search("oak", k=2)
    assert sorted(match.source[:4] for match in found) == ["copy", "othe"]
    fill("more", copy=page("oak"))
    index("more")
    assert {match.index for match in search("oak")} == {"docs", "more"}


@pytest.mark.parametrize("harm", ["removed", "damaged"])
def test_an_index_that_cannot_be_searched_is_left_out_of_all(harm):
    fill("docs", trees=page("oak"))
    fill("more", bushes=page("oak"))
    index(), index("more")
    vectors = DATABASE.folder("docs") / VECTORS
    shutil.rmtree(vectors) if harm == "removed" else write(vectors / "collection.json", "{")
    said = []
    assert [match.index for match in search("oak", warn=said.append)] == ["more"]
    assert len(said) == 1 and said[0].startswith("left out: ") and "docs" in said[0]
    with pytest.raises((StoreError, CrawlError), match="docs"):
        search("oak", "docs")
    shutil.rmtree(DATABASE.folder("more"))
    with pytest.raises(CrawlError, match="none of the indexes"):
        search("oak", warn=said.append)


def test_an_unknown_index_is_told_of_with_those_there_are():
    with pytest.raises(CrawlError, match=r"nothing is indexed in \.md_index yet: run `lmm md-index"):
        search("oak")
    fill("docs", trees=page("oak"))
    index("docs", "manuals")
    with pytest.raises(
        CrawlError, match=r"no index 'manual': there are manuals, and 'all' for all; did you mean 'manuals'\?"
    ):
        search("oak", "manual")


# Several indexes


def test_all_indexes_are_searched_or_one():
    fill("garden", trees=page("oak", "rose"))
    fill("kitchen", bowls=page("oak", "spoon"))
    index("garden"), index("kitchen")
    assert sorted(shown(search("oak"))[:2]) == [("garden", "trees.md#L1-L5"), ("kitchen", "bowls.md#L1-L5")]
    assert shown(search("oak", "kitchen")) == [("kitchen", "bowls.md#L1-L5")]


def rare_and_common():
    """Fill two folders.

    `walnut` is rare in all, and common in `walnuts`; `recipe` is common in all, and rare in
    `walnuts`."""
    fill("walnuts", **{f"page{at}": page(f"walnut of tree{at}") for at in range(30)}, one=page("recipe"))
    fill("cooking", **{f"page{at}": page(f"recipe of dish{at}") for at in range(60)})
    index("walnuts"), index("cooking")


def test_ranking_is_by_how_rare_a_word_is_in_all_that_is_searched():
    rare_and_common()
    found = search("walnut recipe", k=40)
    assert [match.index for match in found[:30]] == ["walnuts"] * 30
    assert {match.score for match in found[:20]} == {found[0].score}
    assert all("walnut" in match.snippet for match in found[:30])


def test_all_indexes_are_searched_where_only_words_are_compared(opens):
    for at in range(7):
        fill(f"index{at}", one=page("oak"), two=page(f"special{at}"))
        index(f"index{at}")
    opens.clear()
    assert search("special6 oak")[0].index == "index6"
    assert len(opens) == 7


def test_dense_and_sparse_rankings_over_all_indexes_are_fused(hybrid):
    fill("warm", a=page("crimson crimson crimson lamp"), b=page("oven"))
    fill("cold", a=page("azure azure azure sky"), b=page("crimson ice"))
    index("warm", database=hybrid), index("cold", database=hybrid)
    found = search("crimson " * 9, database=hybrid)
    assert shown(found)[0] == ("warm", "a.md#L1-L5") and shown(found)[1] == ("cold", "b.md#L1-L5")
    assert found[0].score == pytest.approx(1.25)  # first by both


def test_a_query_is_embedded_once_for_all_indexes(hybrid, embedded):
    for name in ("one", "two", "three"):
        fill(name, a=page("crimson"))
        index(name, database=hybrid)
    before = embedded.count
    search("crimson", database=hybrid)
    assert embedded.count == before + 1


# Other models


def test_an_index_of_another_embedding_model_is_told_of(hybrid):
    fill("docs", trees=page("crimson"))
    index(database=hybrid)
    other = with_model("openai/other")
    with pytest.raises(
        CrawlError, match=r"'docs' was made otherwise \(embedding model openai/colours, now openai/other\): conf"
    ):
        search("crimson", "docs", database=other)
    with pytest.raises(CrawlError, match="embedding model openai/colours, now openai/other"):
        index(database=other)
    told = []
    with pytest.raises(CrawlError, match="none of the indexes"):
        search("crimson", database=other, warn=told.append)
    assert told[0].startswith("left out: the index 'docs' was made otherwise")


def test_of_all_indexes_those_without_vectors_are_compared_by_words(hybrid):
    fill("one", a=page("crimson oak"))
    fill("two", a=page("azure oak"))
    fill("words", a=page("plain oak"))
    index("one", database=hybrid), index("two", database=hybrid), index("words")
    assert sorted(match.index for match in search("oak", database=hybrid)) == ["one", "two", "words"]


def test_words_alone_are_compared_while_the_embedding_model_is_away(hybrid, embedded):
    fill("docs", trees=page("crimson"))
    index(database=hybrid)
    embedded.status = 401
    for name in ("docs", "all"):
        told = []
        assert [match.source for match in search("the crimson", name, warn=told.append)] == ["trees.md#L1-L5"]
        assert len(told) == 1 and told[0].startswith("searching by words alone: ") and "401" in told[0]


GERMAN = """# Beeren

Die Johannisbeere wächst an Sträuchern, und ihre Früchte werden im Sommer geerntet. Der Strauch braucht
nicht viel Wasser, aber einen Platz, an dem die Sonne auf ihn scheint.
"""


def test_each_file_is_searched_in_its_language():
    """`Häuser` and `Haus`, `houses` and `house` have one stem each, in their own language alone."""
    fill("docs", deutsch=GERMAN.replace("Johannisbeere", "Häuserwand"), named="---\nlang: de\n---\n\n# Häuser\n")
    fill(
        "more",
        english="# Walls\n\nThe bushes of the garden are watered by those who live there, and they are not many.\n",
    )
    index("docs"), index("more")
    told = []
    assert [match.source for match in search("ein Haus", warn=told.append)] == ["named.md#L5-L5"]
    assert [match.source for match in search("Strauch", warn=told.append)] == ["deutsch.md#L1-L4"]
    assert [match.source for match in search("a bush", warn=told.append)] == ["english.md#L1-L3"]
    assert not told


def test_the_configured_language_is_that_of_files_that_name_none():
    fill("docs", short="# Häuser\n", named="---\nlang: en\n---\n\n# Houses\n")
    german, english = in_language("de"), in_language("en")
    index(database=german)
    assert [match.source for match in search("Haus", database=german)] == ["short.md#L1-L1"]
    assert index(database=german).read == 0
    assert index(database=english).written == 1  # the one that names its language stays as it is


# Open indexes


def test_indexes_stay_open_until_another_process_waits(opens):
    fill("docs", trees=page("oak", "elm"))
    index()
    opens.clear()
    take = "import pathlib\nfrom lmm_core.store.folder_lock import FolderLock\nlock = FolderLock(pathlib.Path('.md_index/docs'))\nlock.take()\nprint('taken')"

    async def work():
        indexes = Indexes(DATABASE, Models())
        assert all(await asyncio.gather(*(indexes.search("oak") for _ in range(5))))
        assert await indexes.search("elm")
        assert opens == ["docs"]
        other = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", take], capture_output=True, text=True)
        assert other.stdout == "taken\n", other.stderr
        assert await indexes.search("oak") and opens == ["docs", "docs"]
        await indexes.close()

    asyncio.run(work())


def test_what_another_run_has_written_is_found_at_once():
    fill("docs", trees=page("oak"))
    index()

    async def work():
        indexes = Indexes(DATABASE, Models())
        assert not await indexes.search("walnut")
        fill("docs", more=page("walnut"))
        await asyncio.to_thread(index)  # in this process, while the indexes are open
        assert (await indexes.search("walnut"))[0].source == "more.md#L1-L5"
        await indexes.close()

    asyncio.run(work())


def test_an_index_in_use_is_told_of_or_left_out_of_all(monkeypatch):
    monkeypatch.setattr("lmm_core.store.folder_lock.WAIT", 0.05)
    fill("one", a=page("oak")), fill("two", a=page("oak"))
    index("one"), index("two")
    held = FolderLock(DATABASE.folder("two"))
    held.take()
    told = []
    assert [match.index for match in search("oak", warn=told.append)] == ["one"]
    assert told[0].startswith("left out: The index in ") and ".md_index/two is already open" in told[0]
    with pytest.raises(StoreError, match="two is already open"):
        search("oak", "two")
    held.release()
