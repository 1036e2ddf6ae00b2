"""Front matter that is not YAML is a header for others: nothing of it is text of the document."""

import pytest

from lmm_core.indexing.chunks import blocks_to_chunks
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text, serialize_blocks
from lmm_core.markdown.blocks import FrontMatterBlock, HeaderBlock
from lmm_core.scan.header import scan
from lmm_core.scan.rag import scan_rag
from tests.strategies import knitted

BODY = "\n# Kings\n\nWhat is a king? A king is a ruler of a country with many people and houses in it.\n"
FRONT_MATTER = {
    "TOML": '+++\ntitle = "SECRET"\ndraft = true\n\n[extra]\na = 1\n+++\n',
    "title block": "% SECRET\n  and more\n% A. Teacher\n",
    "fields": "Title: SECRET\nDate: 2010-12-03 10:20\nTags: a, b\n  c\n",
}
TEXTS = {
    "not closed": '+++\ntitle = "x"\n\nText.\n',
    "one field": "Title: x\n\nText.\n",
    "prose": "Note: this is\nTitle: that\n",
    "later": "Text.\n\n+++\na = 1\n+++\n",
}


@pytest.mark.parametrize("case", FRONT_MATTER)
@pytest.mark.parametrize(("lead", "newline"), [("\n\n", "\n"), ("\ufeff", "\r\n")])
def test_front_matter_is_no_text(case, lead, newline):
    text = lead + (FRONT_MATTER[case] + BODY).replace("\n", newline)
    blocks = parse_markdown_text(text)
    assert serialize_blocks(blocks) == text
    assert isinstance(blocks[0], FrontMatterBlock)
    assert (blocks[0].line, blocks[0].content) == (1 + lead.count("\n"), "")
    assert not any("SECRET" in block.source for block in blocks[1:])
    assert knitted(text) == text
    assert not any("SECRET" in str(chunk.payload) for chunk in blocks_to_chunks(blocks, docid="d"))


@pytest.mark.parametrize("case", TEXTS)
def test_other_texts_are_texts(case):
    assert not any(isinstance(block, FrontMatterBlock) for block in parse_markdown_text(TEXTS[case]))


@pytest.mark.parametrize("case", FRONT_MATTER)
def test_no_header_is_written_before_front_matter(case):
    """The site generator would lose the title, and `draft = true`."""
    logger, text = ListLogger(), FRONT_MATTER[case] + BODY
    blocks = scan(parse_markdown_text(text), "file", "docs/file.md", logger)
    assert serialize_blocks(blocks) == text
    assert [(report.level, report.line) for report in logger.reports] == [("warning", 1)]
    assert "no header" in logger.reports[0].message
    annotated = serialize_blocks(scan_rag(blocks, logger=logger))
    assert annotated.startswith(FRONT_MATTER[case])
    assert annotated != text
    assert not isinstance(parse_markdown_text(annotated)[0], HeaderBlock)
