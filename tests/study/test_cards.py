"""Study cards, and the files that they are written into."""

import csv
import io
import json
import sqlite3
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.files.outputs import COLUMNS
from lmm_core.markdown import parse_markdown_text, serialize_blocks
from lmm_core.scan import scan_rag
from lmm_core.study.anki import to_html, write_package
from lmm_core.study.cards import FORMULA_SIGNS, Card, cards_to_csv, cards_to_markdown, make_cards
from tests.retrieve.from_files import material

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
    return make_cards(material(text))


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
        ("It is written\n\n$$ mode $$\n\nwhich is a mode. A mode has no end,\n", "It is a value. A summary of the mode."),
        ("```{r}\nmode <- 1\n```\n\n| mode |\n|---|\n| 1 |\n", "It is a value. A summary of the mode."),
        ("A number is a number. It is one.", "It is a value. A summary of the mode."),
        ("A mode " + "is a mode " * 50 + ".", " ".join(["A mode", *["is a mode"] * 20][:20]) + " is …"),
    ],
)  # fmt: skip
def test_an_answer_is_a_sentence_or_two_of_the_question(text, back):
    summary = "summary: It is a value. A summary of the mode."
    made = cards(f"---\ntitle: T\n---\n\n---\nquestions: What is a mode?\n{summary}\n---\n\n# Modes\n\n{text}\n")
    assert [card.back for card in made] == [back]


def test_no_card_of_a_licence_or_a_name_in_code():
    text = "The option `echo` is a switch that shows code. A *switch* has two values."
    asked = "---\ntitle: T\n---\n\n---\nquestions: [What does “echo” mean?, What does “switch” mean?]\n---\n\n"
    assert [card.front for card in cards(f"{asked}# Options\n\n{text}\n")] == ["What does “switch” mean?"]
    assert cards(f"{asked}# Licence\n\n{text}\n") == []


def test_a_definition_is_cut_and_an_exercise_is_not(sample_book):
    read = material(*sorted(sample_book.glob("0*")))
    made = make_cards(read)
    assert max(len(card.back.split()) for card in made if card.type != "exercise") <= 60
    said = "\n".join(card.front + "\n" + card.back for card in made)
    for passage in read.passages.values():
        if "exercise" in passage.types:
            for line in passage.text.split("\n"):
                assert line.startswith(":::") or line in said, line


def test_code_of_an_exercise_has_no_chunk_options():
    (card,) = cards("# T\n\n::: exercise\nRun it.\n\n```{r, echo=FALSE}\n#| eval: false\nx <- 1\n```\n:::\n")
    assert card.front.endswith("```r\nx <- 1\n```")


def test_ids_stay_while_answers_texts_and_places_change():
    changed = (
        NOTES.replace("six sides", "6 faces")
        .replace("One of six", "One of 6")
        .replace("is fair if", "is called fair if")
    )
    changed = changed.replace("# Sides", "# Intro\n\nNew words, at some length, before all.\n\n# Sides", 1).replace(
        "What comes?", "What will come?"
    )
    before, after = cards(NOTES), cards(changed)
    assert {card.id for card in before} <= {card.id for card in cards(NOTES.replace("six sides", "6 faces"))}
    exercise = next(card for card in after if card.type == "exercise")
    assert (exercise.id, exercise.back) == (before[3].id, "**Solution.** One of 6.")
    definition = next(card for card in after if card.type == "definition")
    assert definition.id == before[2].id and "is called fair" in definition.back


def test_a_question_in_other_words_is_another_card():
    assert cards(NOTES)[0].id != cards(NOTES.replace("How many sides", "How many faces"))[0].id


def test_ids_are_unique_for_what_has_the_same_name():
    twice = "# T\n\n" + "::: exercise\n**Roll.** Now.\n:::\n\n" * 3
    assert len({card.id for card in cards(twice)}) == 3


# Tables and markdown


def rows(text):
    lines = text.split("\n", 5)
    assert lines[:5] == [
        "#separator:Comma",
        "#html:false",
        f"#columns:{','.join(COLUMNS)}",
        "#guid column:1",
        "#tags column:4",
    ]
    return list(csv.reader(io.StringIO(lines[5], newline="")))


def test_a_table():
    made = cards(NOTES)
    assert rows(cards_to_csv(made)) == [
        [card.id, card.front, card.back, " ".join(card.tags), card.source] for card in made
    ]


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


def opened(path):
    """Return what is in a package: fields by the notes' ids, the deck's names, and images."""
    with zipfile.ZipFile(path) as package:
        Path("found.db").write_bytes(package.read("collection.anki2"))
        images = {name: package.read(number) for number, name in json.loads(package.read("media")).items()}
    base = sqlite3.connect("found.db")
    notes = {
        guid: (fields.split("\x1f"), tags) for guid, fields, tags in base.execute("select guid, flds, tags from notes")
    }
    decks = json.loads(base.execute("select decks from col").fetchone()[0])
    base.close()
    return notes, {deck["name"] for deck in decks.values()}, images


def package(made, root="."):
    write_package(made, "Dice", Path("dice.apkg"), Path(root))
    return opened("dice.apkg")


def test_a_name_makes_no_decks_in_decks():
    write_package(cards(NOTES), "Dice::Sides", Path("dice.apkg"), Path())
    assert "Dice: Sides" in opened("dice.apkg")[1]


def test_a_package():
    first, *others = cards(NOTES)
    made = [replace(first, back=DIE), *others]
    notes, decks, images = package(made)
    assert list(notes) == [card.id for card in made] and "Dice" in decks and images == {}
    fields, tags = notes[made[2].id]
    assert fields[1] == (
        '<p><strong>Fair die.</strong> A die is fair if <span class="math inline">\\(P(i) &lt; 1/5\\)</span> for all '
        '<span class="math inline">\\(i\\)</span>.</p>'
    )
    assert tags.split() == ["definition", "dice"]
    assert "[image: A die.]" in notes[made[0].id][0][1]


def test_a_package_is_written_where_a_link_leads_to():
    Path("decks").mkdir()
    Path("dice.apkg").symlink_to("decks/mine.apkg")
    assert package(cards(NOTES))[0]
    assert Path("dice.apkg").is_symlink()
    assert [path.name for path in Path("decks").iterdir()] == ["mine.apkg"]


def test_a_package_made_again_has_the_same_notes():
    before, after = package(cards(NOTES))[0], package(cards(NOTES.replace("One of six", "One of 6")))[0]
    assert before.keys() == after.keys()
    assert [guid for guid in before if before[guid] != after[guid]] == [cards(NOTES)[3].id]


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
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "<svg onload=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt&colon;alert(1))",
        "![![x](http://x.org/x.png) [y](javascript&#58;alert(1))](y.png)",
        '![x](x.png "a\\" onerror=\\"alert(1)")',
        "```<script>\n</code><script>alert(1)</script>\n```",
        "$</span><script>alert(1)</script>$",
        "$$\n\\href{javascript:alert(1)}{x}\n$$",
        "x[^1]\n\n[^1]: <script>alert(1)</script>",
    ],
)
def test_nothing_in_notes_runs(hostile):
    shown = to_html(hostile)
    assert not any(sign in shown for sign in ("<script", "<svg", "<img", 'href="java', 'href="Java', "\\[\\href"))


@given(st.text(alphabet="<>scriptj&;:\"'`$[]()!\\\n{}*_ /=a", max_size=60))
def test_only_our_own_tags_are_in_what_is_made(text):
    import re

    known = "p|em|strong|code|pre|h[1-6]|ul|ol|li|blockquote|hr|br|a|div|span|table|thead|tbody|tr|th|td|s"
    for tag in re.findall(r"<[^>]*>", to_html(text)):
        assert re.fullmatch(rf"</?(?:{known})(?: (?:class|href|start|title)=\"[^\"]*\")*(?: /)?>", tag), tag


def test_commands_of_anki_are_text():
    shown = to_html("[latex]\\input{/etc/passwd}[/latex] [sound:x.mp3] [anki:tts]")
    assert "[latex]" not in shown and "[sound:" not in shown and "[anki:" not in shown
    assert shown.count("&#91;") == 4


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("$5 and $6", "<p>$5 and $6</p>"),
        ("$$\na &= b \\\\\n= 3\n$$", '<div class="math block">\n\\[a &amp;= b \\\\\n= 3\\]\n</div>'),
        ("see [there](#sec-x){.y}", "<p>see there</p>"),
        ("[here](https://x.org)", '<p><a href="https://x.org">here</a></p>'),
        ("## Why $n$? {#sec-n}", '<h2>Why <span class="math inline">\\(n\\)</span>?</h2>'),
    ],
)
def test_html(text, shown):
    assert to_html(text) == shown


@pytest.mark.parametrize(
    ("text", "front"),
    [
        ("A *median* is the value in the middle.", "median"),
        ("The **mean** of values is their sum, divided by their number.", "mean"),
        ("*Der Modus* ist der häufigste Wert.", "Der Modus"),
        ("L'*écart* est une distance.", "écart"),
        ("How strongly an *observation* pulls.", "Terms"),
        ("Half * of the * values lie below.", "Terms"),
    ],
)
def test_a_definition_asks_for_the_words_that_it_begins_by_emphasising(text, front):
    made = cards(f"# Terms\n\nSome terms.\n\n::: {{.rag-only type=definition}}\n{text}\n:::\n")
    assert [(card.type, card.front, card.back) for card in made] == [("definition", front, text)]


def test_the_stand_in_makes_cards_of_definitions_and_headings_that_ask():
    text = "# What is a die good for?\n\nA cube is a body that has six sides. " + "It is thrown. " * 10
    made = serialize_blocks(scan_rag(parse_markdown_text(f"---\ntitle: Dice\n---\n\n{text}\n")))
    assert [card.front for card in cards(made)] == ["What is a die good for?", "What does “cube” mean?"]
