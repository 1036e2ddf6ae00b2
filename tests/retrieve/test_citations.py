"""The text of a model is let through, except citations and links that it made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.retrieve.citations import CitedText

KNOWN = {"#sec-a", "https://ok.org", "notes.md"}


def let_through(text, size=10_000):
    """Return the text after it came in parts of some size."""
    cited = CitedText({1, 2, 8}, KNOWN.__contains__)
    shown = "".join(cited.feed(text[at : at + size]) for at in range(0, len(text), size)) + cited.finish()
    assert shown == cited.text
    return cited


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (r"So \(A[99]\) is [99].", r"So \(A[99]\) is."),
        ("So it is [1, 2] and [1;99].", "So it is [1, 2] and [1]."),
        ("See [the page](http://made.up/x) or [a](javascript:alert(1)).", "See the page or a."),
        ("See [the part](#sec-a) and <https://ok.org>.", "See [the part](#sec-a) and <https://ok.org>."),
        ("See HTTPS://made.up/x or www.made.up now.", "See or now."),
        ("A `x[99]`\n\n```r\nx[99] <- 1\n```\n\nB [99]", "A `x[99]`\n\n```r\nx[99] <- 1\n```\n\nB"),
        ("It lies in $[0, 1]$, see [1].", "It lies in $[0, 1]$, see [1]."),
        ("It costs $5 [99] or $10 [1] (and $x$).", "It costs $5 or $10 [1] (and $x$)."),
        ("**NO_ANSWER**\n\nIt is not there.", "It is not there."),
    ],
)
def test_made_up_citations_and_links_are_dropped(said, shown):
    for size in (1, 7, 1000):
        assert let_through(said, size).text == shown


def test_what_was_dropped_is_listed_and_what_stays_is_numbered_anew():
    cited = let_through("[2] [99] [1] [a](http://b) https://c.d NO_ANSWER")
    assert (cited.text, cited.numbers) == ("[1] [2] a NO_ANSWER", {2: 1, 1: 2})
    assert cited.dropped == ["[99]", "http://b", "https://c.d"]
    assert not cited.refused
    assert let_through("NO_ANSWER").refused


PIECES = st.lists(
    st.sampled_from(
        [*"ab [](){}<>`!~\n.,:$\\w", "http", "https://x.y", "[1]", "[99]", "```", "NO_ANSWER", "#sec-a", "é"]
    )
).map("".join)


@given(PIECES, st.integers(1, 30))
def test_the_parts_that_it_comes_in_make_no_difference(text, size):
    assert let_through(text, size).text == let_through(text).text
