"""Which questions are asked together, and by which strategies."""

import pytest

from lmm_core.retrieve.passages import Section
from lmm_core.study.measures import ANNOTATED, STUDENTS, Labelled
from lmm_core.study.strategies import strategies_for, turns

SPREAD, CENTRE = (Section("a.md", "a.md", path, (title,), "", 1, 1, 2) for path, title in (("1", "A"), ("2", "B")))


def asked(section, origin=ANNOTATED):
    return Labelled("?", section, origin)


def test_the_first_questions_of_all_sections_are_asked_together_and_those_of_students_before():
    labelled = [asked(SPREAD), asked(SPREAD), asked(CENTRE), asked(SPREAD), asked(CENTRE, STUDENTS), asked(CENTRE)]
    assert turns(labelled) == [[4], [0, 2], [1, 5], [3]]
    assert turns([]) == []


@pytest.mark.parametrize(
    ("compared", "annotated", "names"),
    [
        ("words", True, ["chunks", "spans", "names", "questions"]),
        ("words", False, ["chunks", "spans", "names"]),
        ("both", True, ["chunks", "words", "meaning", "both"]),
        ("meaning", False, ["chunks", "meaning"]),
    ],
)
def test_the_strategies_end_with_that_of_ask(compared, annotated, names):
    strategies = strategies_for(compared, annotated)
    assert [one.name for one in strategies] == names
    last = strategies[-1]
    assert (last.compared, last.spans, last.names) == (compared, True, True)
    assert last.questions or not annotated
