"""The language of a text, recognized."""

import pytest

from lmm_core.models.languages.recognize import NotPlainError, recognize_language, recognize_plainly

GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda rho".split()


@pytest.mark.parametrize("count", [12, 200, 2000])
def test_a_text_of_names_and_numbers_is_in_no_language(count):
    names = " ".join(f"{GREEK[at * at % 11]}{at * 37 % 997}" for at in range(count))
    assert recognize_language(names) in ("", "el")
    assert recognize_language(f"# Long line\n\n{names}\n") != "zxx"


@pytest.mark.parametrize(
    "text", ["", "one two", "the mean of the values is what they are when all are the same, and so it is the sum"]
)
def test_what_is_plain_needs_no_library(text):
    assert recognize_plainly(text) == recognize_language(text)


def test_numbers_do_not_hide_what_language_a_text_is_in():
    rows = [f"mean of the group {at}.0 score {at}.1 gain {at}.2 loss {at}.3 rank {at}.4" for at in range(12)]
    text = "\n".join(rows)
    assert recognize_plainly(text) == recognize_plainly(text.replace(".", " ")) == "en"


def test_what_is_not_plain_is_told():
    with pytest.raises(NotPlainError):
        recognize_plainly(" ".join(GREEK))


def test_marks_without_letters_are_in_no_language():
    assert recognize_language("\u0e31 \u0e31") == ""
