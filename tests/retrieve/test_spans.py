"""Spans: the parts of passages that are ranked and shown."""

import pytest
from hypothesis import given

from lmm_core.retrieve.ranking.lexical import LexicalIndex
from lmm_core.retrieve.ranking.spans import cut_spans, spread_spans, whole_span
from tests.retrieve.materials import documents, material, passage
from tests.strategies import PROSE

TABLE = "| group | hours of sleep |\n|---|---|\n" + "".join(
    f"| group {at} | {at} hours in the mean |\n" for at in range(30)
)
CODE = "``` python\n" + "".join(f"print('line number {at} of the program')\n" for at in range(30)) + "```\n"
SCORES = """---
title: Scores
---

# Napping

Students took a nap, or read in a book of their own. Both groups learned the same list of words before, and recalled it
two hours later in a quiet room. Nobody knew what the others did. Ten of them had slept badly in the night before, and
were asked to come again in another week. The nap helped most where the list was long. It helped little where it was
short, and the reading group had a better mood in the evening, as far as they said so themselves.
"""


def only(*texts, word="the", size=4000):
    """Return the only passage of a text that has a word."""
    return passage(material(*texts, size=size), word)


@given(documents())
def test_the_spans_of_a_passage_are_its_text_in_order(text):
    for one in material(text, size=1500).passages.values():
        spans = cut_spans(one)
        assert "".join(one.text[span.start : span.end] for span in spans) == one.text
        assert [span.start for span in spans] == [0, *(span.end for span in spans[:-1])]
        assert all(one.line_start <= span.line_start <= span.line_end <= one.line_end for span in spans)
        joined = spans[0]
        for span in spans[1:]:
            joined = joined.joined(span)
        assert joined.text == whole_span(one).text


@pytest.mark.parametrize(
    ("text", "beginning", "end"),
    [(TABLE, "| group | hours of sleep |\n|---|---|\n", "|"), (CODE, "``` python\n", "\n```")],
    ids=["table", "code"],
)
def test_each_span_of_a_table_or_code_has_its_head_and_says_the_lines_of_its_own(text, beginning, end):
    lines = f"Before.\n\n{text}".split("\n")
    spans = cut_spans(only("\n".join(lines), word="the"))
    inner = [span for span in spans if span.text.startswith(beginning)]
    assert len(inner) > 1 and all(span.text.rstrip().endswith(end) for span in inner)
    for span in inner:
        own = [line for line in span.text.split("\n") if line and line not in beginning and line != "```"]
        assert own == [line for line in lines[span.line_start - 1 : span.line_end] if line in own]


def test_the_sentence_that_answers_comes_first():
    made = material(SCORES, size=1000)
    best = LexicalIndex(made, "en").rank_spans("when does a nap help most?", list(made.passages.values()))[0]
    assert "The nap helped most where the list was long." in best.text
    assert "Students took a nap" not in best.text


def test_the_first_hits_are_of_different_sections():
    made = material("# A\n\n" + "\n\n".join(f"Rain {at}. {PROSE}" for at in range(4)) + "\n\n# B\n\nRain.\n", size=120)
    spans = [whole_span(one) for one in made.passages.values()]
    titles = [span.passage.titles[-1] for span in spread_spans(spans).values()]
    assert titles[:2] == ["A", "B"] and len(titles) == len(spans)
