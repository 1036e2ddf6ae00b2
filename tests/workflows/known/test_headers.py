"""The headers of documents, which are remembered: they are those that reading them anew gives."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmm_core.errors import RenderError
from lmm_core.markdown.blocks import header_content
from lmm_core.markdown.files import MarkdownDocument, MarkdownFile
from lmm_core.markdown.parse import header_source, parse_header, parse_markdown_text
from lmm_core.quarto.pages import read_pages
from lmm_core.workflows.known import headers, remember
from lmm_core.workflows.known.headers import recall_headers
from tests.commands import write
from tests.strategies import markdown
from tests.workflows.known.test_known_findings import counting

ODD = [
    "---\ntitle: A\n---\n",
    "\ufeff\n \n---\ntitle: A\n...\nmore\n---\n",
    "--- # remark\ntitle: A\n---",
    "---\ntitle: A\n\n--- # remark\nb: 1\n---\n",
    "---\ntitle: A",
    "---\n\ntitle: A\n---\n",
    "---\n- a\n---\n\ntext\n\n---\ntitle: A\n---\n",
    "---\ntitle: [\n---\n",
    "# A\n\n---\ntitle: A\n---\n",
    "::: lmm\n```yaml\ntitle: A\n```\n:::\n",
    "",
]


def content(block):
    return header_content([block] if block else [])


@given(st.sampled_from(["", "---\n", "\ufeff---\n"]), markdown())
@example("", "---\n- a\n---\n\n---\ntitle: A\n---\n")
def test_a_header_depends_on_the_beginning_alone(opened, text):
    text = opened + text
    if source := header_source(text):
        assert text.startswith(source) and content(parse_header(source)) == content(parse_header(text))


@pytest.mark.parametrize("text", ODD)
def test_odd_beginnings(text):
    assert content(parse_header(header_source(text) or text)) == header_content(parse_markdown_text(text))


def documents(*texts):
    return [MarkdownDocument(MarkdownFile(Path("a.md"), text, text.encode())) for text in texts]


def recalled(*texts):
    found = documents(*texts)
    recall_headers(found)
    return [one.header for one in found]


def test_an_unchanged_header_is_not_read_again(monkeypatch):
    monkeypatch.setattr(remember, "WORTH", 0)
    texts = [f"---\ntitle: {name}\n1: [2, 3.5, null, yes]\n---\n\nText.\n" for name in "abc"]
    wanted = [one.header for one in documents(*texts)]
    assert recalled(*texts) == wanted
    read = counting(monkeypatch, headers, "parse_header")
    assert recalled(*(text + "More.\n" for text in texts)) == wanted and not read
    assert [one["title"] for one in recalled(texts[0].replace("a\n", "d\n", 1), *texts)] == ["d", "a", "b", "c"]
    assert len(read) == 1


@pytest.mark.parametrize("value", ["{1: a}", "!!binary aGk=", "!!set {a, b}", ".nan"])
def test_what_json_cannot_say_is_read_each_time(monkeypatch, value):
    monkeypatch.setattr(remember, "WORTH", 0)
    text = f"---\ntitle: A\nvalue: {value}\n---\n"
    (wanted,) = documents(text)
    for _ in range(2):
        assert repr(recalled(text)) == repr([wanted.header])


def test_what_is_wrong_with_a_page_is_said_before_a_later_one_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.md", "---\nlmm:\n  indexx: false\n---\n")
    Path("b.md").write_bytes(b"\xff")
    with pytest.raises(RenderError, match="indexx"):
        read_pages([Path("a.md"), Path("b.md")], Path())
