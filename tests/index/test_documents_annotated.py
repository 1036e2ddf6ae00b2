"""Documents carry the annotations of their sections, and can be looked at as markdown."""

from lmm_core.index.cutting.split import ParentDocument, transform
from lmm_core.index.documents import blocklist_encode, document_annotations
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text
from lmm_core.settings.tables import SplitOpts
from tests.strategies import LONG

NAMES = ["titles", "questions", "summary"]
NOTES = """\
---
title: Notes
questions: Of the header?
---

Preface.

---
~questions: [What is a mean?]
~summary: About means.
---

## The mean

Add, then divide.

---
questions: Why?
---

Because.

---
type: exercise
questions: Which?
---

Solve this.

---
skip: true
summary: A secret.
---

## Left out

Hidden.
"""


def said(text, opts=None, names=NAMES):
    """The annotations of each document."""
    blocks = parse_markdown_text(text)
    documents = transform(blocks, opts or SplitOpts(), logger=ListLogger()).documents
    return [
        (one.text, notes) for one, notes in zip(documents, document_annotations(blocks, documents, names), strict=True)
    ]


def test_a_document_has_what_its_section_and_its_texts_say():
    assert said(NOTES) == [
        ("Preface.", {"questions": "Of the header?"}),
        ("Add, then divide.\n\nBecause.", {"questions": ["What is a mean?", "Why?"], "summary": "About means."}),
        ("Solve this.", {"questions": ["What is a mean?", "Which?"], "summary": "About means."}),
    ]


def test_each_part_of_a_long_section_has_what_is_said_of_the_section():
    text = "# Z\n\n---\nquestions: Which?\n---\n\n# A\n\n" + (LONG + "\n\n") * 12
    found = said(text, SplitOpts(size=500, documents=1000))
    assert [notes for _, notes in found] == [{"questions": "Which?"}] * 4


def test_a_document_of_several_sections_has_what_is_said_of_all():
    blocks = parse_markdown_text(NOTES)
    whole = ParentDocument("Preface. Add, then divide. Because.", 6, 21)
    notes = document_annotations(blocks, [whole], NAMES)[0]
    assert notes["questions"][:3] == ["Of the header?", "What is a mean?", "Why?"]
    assert "secret" not in str(notes)


def test_what_is_stored_has_the_annotations_and_stays_the_same_when_made_again():
    one, again = (blocklist_encode(parse_markdown_text(NOTES), docid="d").documents for _ in range(2))
    assert [chunk.payload.get("summary") for chunk in one] == [None, "About means.", "About means."]
    assert one == again
    bare = blocklist_encode(parse_markdown_text(NOTES.replace("~summary: About means.\n", "")), docid="d").documents
    assert [chunk.uuid for chunk in bare] == [chunk.uuid for chunk in one], "annotations do not move a document"
    assert [chunk.hash for chunk in bare] == [chunk.hash for chunk in one], "nor is it embedded again"
