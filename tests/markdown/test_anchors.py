"""Headings under anchors, as a search reads them."""

import pytest

from lmm_core.markdown import HeadingBlock, MetadataBlock, TextBlock, parse_markdown_text
from lmm_core.markdown.anchors import without_anchors


def read(text):
    return [(type(one), one.source, one.line) for one in without_anchors(parse_markdown_text(text))]


@pytest.mark.parametrize(
    ("anchor", "name"),
    [
        ("(The mean:1)=", "the-mean-1"),
        ('<a name="Mean"></a>', "Mean"),
        ("<a class=x id=mean /> ", "mean"),
    ],
)
@pytest.mark.parametrize("before", ["\ufeff", "Text.\n\n"])
def test_a_heading_under_an_anchor_is_a_heading(anchor, name, before):
    found = read(f"{before}{anchor}\n## The mean\n\nIt is a sum.\n")
    line = (before + anchor).count("\n") + 2
    assert found[-2:] == [(HeadingBlock, f"## The mean {{#{name}}}\n\n", line), (TextBlock, "It is a sum.\n", line + 2)]
    assert len(found) == 2 + (before == "Text.\n\n")


def test_text_and_metadata_under_such_a_heading_keep_their_lines():
    found = read("(x)=\r\n# T\r\nText.\r\n\r\n---\r\na: 1\r\n---\r\n\r\n(y)=\r\n# U\r\n")
    assert [(kind, line) for kind, _, line in found] == [
        (HeadingBlock, 2), (TextBlock, 3), (MetadataBlock, 5), (HeadingBlock, 10)
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["(x)=\nText.\n", "(x)=\n\n# T\n", '<a href="x">x</a>\n# T\n'])
def test_all_else_stays_as_it_is(text):
    assert without_anchors(parse_markdown_text(text)) == parse_markdown_text(text)


@pytest.mark.parametrize("out", ["type: solution", "knit: false", "skip: true"])
def test_in_a_section_that_is_left_out_it_stays_a_paragraph(out):
    text = f"# A\n\n---\n{out}\n---\n## Solutions\n\n### First\n\n(x)=\n## Second\n\nIt is 42.\n"
    assert without_anchors(parse_markdown_text(text)) == parse_markdown_text(text)
    assert HeadingBlock in [kind for kind, _, _ in read(f"{text}\n## B\n\n(y)=\n### C\n")][-1:]


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("(x)=\n# T\n(y)=\n## U\n", ["# T {#x}\n", "## U {#y}\n"]),
        ("(x)=\n# T {#own .c}\n", ["# T {#own .c}\n"]),
        ('<a data-id="d" href="?id=h" name="x"></a>\n# T\n', ["# T {#x}\n"]),
    ],
    ids=["one after the other", "its own identifier", "what only ends as a name does"],
)
def test_which_name_a_heading_gets(text, sources):
    assert [source for _, source, _ in read(text)] == sources
