"""What is read from the HTML of a rendered page: the same as Python's own parser finds, in a tenth of the time."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from lmm_core.quarto.ask_box.page_html import read_page

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
