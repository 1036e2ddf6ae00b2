"""Sentences that cannot stand first, neither in a summary nor in a quotation."""

import pytest

from lmm_core.models.annotators.leaning import leans
from lmm_core.models.annotators.wording import GRAMMARS, wording_of


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "This is reliability."), ("en", "Three things can be read from it."), ("en", "It is the sleep."),
        ("en", "However, nothing is lost."), ("en", "Two important rules follow."), ("en", "“These” are signs."),
        ("en", "Conversely, a mean needs no median."), ("en", "For instance, the mean is robust."),
        ("de", "Dies gilt immer."), ("de", "Dahinter steht ein Satz."), ("de", "Zum Beispiel sei der Wert 3."),
        ("de", "Zwei Dinge folgen daraus."), ("fr", "Cela suffit."), ("fr", "Par exemple, la moyenne est 3."),
        ("es", "Por tanto, la media es 3."), ("it", "Inoltre la media è 3."), ("en", "where s is the spread."),
        ("", "where s is the spread."), ("", ", as is the median."),
    ],
)  # fmt: skip
def test_sentences_that_need_what_is_before_them(language, sentence):
    assert leans(sentence, wording_of(language))


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "The mean is the sum of the values."), ("en", "Two students who differ by one hour differ in recall."),
        ("en", "Itself a mean, it varies."), ("en", "Thesauri help."), ("en", "If the mean is 3, the sum is 30."),
        ("de", "Sortieren Sie die Werte."), ("de", "Zwei Werte sind gleich."), ("de", "Weil alle Werte gleich sind."),
        ("en", "Die casting is a process."), ("en", "Car engines run hot."), ("", "This is not known here."),
    ],
)  # fmt: skip
def test_sentences_that_stand_by_themselves(language, sentence):
    assert not leans(sentence, wording_of(language))


@pytest.mark.parametrize("language", GRAMMARS)
def test_a_summary_begins_with_no_sentence_that_leans(language):
    wording = wording_of(language)
    for phrase in wording.lists.leans | wording.lists.no_summary:
        assert not wording.may_sum_up(phrase.split())
