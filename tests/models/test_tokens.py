"""Tokens are estimated."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.tokens import count_tokens
from tests.strategies import markdown


@given(st.text(st.characters(max_codepoint=127)))
def test_a_token_for_each_sign_and_for_each_six_letters_of_a_word(text):
    assert count_tokens(text) == len(re.findall(r"\w{1,6}|[^\w\s]", text))


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("heteroscedasticity", 3), ("$\\bar{x}$", 7), ("平均値とは", 3), ("🙂", 1)]
)
def test_an_estimate(text, tokens):
    assert count_tokens(text) == tokens


@given(st.text() | markdown(), st.text() | markdown())
def test_an_estimate_grows_with_the_text(one, other):
    together = count_tokens(one + other)
    assert max(count_tokens(one), count_tokens(other)) <= together
    assert together <= count_tokens(one) + count_tokens(other)
