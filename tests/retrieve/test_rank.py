"""The passages and sections that fit a question."""

from hypothesis import given
from hypothesis import strategies as st

from lmm_core.retrieve.ranking.fusion import UNDER_SUMMARY, fuse
from tests.retrieve.materials import documents, material, passage

BOOK = """---
title: Book
---

---
summary: All on bread.
---

# Bread

Flour and water.

Salt and yeast, which are two more.

# Wine

---
summary: All on red wine.
---

## Red

### Grapes

Grapes are pressed.

# Beer

Hops are boiled.
"""
MADE = material(BOOK, size=20)
FLOUR, SALT, GRAPES, HOPS = (passage(MADE, word) for word in ("Flour", "Salt", "Grapes", "Hops"))


def summary(word):
    """Return the point of a summary."""
    (found,) = (one for one in MADE.passages.values() if one.types == ("summary",) and word in one.text)
    return found


@given(documents(), st.data())
def test_what_is_found_comes_once_the_best_first_and_without_summaries(text, data):
    made = material(text, size=60)
    lists = st.lists(st.sampled_from(list(made.passages.values())), unique=True) if made.passages else st.just([])
    found = data.draw(st.lists(lists, max_size=3))
    best = fuse(found, made)
    assert len({one.id for one in best}) == len(best)
    assert all("summary" not in one.types and 0 <= one.score <= 1 for one in best)
    assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)
    assert {one.id for many in found for one in many if "summary" not in one.types} <= {one.id for one in best}


def test_what_two_queries_find_comes_before_what_one_finds():
    best = fuse([[HOPS, FLOUR], [GRAPES, FLOUR]], MADE)
    assert best[0].id == FLOUR.id
    assert (best[0].score, best[1].score) == (1.0, 0.5)


def test_a_hit_on_a_summary_gives_the_passages_under_it():
    best = fuse([[summary("bread")]], MADE)
    assert {one.id for one in best} == {FLOUR.id, SALT.id}
    assert best[0].score == UNDER_SUMMARY
    assert [one.id for one in fuse([[summary("red wine")]], MADE)] == [GRAPES.id]  # it has no text of its own
