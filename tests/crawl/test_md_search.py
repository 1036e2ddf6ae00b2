"""Search in indexed folders: what is found, and one ranking over several indexes."""

import asyncio
import shutil
from pathlib import Path

import pytest

from lmm_core.crawl.catalogue import VECTORS
from lmm_core.crawl.search import Indexes
from lmm_core.errors import CrawlError, StoreError
from lmm_core.settings.models import Models
from lmm_core.store.folder_lock import FolderLock
from tests.commands import write
from tests.crawl.indexed import DATABASE, fill, index, page, search, with_model
from tests.embedding_server import EmbeddingServer

BIRDS = ["owl", "kite", "rook", "lark", "stork", "heron", "robin", "finch", "crane", "wren", "swift"]
PHRASE = "the quokka hums at dusk"


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


# One index


@pytest.mark.parametrize("encoding", ["bm25", "hybrid"])
def test_a_unique_phrase_is_in_the_top_hit_which_says_where_it_is_from(encoding, hybrid):
    """The specification's `index_roundtrip`."""
    sounds = f"# Sounds\n\nAt the lake {PHRASE}, they say.\n\n"
    fill("docs/deep", trees=page("oak", "birch"), animals=page("kangaroo") + sounds + page("emu"))
    database = DATABASE if encoding == "bm25" else hybrid
    index("docs", "nature", database=database)
    best = search(f"when does {PHRASE}?", database=database)[0]
    assert PHRASE in best.snippet and best.index == "nature" and best.score > 0
    assert PHRASE in lines_of(best.source, Path("docs"))


def test_a_docid_in_a_header_identifies_no_file_of_a_folder():
    """Annotated files have one, and copies of a file have the same."""
    header = "---\ndocid: same\n---\n\n"
    fill("docs", oak=header + page("oak"), elm=header + page("elm"))
    index("docs", "trees")
    assert {word: [hit.source.partition("#")[0] for hit in search(word)] for word in ("oak", "elm")} == {
        "oak": ["oak.md"], "elm": ["elm.md"],
    }  # fmt: skip


def lines_of(source, root):
    """Return the text on the lines that a source names."""
    path, _, lines = source.partition("#")
    first, last = (int(part.strip("L")) for part in lines.split("-"))
    return "\n".join((root / path).read_text().splitlines()[first - 1 : last])


def test_the_part_that_fits_best_is_shown_with_its_own_lines():
    lines = [f"The {word} is a bird of the hills, and it is told of at length on this line.\n" for word in BIRDS]
    fill("docs", birds="# Birds\n\n" + "\n".join(lines))
    index()
    [hit] = search("which bird is the wren")
    assert "The wren is a bird" in hit.snippet and "The owl" not in hit.snippet
    assert hit.snippet == lines_of(hit.source, Path("docs")).strip()


@pytest.mark.parametrize("harm", ["removed", "damaged", "in use"])
def test_an_index_that_cannot_be_searched_is_left_out_of_all(harm, monkeypatch):
    monkeypatch.setattr("lmm_core.store.folder_lock.WAIT", 0.05)
    fill("docs", trees=page("oak"))
    fill("more", bushes=page("oak"))
    index(), index("more")
    vectors, lock, warnings = DATABASE.folder("docs") / VECTORS, FolderLock(DATABASE.folder("docs")), []
    harms = {
        "removed": lambda: shutil.rmtree(vectors),
        "damaged": lambda: write(vectors / "collection.json", "{"),
        "in use": lock.take,
    }
    harms[harm]()
    assert [hit.index for hit in search("oak", warn=warnings.append)] == ["more"]
    assert len(warnings) == 1 and warnings[0].startswith("left out: ") and "docs" in warnings[0]
    with pytest.raises((StoreError, CrawlError), match="docs"):
        search("oak", "docs")
    lock.release()


def test_an_unknown_index_is_reported_with_those_there_are():
    with pytest.raises(CrawlError, match=r"Nothing is indexed in \.md_index yet\. Run `lmm md-index"):
        search("oak")
    fill("docs", trees=page("oak"))
    index("docs", "manuals")
    with pytest.raises(CrawlError, match=r"no index 'manual'\. Did you mean 'manuals'\?"):
        search("oak", "manual")


def test_nothing_is_found_in_an_index_without_snippets():
    Path("docs").mkdir()
    index("docs")
    assert search("oak") == search("oak", "docs") == []


# Several indexes


def test_ranking_is_by_how_rare_a_word_is_in_all_that_is_searched():
    """`walnut` is rare in all, and common in `walnuts`; `recipe` is common in all, and rare in `walnuts`."""
    fill("walnuts", **{f"page{at}": page(f"walnut of tree{at}") for at in range(5)}, one=page("recipe"))
    fill("cooking", **{f"page{at}": page(f"recipe of dish{at}") for at in range(10)})
    index("walnuts"), index("cooking")
    hits = search("walnut recipe", k=12)
    assert all("walnut" in hit.snippet for hit in hits[:5])
    assert {hit.index for hit in hits} == {"walnuts", "cooking"}


def test_rankings_by_vectors_and_by_words_over_all_indexes_are_fused(hybrid, embedded):
    fill("warm", a=page("crimson crimson crimson lamp"), b=page("oven"))
    fill("cold", a=page("azure azure azure sky"), b=page("crimson ice"))
    fill("words", a=page("plain oven"))
    index("warm", database=hybrid), index("cold", database=hybrid), index("words")
    before = embedded.count
    hits = search("crimson " * 9, database=hybrid)
    assert embedded.count == before + 1  # the query, once for all indexes
    assert [(hit.index, hit.source[:4]) for hit in hits[:2]] == [("warm", "a.md"), ("cold", "b.md")]
    assert hits[0].score == pytest.approx(1.25)  # first by both
    assert {hit.index for hit in search("oven", database=hybrid)} >= {"warm", "words"}  # one has words alone


# Other models


def test_an_index_of_another_embedding_model_is_reported(hybrid):
    fill("docs", trees=page("crimson"))
    index(database=hybrid)
    with pytest.raises(CrawlError, match="embedding openai/colours, now openai/other"):
        search("crimson", "docs", database=with_model("openai/other"))


def test_each_file_is_searched_in_its_language():
    """`Häuser` and `Haus`, `bushes` and `bush` have one stem each, in their own language alone."""
    fill("docs", named="---\nlang: de\n---\n\n# Häuser\n", english="# Walls\n\nThe bushes of the garden are watered.\n")
    index("docs")
    assert [hit.source for hit in search("ein Haus")] == ["named.md#L5-L5"]
    assert [hit.source for hit in search("a bush")] == ["english.md#L1-L3"]


# Open indexes


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
