"""Tokens are estimated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.tokens import count_tokens
from tests.strategies import markdown


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
