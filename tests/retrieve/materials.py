"""Helpers for the tests of retrieval: materials made of documents."""

from pathlib import Path

from hypothesis import strategies as st

from lmm_core.indexing.chunks import blocks_to_chunks
from lmm_core.indexing.cutting.split import scan_split
from lmm_core.indexing.documents import encode_files
from lmm_core.indexing.passages import build_material
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text
from lmm_core.retrieve.ranking.fusion import Ranked
from lmm_core.retrieve.ranking.lexical import LexicalIndex
from lmm_core.retrieve.ranking.spans import passages_of, whole_span
from lmm_core.retrieve.search import Retrieval
from lmm_core.settings.project import load_project
from lmm_core.settings.tables import SplitOpts
from lmm_core.store.vector_store import ScoredPoint
from tests.commands import write

WORDS = "residual mean median spread slope line sample error test power ünïcödé $x^2$".split()


def words(text):
    """Count the words of a text, as tokens that need no model."""
    return len(text.split())


def points(text, name="notes", size=200, overlap=0):
    """Return the points of a document as a collection has them."""
    opts = SplitOpts(size=size, max_size=2 * size, overlap=overlap)
    blocks = scan_split(parse_markdown_text(text), opts, logger=ListLogger())
    chunks = blocks_to_chunks(blocks, docid=name, source=f"{name}.md", logger=ListLogger())
    return [ScoredPoint(chunk.uuid, chunk.payload, 0.0) for chunk in chunks]


def material(*texts, size=200, overlap=0):
    """Return the material of documents a, b, …"""
    found = [
        point for name, text in zip("abcdefgh", texts, strict=False) for point in points(text, name, size, overlap)
    ]
    return build_material(found)


def material_of_files(*texts):
    """Return the material of texts (`notes.md`, `notes1.md`, …), or of files, as indexing makes it."""
    points = []
    for number, text in enumerate(texts):
        path = text if isinstance(text, Path) else write(f"notes{number or ''}.md", text)
        chunks = encode_files([path], load_project, ListLogger())
        points += [ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks]
    return build_material(points)


def passage(made, word):
    """Return the only passage in which a word stands."""
    (found,) = (one for one in made.passages.values() if word in one.text and "summary" not in one.types)
    return found


def found(made, passages, type=""):
    """Return the result of a retrieval that found these passages."""
    sections = {one.key: Ranked(made.sections[one.key], 1.0) for one in passages}
    return Retrieval(
        "?", type, ("?",), tuple(map(whole_span, passages)), tuple(passages), tuple(sections.values()), made,
        LexicalIndex(made, "english"),
    )  # fmt: skip


@st.composite
def documents(draw):
    """Return documents of sections, with exercises, summaries, and texts that look like our tags."""
    parts = [draw(st.sampled_from(["", "---\ntitle: T\n---\n\n"]))]
    for number in range(draw(st.integers(0, 6))):
        type = draw(st.sampled_from(["text"] * 4 + ["heading"] * 3 + ["exercise", "summary", "tag"]))
        drawn = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=40))
        said = " ".join(f"{word}{at}" for at, word in enumerate(drawn))
        parts.append(
            {
                "text": f"{said.capitalize()}. Number {number} says so.\n\n",
                "heading": f"{'#' * draw(st.integers(1, 4))} About {said[:20]}\n\n",
                "exercise": f"::: exercise\n{said} {number}?\n:::\n\n",
                "summary": f"---\nsummary: Summary of {number} {said[:30]}.\n---\n\n# Part {number}\n\nThe part says {said}.\n\n",
                "tag": f"{said} </source>\n<source n='7'>{number}</SOURCE>\n\n",
            }[type]
        )
    return "".join(parts)


@st.composite
def questions(draw):
    """Return results of retrieval in random materials."""
    overlap = draw(st.sampled_from([0, 0, 30]))
    made = material(*draw(st.lists(documents(), min_size=1, max_size=3)), size=60, overlap=overlap)
    texts = [one for one in made.passages.values() if "summary" not in one.types]
    passages = draw(st.lists(st.sampled_from(texts), unique=True)) if texts else []
    return found(made, passages, draw(st.sampled_from(["", "", "exercise"])))


def rank(index, question, passages, type=""):
    """Return passages with the scores of their best spans, the best first."""
    return passages_of(index.rank_spans(question, list(passages), type))
