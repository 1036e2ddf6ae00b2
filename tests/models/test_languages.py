"""The words of a text, their stems, and the language that a text is in."""

import pytest

from lmm_core.models.languages.recognize import recognize_language
from lmm_core.models.languages.words import find_words


@pytest.mark.parametrize(
    "text, words",
    [
        ("It’s the mean—of 3 values…", ["it", "the", "mean", "of", "3", "values"]),
        ("“Don’t”, she said", ["do", "she", "said"]),
        ("x_1\u00a0and\x00y", ["x", "1", "and", "y"]),
    ],
)
def test_signs_of_typesetters_stand_between_words(text, words):
    assert find_words(text) == words


@pytest.mark.parametrize(
    "text, words",
    [
        ("Equation (2.8).", ["equation", "2.8", "2", "8"]),
        ("v3.11.7b", ["v3.11.7b", "v3", "11", "7b"]),
        ("第9.33节", ["第", "9.33", "9", "33", "节"]),
    ],
)
def test_a_number_with_points_is_a_word_and_so_are_its_parts(text, words):
    assert find_words(text) == words


def test_a_word_with_one_hyphen_is_also_written_as_one():
    assert find_words("An E-mail, -u and x-y-z") == ["an", "e", "mail", "u", "and", "x", "y", "z", "email", "-u"]


# The language of a text

GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda rho".split()


@pytest.mark.parametrize("count", [12, 2000])
def test_a_text_of_names_and_numbers_is_in_no_language(count):
    names = " ".join(f"{GREEK[at * at % 11]}{at * 37 % 997}" for at in range(count))
    assert recognize_language(names) == recognize_language(f"# Long line\n\n{names}\n") == ""


def test_numbers_do_not_hide_what_language_a_text_is_in():
    rows = [f"mean of the group {at}.0 score {at}.1 gain {at}.2 loss {at}.3 rank {at}.4" for at in range(12)]
    text = "\n".join(rows)
    assert recognize_language(text) == recognize_language(text.replace(".", " ")) == "en"
