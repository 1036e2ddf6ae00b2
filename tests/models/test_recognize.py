"""The language of a text, recognized."""

import pytest

from lmm_core.models.languages.recognize import recognize_language

GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda rho".split()


@pytest.mark.parametrize("count", [12, 200, 2000])
def test_a_text_of_names_and_numbers_is_in_no_language(count):
    names = " ".join(f"{GREEK[at * at % 11]}{at * 37 % 997}" for at in range(count))
    assert recognize_language(names) in ("", "el")
    assert recognize_language(f"# Long line\n\n{names}\n") != "zxx"
