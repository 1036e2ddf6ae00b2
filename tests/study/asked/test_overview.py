"""What students asked, as the teacher sees it, and its page."""

import re
from dataclasses import replace
from html import unescape

import pytest

from lmm_core.logging import printable
from lmm_core.study.asked.page import asked_page
from tests.asked_turns import ASH, ELM, HOSTILE, OAK, REFUSED, make_turns, overview_of, write_course
from tests.indexing import lmm


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course that is indexed."""
    monkeypatch.chdir(tmp_path)
    write_course(tmp_path)
    lmm("index trees.md")
    return tmp_path


def test_what_the_notes_do_not_answer_is_a_group_with_the_nearest_sections(course):
    found = overview_of(course, make_turns(60))
    named = {group.name: group for group in found.failures}
    (group,) = (group for name, group in named.items() if name in REFUSED)
    assert {group.name, *group.examples} == set(REFUSED)
    assert group.failed == group.questions == sum(turn.outcome == "refused" for turn in make_turns(60))


def test_a_question_that_nothing_answered_finds_its_sections_in_the_notes(course):
    asked = [replace(turn, question="which ash", sources=(), outcome="refused") for turn in make_turns(10)]
    assert overview_of(course, asked).failures[0].nearest[0].address == ASH


def test_sections_that_answer_and_those_that_nobody_needed(course):
    turns = make_turns(60)
    cited = {one.address: one.cited for one in overview_of(course, turns).sections}
    assert cited == {
        address: sum(any(source.section == address and source.cited for source in turn.sources) for turn in turns)
        for address in (OAK, ELM, ASH)
    }
    assert cited[ASH] == 0 and "About ash" in asked_page(overview_of(course, turns)).partition("nobody needed")[2]


def test_small_groups_are_shown_only_where_the_teacher_says_so(course):
    said = "my name is Anna Meier and I failed"
    alone = replace(make_turns(1)[0], id="x", question=said, comment="Hello", outcome="refused", sources=())
    turns = [*make_turns(60), alone]
    page = asked_page(overview_of(course, turns))
    assert "Anna" not in page and "2 groups of fewer than 3 conversations not shown" in page
    assert "Anna" in asked_page(overview_of(course, turns, fewest=1))


def test_the_page_names_nobody(course):
    turns = make_turns(40)
    page = asked_page(overview_of(course, turns))
    assert not any(one.id in page or one.conversation in page for one in turns)
    assert re.findall(r"https?://|\bsrc=|href=|<script|@import|url\(", page) == []


def test_what_a_student_typed_is_shown_and_does_nothing(course):
    plain = asked_page(overview_of(course, make_turns(12)))
    for text in HOSTILE:
        turns = [replace(turn, question=text, comment=text) for turn in make_turns(12)]
        page = asked_page(overview_of(course, turns))
        assert set(re.findall(r"<[a-z]+", page)) <= set(re.findall(r"<[a-z]+", plain))
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", page)
        assert " ".join(printable(text).split()) in unescape(page)
