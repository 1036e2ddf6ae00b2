"""The split pass: texts merged, gathered to documents, and cut into chunks."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.indexing.cutting.split import (
    ChunkBlock,
    _without_comments,
    scan_split,
    split_documents,
    transform,
)
from lmm_core.logging import ListLogger
from lmm_core.markdown import ErrorBlock, MetadataBlock, TextBlock, parse_markdown_text, serialize_blocks
from lmm_core.markdown.edits import restore_originals
from lmm_core.markdown.visibility import KnitRules
from lmm_core.models.tokens import count_tokens
from lmm_core.scan.rag_parts import Excerpt, extract_parts
from lmm_core.settings.tables import SplitOpts
from tests.real_files import SAMPLE, markdown_files
from tests.strategies import LONG, PROSE, any_text, markdown

small = st.builds(
    lambda size, more, overlap, unit: SplitOpts(size, size + more, min(overlap, size - 1), unit),
    st.sampled_from([1, 3, 20, 60, 200, 1000]),
    st.sampled_from([0, 1, 30, 400]),
    st.sampled_from([0, 0, 10, 50]),
    st.sampled_from(["characters", "tokens"]),
)


def split_text(text, opts=None, count=None):
    """Return the blocks of a split text."""
    return scan_split(parse_markdown_text(text), opts, count, ListLogger())


def chunks(text, *args, **options):
    """Return the chunks alone; `options` are those of SplitOpts."""
    opts = args[0] if args else SplitOpts(**options)
    return [block for block in split_text(text, opts) if isinstance(block, ChunkBlock)]


def contents(text, **options):
    """Return the texts of the chunks."""
    return [chunk.content for chunk in chunks(text, **options)]


def document_of(documents, chunk):
    """Return the document that a chunk is from: the last one to start of those around it."""
    around = [one for one in documents if one.line <= chunk.line <= one.line_end]
    return max(reversed(around), key=lambda one: one.line)


def documents(text, size=0):
    """Return text, first and last line of each document."""
    opts = SplitOpts(documents=size)
    return [(d.text, d.line, d.line_end) for d in split_documents(parse_markdown_text(text), opts)]


def squeeze(text):
    """Return a text without white space and byte-order marks."""
    return re.sub(r"[ \t\r\n\ufeff]", "", text)


# What is joined


def test_equations_go_with_the_text_before():
    equation = "$$\nx = 1\n$$ {#eq-x}"
    text = f"{LONG}\n\n{equation}\n\n{LONG}\n\n"
    assert all(equation not in content or content.startswith("The mean") for content in contents(text * 4, size=500))


def test_texts_are_joined_but_for_rag_only_divs():
    note, exercise = "One.\n\n::: note\nTwo.\n:::\n\nThree.", "::: exercise\nTwo.\n:::"
    assert contents(f"{note}\n") == [note]
    assert contents(f"One.\n\n{exercise}\n\nThree.\n") == ["One.", exercise, "Three."]


def test_nothing_is_joined_over_headings_or_metadata():
    assert contents("One.\n\n# A\n\nTwo.\n") == ["One.", "Two."]
    assert contents("One.\n\n---\na: 1\n---\n\nTwo.\n\nThree.\n") == ["One.", "Two.", "Three."]


# Chunks


def test_paragraphs_are_put_together_up_to_the_size_without_a_tiny_rest():
    assert sorted(content.count(LONG) for content in contents((LONG + "\n\n") * 7, size=1000)) == [2, 2, 3]
    assert len(contents("# A\n\n" + ("word " * 39 + "end.\n\n") * 5 + "x" * 60 + ".\n", size=1000)) == 1


@pytest.mark.parametrize("beginning", ["The mean", "See e.g. Smith and", "The `a. B` is code and"])
def test_prose_is_cut_between_sentences(beginning):
    """And not after what only looks like the end of one."""
    sentence = f"{beginning} {'word ' * 12}end. "
    found = contents(sentence * 30, size=100, max_size=200)
    assert len(found) > 5
    assert all(content.startswith(beginning) and content.endswith("end.") for content in found)


def test_code_is_cut_at_lines_with_its_fence_repeated():
    body = [f"line_{number} = {number}" for number in range(400)]
    found = chunks("# A\n\n``` {.python}\n" + "\n".join(body) + "\n```\n", size=500, max_size=600)
    assert len(found) > 5
    for chunk in found:
        assert chunk.content.startswith("``` {.python}\n")
        assert chunk.content.endswith("\n```")
        assert len(chunk.content) <= 600
    assert "".join(chunk.own for chunk in found) == "``` {.python}\n" + "\n".join(body) + "\n```\n"
    assert found[1].own.startswith(f"line_{found[1].line - 4} ")
    assert found[0].line_end + 1 == found[1].line


PIPE = "| a | b |\n|---|---|\n"
GRID = "+---+---+\n| a | b |\n+===+===+\n"
SIMPLE = "  a     b\n----- -----\n"


@pytest.mark.parametrize(
    ("head", "row"),
    [(PIPE, "| one | two |\n"), (GRID, "| 1 | 2 |\n|   | 3 |\n+---+---+\n"), (SIMPLE, "  one   two\n")],
)
def test_tables_are_cut_at_rows_with_the_header_repeated(head, row):
    found = chunks(head + row * 60, size=200, max_size=300)
    assert len(found) > 2
    for at, chunk in enumerate(found):
        assert chunk.source.startswith(head)
        assert chunk.repeated == (len(head) if at else 0)
        assert chunk.source[len(head) :] == row * (len(chunk.source[len(head) :]) // len(row))
        assert chunk.line == 1 + "".join(c.own for c in found[:at]).count("\n")


@pytest.mark.parametrize(
    ("before", "after", "begins"),
    [(":::: note\n\n```py\n", "\n::::\n", ":::: note\n"), ("```{r, cap='" + "word " * 30 + "'}\n", "", "```")],
    ids=["in a div", "with a line too long to be repeated"],
)
def test_code_is_closed_in_each_piece(before, after, begins):
    text = before + "x = 1\n" * 300 + "```\n" + after
    for content in contents(text, size=200, max_size=300):
        assert content.startswith(begins)
        assert content.count("```") == 2


def test_a_chunk_begins_with_the_last_sentences_of_the_one_before():
    text = (LONG + " ") * 10
    found = chunks(text, size=500, max_size=700, overlap=160)
    for before, after in pairwise(found):
        repeated = after.source[: after.repeated]
        assert 0 < len(repeated) <= 161
        assert before.own.endswith(repeated) and repeated[0].isupper()
    assert "".join(chunk.own for chunk in found) == text


# Metadata


def test_public_metadata_of_a_text_is_repeated_before_each_further_chunk():
    private = "~~hash: {summary: [a, b]}\n~chat: [a, b]\n?: What?"
    text = f"# A\n\n{PROSE}\n\n---\ntype: topic\n{private}\n---\n\n{(LONG + ' ') * 3}\n\n{PROSE}\n"
    blocks = split_text(text, SplitOpts(400, 500))
    kinds = "".join("M" if isinstance(block, MetadataBlock) else "c" for block in blocks[1:])
    assert kinds.startswith("cMcMc") and kinds.endswith("cc")  # the last paragraph has no metadata
    first, *others = [block for block in blocks if isinstance(block, MetadataBlock)]
    assert private in first.source
    assert all(block.content == {"type": "topic"} and not block.messages for block in others)
    again = parse_markdown_text(serialize_blocks(blocks))
    assert sum(isinstance(block, MetadataBlock) for block in again) == kinds.count("M")


def test_broken_metadata_is_in_no_chunk_and_reported():
    logger = ListLogger()
    blocks = scan_split(parse_markdown_text("One.\n\n---\na: [\n---\n\nTwo.\n"), logger=logger)
    assert [block.content for block in blocks if isinstance(block, ChunkBlock)] == ["One.", "Two."]
    assert [report.line for report in logger.reports] == [3]


def test_comments_are_in_no_chunk_unless_they_are_code():
    text = "One.\n\n<!-- *Hidden*\n\nwords. -->\nTwo <!-- `a --> and `<!-- code -->`.\n"
    (chunk,) = chunks(text)
    assert chunk.content.split() == ["One.", "Two", "and", "`<!--", "code", "-->`."] and chunk.line_end == 6
    for fence in ("```", "~~~~"):
        code = f"{fence} html\n<!-- code -->\n{fence}"
        assert [chunk.content for chunk in chunks(f"{code}\n")] == [code]


# Documents


def test_a_text_of_another_kind_is_a_document_of_its_own():
    text = "# A\n\nOne.\n\n---\ntype: exercise\n---\n\nTwo.\n\nThree.\n"
    assert documents(text) == [("One.\n\nThree.", 3, 11), ("Two.", 9, 9)]


# Laws


def own_texts(text):
    """Return the texts that have to be in chunks."""
    return [b.content for b in set_apart(text) if isinstance(b, TextBlock) and not isinstance(b, ErrorBlock)]


def set_apart(text):
    """Return the blocks of a text without comments, with RAG-only parts of texts set apart."""
    return extract_parts(_without_comments(restore_originals(parse_markdown_text(text)).blocks), KnitRules())


def check(text, opts):
    """Check what holds for every text."""
    found = chunks(text, opts)
    assert squeeze("".join(chunk.own for chunk in found)) == squeeze("".join(own_texts(text)))
    lines = text.split("\n")
    is_set_apart = any(isinstance(block, Excerpt) for block in set_apart(text))
    has_comments = "<!--" in text  # which are left out
    for chunk in found:
        count = len if opts.unit == "characters" else count_tokens
        assert count(chunk.content) <= opts.max_size
        first, *_, last = [line for line in chunk.own.split("\n") if line.strip(" \t\r")] * 2
        assert has_comments or first.strip(" \t\r") in lines[chunk.line - 1]
        assert has_comments or last.strip(" \t\r") in lines[chunk.line_end - 1]
        assert chunk.closing or chunk.repeated or is_set_apart or has_comments or chunk.source in text
    return found


@given(st.one_of(markdown(), any_text), small)
def test_nothing_is_lost_nor_doubled_nor_too_long(text, opts):
    assert check(text, opts) == chunks(text, opts)


@given(markdown(40), st.sampled_from([0, 300, 1000]))
def test_each_chunk_has_its_document(text, size):
    opts = SplitOpts(size=200, max_size=300, documents=size)
    result = transform(parse_markdown_text(text), opts, logger=ListLogger())
    assert all(not size or len(document.text) <= size for document in result.documents)
    for chunk in result.blocks:
        if isinstance(chunk, ChunkBlock):
            assert squeeze(chunk.own) in squeeze(document_of(result.documents, chunk).text) or size


@pytest.mark.parametrize(
    "opts",
    [
        pytest.param(SplitOpts(), id="1000", marks=pytest.mark.slow),
        pytest.param(SplitOpts(400, 500, 80), id="500"),
    ],
)
def test_real_documents(opts, real_place):
    sizes = []
    for path in markdown_files(real_place):
        found = check(path.read_bytes().decode(), opts)
        sizes += [len(chunk.content) for chunk in found]
        for chunk in found:
            fences = re.findall(r"^[ \t>]*(?:```|~~~)", chunk.content, re.M)
            assert len(fences) % 2 == 0, (path, chunk.line)
    share = 0.1 if real_place == SAMPLE else 0.05  # the sample's files are small and odd
    assert sum(size < 200 for size in sizes) < share * len(sizes) or opts.size < 1000
