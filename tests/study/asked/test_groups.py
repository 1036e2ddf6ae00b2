"""Questions grouped by meaning."""

from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.study.asked.grouping import _rarity, group_turns, make_row
from lmm_core.study.asked.recordings import RecordedSource, RecordedTurn

ENCODER = Bm25Encoder()


def turn(question, *found, number=0, outcome=None, conversation=""):
    """A turn; found: sections with their scores, none for a question that the notes do not answer."""
    sources = tuple(RecordedSource(name, (), rank, score) for rank, (name, score) in enumerate(found, 1))
    outcome = outcome or ("answered" if found else "refused")
    return RecordedTurn(str(number), conversation, "2026-11-22T14", question, outcome=outcome, sources=sources)


def groups_of(turns):
    """The groups of turns."""
    words = {}
    for one in turns:
        found = ENCODER.encode_query(one.question)
        words[one.question] = dict(zip(found.indices, found.values, strict=True))
    rarity = _rarity(words[one.question] for one in turns)
    rows = [make_row(one, words[one.question], rarity) for one in turns]
    return group_turns(turns, rows)


def grouped(turns):
    return {group.name: {one.question for one in group.turns} for group in groups_of(turns)}


BAYES = ["what is bayesian statistics", "bayesian statistics in R", "is bayesian statistics in the exam"]
FOREST = ["random forest", "how do i fit a random forest", "random forest or a tree"]


def test_questions_that_the_notes_do_not_answer_are_grouped_by_their_words():
    asked = [*BAYES, *FOREST, "when is the exam"]
    made = grouped([turn(question, number=at) for at, question in enumerate(asked)])
    assert set(BAYES) in made.values()
    assert set(FOREST) in made.values()


def test_questions_with_other_words_about_one_section_belong_together():
    spread, line = ("02.md#spread", 9.0), ("05.md#line", 8.0)
    made = grouped([
        turn("standard deviation", spread), turn("how far are values from the mean", spread, (line[0], 1.0)),
        turn("fit a line", line), turn("what does the slope say", line),
    ])  # fmt: skip
    assert sorted(map(sorted, made.values())) == [
        ["fit a line", "what does the slope say"],
        ["how far are values from the mean", "standard deviation"],
    ]


def test_a_group_is_as_large_as_its_conversations_or_else_its_questions():
    asked = [turn("random forest", number=at, conversation="a" * (at < 3)) for at in range(5)]
    (group,) = groups_of(asked)
    assert (len(group.turns), group.size) == (5, 3)


@given(st.lists(st.tuples(st.text("ab ?", max_size=6), st.sampled_from(["", "x", "y"])), max_size=12), st.randoms())
def test_each_turn_is_in_one_group_and_their_order_changes_nothing(asked, order):
    turns = [turn(text, *([(found, 1.0)] if found else []), number=at) for at, (text, found) in enumerate(asked)]
    groups = groups_of(turns)
    assert sorted(one.id for group in groups for one in group.turns) == sorted(one.id for one in turns)
    assert all(group.name == group.turns[0].question for group in groups)
    shuffled = turns[:]
    order.shuffle(shuffled)
    assert groups_of(shuffled) == groups
