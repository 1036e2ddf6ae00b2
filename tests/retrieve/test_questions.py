"""Questions to the sample book as students type them, answered without a model.

The questions, with the sections that answer them, are in `gold/`; nothing was tuned on those in
`held_out.jsonl`. `benchmarks/retrieval.py book` prints the figures of `lmm search` and the ask box, too.
"""

import pytest

from lmm_core.models.annotators.prose import leans
from lmm_core.models.chat import run
from tests.retrieve.questions import ask, figures, questions, search

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def answers(_indexed_book):
    """What `lmm ask` answers to the gold questions."""
    return run(ask(_indexed_book, questions("gold")))


def test_the_answers_to_the_gold_questions(answers):
    asked = [one for one, _ in answers]
    found = figures(asked)
    print(found, *(one for one in asked if not one.right), sep="\n")
    assert found.first >= 85
    assert found.any >= 90
    assert found.refused_rightly >= 80
    assert found.refused_wrongly <= 5


def test_an_answer_can_be_read(answers):
    """It begins with a sentence that stands by itself, and shows no citation or link."""
    for one, answer in answers:
        for part in answer.text.split("\n\n"):
            assert "[@" not in part and "](" not in part and "](#" not in part and " @" not in part, one.question
        assert not leans(answer.text), one.question


def test_exercises_are_not_given_away(answers):
    types = {source.types for _, answer in answers for source in answer.sources if source.number in answer.cited}
    assert types <= {(), ("definition",)}


def test_the_search_lists_the_right_section_first(_indexed_book):
    found = figures(run(search(_indexed_book, questions("gold"))))
    assert found.first >= 85
    assert found.any >= 95
