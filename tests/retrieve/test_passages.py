"""The contents of a collection, as they are read."""

import random

from hypothesis import given
from hypothesis import strategies as st

from lmm_core.indexing.passages import build_material
from tests.retrieve.materials import documents, material, points

BOOK = """---
title: Book
---

The beginning.

---
questions: What is a residual? How is it plotted?
summary: Residuals are what is left.
---

# Residuals

The text of residuals.

## Plots

The text of plots.

---
questions: How are sums made?
---

## Sums

The text of sums.

# Centre

The text of the centre.

::: exercise
An exercise on it.
:::
"""
SUMMARY = "summary"


@given(st.lists(documents(), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_every_passage_is_in_one_section_of_a_tree_however_a_store_gives_the_points(texts, chance):
    found = [point for name, text in zip("abc", texts, strict=False) for point in points(text, name, 60)]
    made = build_material(found)
    chance.shuffle(found)
    again = build_material(found)
    assert [section.key for section in made.walk()] == [section.key for section in again.walk()]
    assert list(made.passages) == list(again.passages)
    own = [passage.id for section in made.walk() for passage in section.passages]
    assert sorted(own) == sorted(ident for ident, one in made.passages.items() if SUMMARY not in one.types)
    for passage in made.passages.values():
        section = made.sections[passage.key]
        assert (section.docid, section.path, section.titles) == (passage.docid, passage.path, passage.titles)
        assert section.line_start <= passage.line_start <= passage.line_end <= section.line_end
    for section in made.walk():
        assert all(child.parent is section and child.depth == section.depth + 1 for child in section.children)
        before, after = made.around(section)
        assert before is None or made.around(before)[1] is section
        assert after is None or made.around(after)[0] is section


def test_a_question_is_the_section_s_that_it_was_made_for():
    made = material(BOOK)
    assert made.sections["a", "1"].questions == ["What is a residual?", "How is it plotted?"]
    assert made.sections["a", "1.2"].questions == ["How are sums made?"]
    assert [one.key for one in made.walk() if one.questions] == [("a", "1"), ("a", "1.2")]


def test_sources_come_in_the_order_of_reading_then_by_name():
    found = [point for name in ("a", "z/b", "c", "index") for point in points("# T\n\nText.\n", name)]
    random.Random(0).shuffle(found)
    assert [one.source for one in build_material(found, ["c.md"]).documents] == ["c.md", "index.md", "a.md", "z/b.md"]
