"""Tokens are estimated."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.tokens import count_tokens
from tests.strategies import LONG, PROSE, markdown


@given(st.text(st.characters(max_codepoint=127)))
def test_a_token_for_each_sign_and_for_each_six_letters_of_a_word(text):
    assert count_tokens(text) == len(re.findall(r"\w{1,6}|[^\w\s]", text))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t", 0),
        ("heteroscedasticity", 3),
        ("a, b.", 4),
        ("$\\bar{x}$", 7),
        ("平均値とは", 3),
        ("🙂", 1),
        ("Größe", 2),
    ],
)
def test_an_estimate(text, tokens):
    assert count_tokens(text) == tokens


@pytest.mark.parametrize("text", [PROSE, LONG])
def test_english_prose_has_about_four_tokens_for_three_words(text):
    words = len(text.split())
    assert 1.05 * words < count_tokens(text) < 1.6 * words


@given(st.text() | markdown(), st.text() | markdown())
def test_an_estimate_grows_with_the_text(one, other):
    together = count_tokens(one + other)
    assert max(count_tokens(one), count_tokens(other)) <= together
    assert together <= count_tokens(one) + count_tokens(other)
