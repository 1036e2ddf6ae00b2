"""Ranks and measures of retrieval, and the sections that a file of questions names."""

import pytest

from lmm_core.errors import QuestionsError
from lmm_core.indexing.passages import build_material
from lmm_core.retrieve.library_tools import find_section
from lmm_core.store.vector_store import ScoredPoint
from lmm_core.study.bench import (
    Labelled,
    LabelledQuestion,
    QuestionResult,
    by_section,
    judge,
    label_questions,
    mean_reciprocal_rank,
    measures,
)


def point(number, source, *headings, questions=None, type=None):
    """Return a chunk under headings that are numbered titles: `1 Spread`, `1.2 The variance`."""
    paths = [heading.split(" ", 1)[0] for heading in headings]
    titles = [heading.split(" ", 1)[1] for heading in headings]
    payload = {
        "page_content": f"text {number}", "docid": source, "source": source, "sequence": number,
        "titles": ["Course", *titles], "section_path": paths, "parent": paths[-1] if paths else "",
        "anchors": [title.lower().replace(" ", "-") for title in titles], "line_start": number * 10,
    }  # fmt: skip
    return ScoredPoint(
        str(number), payload | ({"questions": questions} if questions else {}) | ({"type": type} if type else {}), 0.0
    )


POINTS = [
    point(1, "a.md", "1 Spread", questions="How far apart? What is spread?"),
    point(2, "a.md", "1 Spread", "1.1 The variance", questions="What is a variance?"),
    point(3, "a.md", "2 Centre", questions=["What is a mean?", "When does it mislead?"]),
    point(4, "a.md", "3 Exercise", questions="Which mean?", type="exercise"),
    point(5, "book/b.md", "1 Centre"),
]
MATERIAL = build_material(POINTS)


def hits(*numbers):
    return [MATERIAL.passages[str(number)] for number in numbers]


def named(name):
    return find_section(name, MATERIAL)


@pytest.mark.parametrize(
    ("name", "found", "rank"),
    [
        ("Spread", (3, 2, 1), 2),  # a subsection is part of it
        ("The variance", (1, 3, 2), 3),  # the section around it is not
        ("a.md#centre", (5, 3), 2),  # another document's section of this name
        ("Spread", (3, 4, 5), None),
    ],
)
def test_the_rank_is_that_of_the_first_hit_in_the_section(name, found, rank):
    outcome = judge(Labelled("?", named(name)), hits(*found))
    assert outcome.rank == rank
    assert outcome.first == (hits(*found) or [None])[0]


def test_measures_of_known_ranks():
    labelled = Labelled("?", named("Spread"))
    ranked = [QuestionResult(labelled, rank, None) for rank in (1, 2, 5, 11, None)]
    assert measures(ranked) == {"hit@1": 0.2, "hit@3": 0.4, "hit@5": 0.6, "hit@10": 0.6, "shown": 0, "refused": 0}
    assert mean_reciprocal_rank(ranked) == pytest.approx((1 + 1 / 2 + 1 / 5 + 1 / 11) / 5)
    assert measures([])["hit@5"] == mean_reciprocal_rank([]) == 0


def test_the_section_that_cannot_be_found_is_first_and_its_worst_question():
    ranks = {"Spread": [1, 3], "Exercise": [7, None], "The variance": [None]}
    mixed = [QuestionResult(Labelled(f"{rank}", named(name)), rank, None) for name in ranks for rank in ranks[name]]
    assert [(section.title, [one.rank for one in group]) for section, group in by_section(mixed)] == [
        ("The variance", [None]), ("Exercise", [None, 7]), ("Spread", [3, 1]),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["the  Variance", "Spread > The variance", "#the-variance", "a.md#the-variance"])
def test_a_section_is_named_by_title_titles_anchor_or_file(name):
    assert named(name).address == "a.md#the-variance"


def test_all_wrong_sections_of_a_file_are_reported_at_once():
    right, open_one = LabelledQuestion("a", "Spread", "s.csv:2"), LabelledQuestion("c", "", "s.csv:4")
    wrong = [LabelledQuestion("b", "Spred", "s.csv:3"), LabelledQuestion("d", "Centre", "s.csv:5")]
    message = r"s.csv:3: there is no document or section 'Spred'. .*a.md#1 .*\ns.csv:5: 'Centre' may be"
    with pytest.raises(QuestionsError, match=message):
        label_questions([right, *wrong, open_one], MATERIAL)
    assert [labelled.question for labelled in label_questions([right, open_one], MATERIAL)] == ["a"]
