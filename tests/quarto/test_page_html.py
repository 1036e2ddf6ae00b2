"""What is read from the HTML of a rendered page."""

from lmm_core.quarto.ask_box.rows import read_page


def test_identifiers_are_those_of_elements():
    page = "<p id=a><b ID='b&amp;c'></b><img alt='1 > 0' id=i><!-- <i id='h'> --><script>'<p id=\"j\">'</script>"
    assert read_page(page).ids == {"a", "b&c", "i"}


def test_an_element_ends_where_its_own_end_stands():
    page = '<span class="citation" data-cites="a">Ann <span>and <b>Bo</b></span> &amp; Cy</span> said <span>it</span>'
    assert read_page(page).words == {"a": "Ann and Bo & Cy"}
    assert read_page('<a class="quarto-xref" href="x.html#sec-1">Section&nbsp;1</a>').words == {"sec-1": "Section 1"}
    assert read_page('<span class="citation" data-cites="a b">Ann</span><a href="#sec-1">S</a>').words == {}


def test_the_tag_of_the_box_is_known_if_there_is_just_one():
    tag = '<script async src="ask.js" data-lmm-ask data-page="x"></script>\n'
    assert read_page(f"<head><script></script>\n{tag}</head>").tag == tag
    assert read_page(f"<head>{tag}{tag}</head>").tag == ""
    assert read_page("<head></head>").tag == ""
