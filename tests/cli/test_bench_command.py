"""`lmm bench`: what is embedded for it, what it prints, when it fails."""

import json
import re
import shutil
from pathlib import Path

import pytest

from lmm_core.models.embedders.bm25 import Bm25Encoder
from tests.commands import text, tree, write
from tests.indexing import LONG, lmm

NOTES = f"""---
title: Notes
---

---
questions: Who tames the walrus?
---

# Apples

The apple is a fruit {LONG}

---
questions:
  - Where does the zebra graze?
  - Is the apple a fruit?
summary: All about the walrus.
---

# Pears

The pear is another {LONG}

## Quinces

The quince is hard {LONG}

---
questions: How hard is the quince?
type: exercise
---

# Exercise

Cut the quince, which is hard {LONG}
"""
ASKED = ["Who tames the walrus?", "Where does the zebra graze?", "How hard is the quince?"]


@pytest.fixture
def notes():
    return write("notes.md", NOTES)


@pytest.fixture
def embedded(monkeypatch):
    """Return the texts that sparse vectors are made of."""
    texts, encode = [], Bm25Encoder.encode
    monkeypatch.setattr(
        Bm25Encoder, "encode", lambda self, given, *languages: texts.extend(given) or encode(self, given, *languages)
    )
    return texts


def measured(options="", **arguments):
    return json.loads(lmm(f"bench notes.md --json {options}", **arguments)[0])


def ranks(result):
    return {question["question"]: question["rank"] for question in all_questions(result)}


def all_questions(result):
    return [question for section in result["sections"] for question in section["asked"]]


def test_annotated_questions_are_asked_and_do_not_find_themselves(notes, embedded):
    report = measured()
    (result,) = report["encodings"]
    assert embedded
    assert not any(question in given for given in embedded for question in ASKED)
    assert any("Pears" in given for given in embedded)  # titles are
    assert report["embedded"] == ["titles"]
    # only the summary of Pears has a walrus; nothing has a zebra
    assert ranks(result) == {
        "Who tames the walrus?": None,
        "Where does the zebra graze?": None,
        "Is the apple a fruit?": None,
        "How hard is the quince?": 2,
    }
    first = {question["question"]: question["first"] for question in all_questions(result)}
    assert first["Who tames the walrus?"]["titles"][-1] == "Pears"
    assert first["Is the apple a fruit?"]["titles"][-1] == "Apples"


def test_questions_are_out_wherever_they_stand(embedded):
    """On a section, on the one around it, on a text, in a mapping."""
    mark = "---\nquestions: {a: Who?}\n---\n"
    write("config.toml", '[embeddings]\nannotations = ["titles", "questions"]\n')
    write("notes.md", f"---\ntitle: T\n---\n\n{mark}\n# A\n\nText {LONG}\n\n{mark}More {LONG}\n\n## B\n\nEnd {LONG}\n")
    lmm("index notes.md")  # which does not leave them out
    assert sum("Who?" in given for given in embedded) == 3
    embedded.clear()
    lmm("bench notes.md")
    assert len(embedded) == 3
    assert not any("Who?" in given for given in embedded)


def test_the_projects_index_is_left_alone(notes):
    lmm("index notes.md")
    before = tree(".lmm")
    lmm("bench notes.md")
    assert tree(".lmm") == before
    assert text("notes.md") == NOTES
    shutil.rmtree(".lmm")
    lmm("bench notes.md")
    assert not Path(".lmm").exists()


def test_the_worst_section_is_shown_with_its_place_and_what_was_found(notes):
    shown, _ = lmm("bench notes.md")
    assert "2 of 3 sections not among the first 5 hits" in shown
    assert re.search(r"^notes.md:\d+  Notes > Apples\n    Who tames the walrus\?\n      not among 40 hits; first is "
                     r"notes.md:\d+  Notes > Pears$", shown, re.M)  # fmt: skip


@pytest.mark.parametrize(("least", "status"), [("0.25", 0), ("0.26", 1), ("80", 2)])
def test_exit_status_under_a_least_hit5(least, status, notes):
    _, told = lmm(f"bench notes.md --min-hit5 {least}", status)
    assert ("hit@5 of bm25 is 0.250, below" in told) == (status == 1)


def test_without_questions_it_says_who_makes_them():
    write("notes.md", f"# A\n\nThe apple {LONG}\n")
    assert "`lmm rag FILES` writes some" in lmm("bench notes.md", 1)[1]
    write("s.csv", "question,section\nWhat is an apple?,A\n")
    shown, _ = lmm("bench notes.md --questions s.csv")
    assert "All sections are among the first 5 hits" in shown


# Students' questions


CSV = 'question,section,who\nwhat about quince,Quinces,A\n"and\nthe apple?",#apples,B\nwhat of it,,C\n'


def test_students_questions_are_added(notes):
    """From a table as a spreadsheet writes it."""
    write("s.csv", "\ufeff" + CSV.replace(",", ";").replace("\n", "\r\n"))
    report = measured("--questions s.csv")
    (result,) = report["encodings"]
    students = {
        question["question"]: question["rank"] for question in all_questions(result) if question["origin"] == "students"
    }
    assert students == {"what about quince": 1, "and the apple?": 1}
    assert report["unlabelled"] == 1
    assert (result["origins"]["students"]["questions"], result["origins"]["annotated"]["questions"]) == (2, 4)
    shown, told = lmm("bench notes.md --questions s.csv")
    assert re.search(r"^  2 students +1.000", shown, re.M)
    assert "s.csv: 1 question without a section left out" in told


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("s.csv", "question,section\na,Apples\nb,Aples\n", "s.csv:3: there is no document or section 'Aples'."),
        ("s.txt", "a", "s.txt: a file of questions ends in .csv or .jsonl"),
    ],
)
def test_a_wrong_file_of_questions_is_wrong_usage(name, content, says, notes):
    write(name, content)
    assert says in lmm(f"bench notes.md --questions {name}", 2)[1]
