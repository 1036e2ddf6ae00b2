"""The text of a model is let through, except citations and links that it made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.retrieve.citations import CitedText
from tests.effort import at_most

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
        ("So it is [1].", "So it is [1]."),
        (r"So \(A[99]\) and \[ B[99] \] are [99].", r"So \(A[99]\) and \[ B[99] \] are."),
        (r"So \(A is [99].", r"So \(A is."),
        ("So it is [1, 2] and [1;2].", "So it is [1, 2] and [1, 2]."),
        ("So it is [^1].", "So it is [1]."),
        ("A range [1-2].", "A range [1, 2]."),
        ("So it is [99].", "So it is."),
        ("So it is [1, 99].", "So it is [1]."),
        ("See [the page](http://made.up/x).", "See the page."),
        ("See [the part](#sec-a) and <https://ok.org>.", "See [the part](#sec-a) and <https://ok.org>."),
        ("See https://made.up/x, please.", "See, please."),
        ("![i](http://made.up/x.png) Here.", " Here."),
        ("[1](http://made.up)", "[1]"),
        ("[a](javascript:alert(1))", "a"),
        ("Take `x[99]` or ``[99]`` here.", "Take `x[99]` or ``[99]`` here."),
        ("A\n\n```r\nx[99] <- 1\n```\n\nB [99]", "A\n\n```r\nx[99] <- 1\n```\n\nB"),
        ("An [open bracket", "An [open bracket"),
        ("[text] in [brackets] < 3", "[text] in [brackets] < 3"),
        ("It lies in $[0, 1]$, see [1].", "It lies in $[0, 1]$, see [1]."),
        ("$$\n\\int_{[1, 99]} f\n$$\n\n[99]", "$$\n\\int_{[1, 99]} f\n$$\n\n"),
        ("In [0, 1] or [0; 99].", "In [0, 1] or [0; 99]."),
        ("It costs $5 [99] or $10 [1].", "It costs $5 or $10 [1]."),
        ("It costs \\$5 [99], and $x$ [99].", "It costs \\$5, and $x$."),
        ("See HTTPS://made.up/x or www.made.up now.", "See or now."),
        ("Awww. That is [1].", "Awww. That is [1]."),
        ("NO_ANSWER: It is not there.", "It is not there."),
        ("**NO_ANSWER**\n\nIt is not there.", "It is not there."),
        ("", ""),
    ],
)
def test_made_up_citations_and_links_are_dropped(said, shown):
    for size in (1, 2, 3, 7, 1000):
        assert let_through(said, size).text == shown


def test_what_was_dropped_is_told():
    cited = let_through("[2] [99] [1] [a](http://b) https://c.d NO_ANSWER")
    assert (cited.text, cited.numbers) == ("[1] [2] a NO_ANSWER", {2: 1, 1: 2})
    assert cited.dropped == ["[99]", "http://b", "https://c.d"]
    assert not cited.refused
    assert let_through("NO_ANSWER").refused


def test_text_is_shown_as_soon_as_it_is_sure():
    cited = CitedText({1}, KNOWN.__contains__)
    assert cited.feed("The mean is a sum") == "The mean is a sum"
    assert cited.feed(" [1") == ""
    assert cited.feed("], divided") == " [1], divided"


PIECES = st.lists(
    st.sampled_from(
        [*"ab [](){}<>`!~\n.,:$\\w", "http", "https://x.y", "[1]", "[99]", "```", "NO_ANSWER", "#sec-a", "é"]
    )
).map("".join)


@given(PIECES, st.integers(1, 30))
def test_the_parts_that_it_comes_in_make_no_difference(text, size):
    assert let_through(text, size).text == let_through(text).text


def test_a_long_text_takes_no_time():
    with at_most(seconds=5):
        let_through("word [1] [ < " * 20_000, 1_000_000)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "It costs $5 or $6 [1]. Made up [99]. `$a$` is code [1].",
            "It costs $5 or $6 [1]. Made up. `$a$` is code [1].",
        ),
        ("It costs $6 [1], made up [99] ($x$).", "It costs $6 [1], made up ($x$)."),
        ("It costs $5, they say [99] (and $x$).", "It costs $5, they say (and $x$)."),
    ],
)
def test_money_hides_no_citation(said, shown, size):
    text = CitedText({1}, lambda address: False)
    assert "".join(text.feed(said[at : at + size]) for at in range(0, len(said), size)) + text.finish() == shown
    assert text.dropped == ["[99]"]
