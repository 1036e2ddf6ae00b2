"""Study cards, and the files that they are written into."""

import csv
import io
import json
import re
import sqlite3
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.files.outputs import COLUMNS
from lmm_core.study.anki import to_html, write_package
from lmm_core.study.cards import FORMULA_SIGNS, Card, cards_to_csv, cards_to_markdown, make_cards
from tests.retrieve.materials import material_of_files

NOTES = """---
title: Dice
---

---
questions: "How many sides has a die? What is a pip?"
summary: Six sides, with pips.
---

# Sides

A die has six sides, with pips on them.

![A die.](die.svg){#fig-die width=80%}

::: {.rag-only type=definition}
**Fair die.** A die is fair if $P(i) < 1/5$ for all $i$.
:::

::: exercise
**Roll it.** What comes?

**Solution.** One of six.
:::

---
type: exercise
---

# Twice

Roll it twice. What is the sum?
"""


DIE = "![A die.](die.svg){#fig-die width=80%}"


def cards(text):
    return make_cards(material_of_files(text))


def test_cards():
    question, second, definition, exercise, unsolved = cards(NOTES)
    back = "A die has six sides, with pips on them."
    assert (question.front, question.back) == ("How many sides has a die?", back)
    assert (second.front, second.back) == ("What is a pip?", back)
    assert definition.front == "Fair die"
    assert definition.back == "**Fair die.** A die is fair if $P(i) < 1/5$ for all $i$."
    assert (exercise.front, exercise.back) == ("**Roll it.** What comes?", "**Solution.** One of six.")
    assert unsolved.front == "**Twice**\n\nRoll it twice. What is the sum?"
    assert unsolved.back == "No solution is in the notes. See Dice > Twice (notes.md:32)."
    assert exercise.tags == ("exercise", "dice")
    assert question.source == "Dice > Sides > notes.md:12-14"


@pytest.mark.parametrize(
    ("text", "back"),
    [
        ("Nothing. " * 30 + "\n\n```{r}\n#| echo: false\nmode\n```\n\nThe *mode* is a value. It is frequent. It is last.",
         "The *mode* is a value. It is frequent."),
        ("A mode is rare here.\n\n- one.\n- The *mode* is [a value](x.md#y).[^n]\n\n[^n]: A note on the mode.",
         "The *mode* is a value."),
        ("Mode\n: The value.\n\nMedian\n: The middle.", "Mode: The value."),
    ],
)  # fmt: skip
def test_an_answer_is_a_sentence_or_two_of_the_question(text, back):
    summary = "summary: It is a value. A summary of the mode."
    made = cards(f"---\ntitle: T\n---\n\n---\nquestions: What is a mode?\n{summary}\n---\n\n# Modes\n\n{text}\n")
    assert [card.back for card in made] == [back]


def test_ids_stay_while_answers_texts_and_places_change():
    before = cards(NOTES)
    elsewhere = NOTES.replace("# Sides", "# Intro\n\nNew words, at some length, before all.\n\n# Sides", 1)
    after = cards(elsewhere.replace("six sides", "6 faces").replace("One of six", "One of 6"))
    assert {card.id for card in before} <= {card.id for card in after}
    assert before[0].id != cards(NOTES.replace("How many sides", "How many faces"))[0].id


# Tables and markdown


def rows(text):
    lines = text.split("\n", 5)
    columns = f"#columns:{','.join(COLUMNS)}"
    assert lines[:5] == ["#separator:Comma", "#html:false", columns, "#guid column:1", "#tags column:4"]
    return list(csv.reader(io.StringIO(lines[5], newline="")))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=3, max_size=3))
def test_any_text_comes_back_from_a_table(texts):
    front, back, source = texts
    card = Card("0" * 20, "question", front, back, ("question",), source)
    (row,) = rows(cards_to_csv([card]))
    for cell, text in zip(row, ["0" * 20, front, back, "question", source], strict=True):
        assert cell == text or (cell == f"'{text}" and text.startswith(FORMULA_SIGNS))


def test_markdown():
    text = cards_to_markdown(cards(NOTES)[2:3], "Dice")
    assert text == (
        "# Dice\n\n**Fair die**\n\n> **Fair die.** A die is fair if $P(i) < 1/5$ for all $i$.\n\n"
        "[Dice > Sides > notes.md:16-18](notes.md#sides)\n\n***\n"
    )


# Anki


def package(made, root="."):
    """Return what is in a package: fields and tags by the notes' ids, the decks' names, and images."""
    write_package(made, "Dice::Sides", Path("dice.apkg"), Path(root))
    with zipfile.ZipFile("dice.apkg") as package:
        Path("found.db").write_bytes(package.read("collection.anki2"))
        images = {name: package.read(number) for number, name in json.loads(package.read("media")).items()}
    base = sqlite3.connect("found.db")
    rows = base.execute("select guid, flds, tags from notes").fetchall()
    decks = json.loads(base.execute("select decks from col").fetchone()[0])
    base.close()
    notes = {guid: (fields.split("\x1f"), tags) for guid, fields, tags in rows}
    return notes, {deck["name"] for deck in decks.values()}, images


def test_a_package():
    first, *others = cards(NOTES)
    made = [replace(first, back=DIE), *others]
    notes, decks, images = package(made)
    assert list(notes) == [card.id for card in made] and "Dice: Sides" in decks and images == {}
    fields, tags = notes[made[2].id]
    assert fields[1] == (
        '<p><strong>Fair die.</strong> A die is fair if <span class="math inline">\\(P(i) &lt; 1/5\\)</span> for all '
        '<span class="math inline">\\(i\\)</span>.</p>'
    )
    assert tags.split() == ["definition", "dice"]
    assert "[image: A die.]" in notes[made[0].id][0][1]


def test_images_come_along_and_nothing_else():
    Path("book/part").mkdir(parents=True)
    Path("book/part/die.svg").write_text("<svg/>")
    Path("secret.png").write_text("secret")
    card = replace(cards(NOTES)[0], back=DIE, folder="part")
    stolen = replace(card, id="1" * 20, back="![a](../../secret.png) ![b](/etc/passwd) ![c](http://x.org/c.png)")
    notes, _, images = package([card, stolen], "book")
    ((name, data),) = images.items()
    assert data == b"<svg/>" and f'<img src="{name}" alt="" /><br />\nA die.</p>' in notes[card.id][0][1]
    assert notes[stolen.id][0][1] == "<p>[image: a] [image: b] [image: c]</p>"


@pytest.mark.parametrize(
    "hostile",
    [
        '![x](x.png "a\\" onerror=\\"alert(1)")',
        "```<script>\n</code><script>alert(1)</script>\n```",
        "$$\n\\href{javascript:alert(1)}{x}\n$$",
    ],
)
def test_nothing_in_notes_runs(hostile):
    shown = to_html(hostile)
    assert not any(sign in shown for sign in ("<script", "<svg", "<img", 'href="java', 'href="Java', "\\[\\href"))


@given(st.text(alphabet="<>scriptj&;:\"'`$[]()!\\\n{}*_ /=a", max_size=60))
def test_only_our_own_tags_are_in_what_is_made(text):
    known = "p|em|strong|code|pre|h[1-6]|ul|ol|li|blockquote|hr|br|a|div|span|table|thead|tbody|tr|th|td|s"
    for tag in re.findall(r"<[^>]*>", to_html(text)):
        assert re.fullmatch(rf"</?(?:{known})(?: (?:class|href|start|title)=\"[^\"]*\")*(?: /)?>", tag), tag
