"""The language of a text, recognized."""

import pytest

from lmm_core.models.languages.recognize import recognize_language

GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda rho".split()


@pytest.mark.parametrize("count", [12, 200, 2000])
def test_a_text_of_names_and_numbers_is_in_no_language(count):
    names = " ".join(f"{GREEK[at * at % 11]}{at * 37 % 997}" for at in range(count))
    assert recognize_language(names) == recognize_language(f"# Long line\n\n{names}\n") == ""


def test_numbers_do_not_hide_what_language_a_text_is_in():
    rows = [f"mean of the group {at}.0 score {at}.1 gain {at}.2 loss {at}.3 rank {at}.4" for at in range(12)]
    text = "\n".join(rows)
    assert recognize_language(text) == recognize_language(text.replace(".", " ")) == "en"


def test_marks_without_letters_are_in_no_language():
    assert recognize_language("\u0e31 \u0e31") == ""
