"""What is read from the HTML of a rendered page: the same as Python's own parser finds, in a tenth of the time."""

from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import ChangedError
from lmm_core.quarto.ask_box import page_html
from lmm_core.quarto.ask_box.page_html import read_page, read_pages
from lmm_core.workflows.known import digests, remember
from tests.commands import write
from tests.workflows.known.test_known_findings import counting

PIECES = [
    "<p id=a>", "</p>", "<p>", '<b ID="b&amp;c">', "</b>", "<br/>", "<img alt='1 > 0' id='i'>", '<a id="e" href="#f">', "</a>",
    '<a href="x.html#sec-1" class="quarto-xref">', '<span class="citation" data-cites="one">',
    '<span class="citation" data-cites="one two">', "<span>", "</span>", "<SPAN>", "</SPAN >", "Section&nbsp;1", " [1] ", '"', "'",
    " id=g ", "a < b", "> c", "<!-- <i id='h'> -->", "<script id=s>'<p id=\"j\">'</script>", "<style>p > a {}</style>",
]  # fmt: skip


class Reader(HTMLParser):
    """The identifiers of a page, as Python's own parser finds them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids.update(value for name, value in attrs if name == "id" and value)


@given(st.lists(st.sampled_from(PIECES)))
def test_identifiers_are_those_that_a_parser_of_html_finds(pieces):
    page = "".join(pieces)
    assert read_page(page).ids == Reader(page).ids


def test_an_element_ends_where_its_own_end_stands():
    page = '<span class="citation" data-cites="a">Ann <span>and <b>Bo</b></span> &amp; Cy</span> said <span>it</span>'
    assert read_page(page).words == {"a": "Ann and Bo & Cy"}
    assert read_page('<a class="quarto-xref" href="#sec-1">Section 1').words == {}


def test_lines_of_code_are_not_looked_at():
    page = '<pre id="cb" class="python"><code><span id="cb1-1"><a href="#cb1-1">x</a></span></code></pre><p id="p">'
    assert read_page(page).ids == {"cb", "p"}
    assert read_page("<pre-set id='a'><i id='b'></pre-set>").ids == {"a", "b"}


def test_the_tag_of_the_box_is_known_if_there_is_just_one():
    tag = '<script async src="ask.js" data-lmm-ask data-page="x"></script>\n'
    assert read_page(f"<head><script></script>\n{tag}</head>").tag == tag
    assert read_page(f"<head>{tag}{tag}</head>").tag == ""
    assert read_page("<head></head>").tag == ""


def test_of_a_site_only_pages_that_have_changed_are_read_again(monkeypatch):
    monkeypatch.setattr(remember, "WORTH", 0)
    monkeypatch.setattr(digests, "RESTED", -(10**15))
    monkeypatch.setattr(digests, "HAS_CHANGE_TIMES", True)
    pages = {name: Path(name) for name in ("a.html", "b.html")}
    for name in pages:
        write(name, f"<p id={name[0]}>")
    first = read_pages(pages, b"site")
    read = counting(monkeypatch, digests, "digest_of"), counting(monkeypatch, page_html, "_read")
    assert read_pages(pages, b"site") == first
    assert read == ([], [])
    write("b.html", "<p id=c>")
    assert read_pages(pages, b"site")["b.html"].ids == {"c"}
    assert read == ([(b"<p id=c>",)], [(b"<p id=c>",)])


def test_a_page_that_changes_while_it_is_read_is_not_taken_for_another(monkeypatch):
    monkeypatch.setattr(digests.FileDigests, "of", lambda self, path: b"that of another text")
    write("a.html", "<p id=a>")
    with pytest.raises(ChangedError, match="changed on disk"):
        read_pages({"a.html": Path("a.html")}, b"site")
