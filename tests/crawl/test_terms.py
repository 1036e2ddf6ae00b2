"""The terms of an index: counts and weights of words."""

import math

import pytest

from lmm_core.crawl.terms import Tally, Terms, inverse_document_frequency
from tests.crawl.indexed import BM25, terms_of, words


def test_what_is_removed_leaves_what_was_never_added():
    tally = Tally(terms_of("a walnut tree", "walnut wood"))
    [vector] = BM25.encode(["a cherry and a walnut"])
    tally.add({"sparse": vector, "dense": [1.0, 2.0]})
    tally.remove({"sparse": vector, "dense": [1.0, 2.0]})
    after, wanted = tally.terms(), terms_of("walnut wood", "a walnut tree")
    assert (after.count, list(after.numbers), list(after.frequencies)) == (
        2,
        list(wanted.numbers),
        list(wanted.frequencies),
    )
    assert list(after.weights) == pytest.approx(list(wanted.weights))


def test_terms_say_how_many_snippets_hold_a_word_and_its_mean_weight():
    terms = terms_of("walnut walnut", "cherry", "walnut")
    [walnut] = words("walnut")
    assert terms.frequency(walnut) == 2
    assert terms.mean(walnut) == pytest.approx((words("walnut walnut")[walnut] + words("walnut")[walnut]) / 3)
    assert terms.frequency(1) == 0 and terms.mean(1) == 0.0 and Terms().mean(1) == 0.0


def test_the_centroid_is_the_mean_of_the_dense_vectors():
    tally = Tally()
    tally.add({"dense": [1.0, 0.0]})
    tally.add({"dense": [0.0, 3.0]})
    assert tally.terms().centroid == [0.5, 1.5]


def test_the_inverse_document_frequency_is_over_all_indexes_together():
    one, other = terms_of("walnut", "walnut"), terms_of("cherry")
    [walnut] = words("walnut")
    assert inverse_document_frequency([one, other], walnut) == pytest.approx(math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)))
