"""The table of contents."""

from lmm_core.study.outline import make_outline, reading_minutes, show_minutes, show_outline
from tests.retrieve.materials import material_of_files

NOTES = """---
title: Notes on *chance*
---

Some words before.

---
summary: What a die is.
---

# The `die` {#sec-die .unnumbered}

Six sides.

::: exercise
**Roll it.** How often is it six?
:::

## Loaded

::: topic
Loaded dice, and how they are found out.
:::

# Coins

Two sides.
"""


def lines(*texts, level=0, summaries=False):
    return show_outline(make_outline(material_of_files(*texts), level), summaries, 60)


def test_titles_types_and_times():
    assert lines(NOTES) == (
        "1 min  Notes on chance  (notes.md)\n1 min    The die  [exercise]\n1 min      Loaded  [topic]\n1 min    Coins\n"
    )


def test_summaries():
    assert "1 min    The die  [exercise]\n           What a die is.\n" in lines(NOTES, summaries=True)


def test_a_document_that_is_one_section_is_shown_once():
    assert lines("# Dice {#d}\n\nA die.\n\n## Loaded\n\nNot fair.\n") == ("1 min  Dice  (notes.md)\n1 min    Loaded\n")


def test_an_outline_as_data():
    document, die, loaded, _ = make_outline(material_of_files(NOTES))
    assert (document.id, die.id, loaded.id) == ("notes.md", "notes.md#1", "notes.md#1.1")
    assert (die.anchor, die.level, die.place, die.summary) == ("sec-die", 1, "notes.md:11-23", "What a die is.")


def test_times():
    assert reading_minutes(list(material_of_files("word " * 400).passages.values())) == 2
    assert reading_minutes(list(material_of_files("字" * 400).passages.values())) == 2
    assert [show_minutes(minutes) for minutes in (0.1, 59, 60, 125)] == ["1 min", "59 min", "1 h", "2 h 5 min"]
