"""The annotator that needs no model."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.annotators.annotator import AnnotatorSection
from lmm_core.models.annotators.extractive import MOST_QUESTIONS, SUMMARY_CHARACTERS, extract
from lmm_core.models.annotators.prose import split_sentences, whole_sentences
from tests.strategies import LONG, any_text, markdown


def said(text, titles=("Book", "The mean"), summaries=(), language="en", **others):
    return extract(AnnotatorSection(titles, text, summaries, language, **others))


def asked(text, *titles, **others):
    return said(text, ("Book", *titles), **others).questions


def summed_up(text, *titles, **others):
    return said(text, ("Book", *titles), **others).summary


# Limits


@given(markdown(), st.lists(any_text, max_size=3), st.sampled_from(["", "en", "de-AT", "fr", "es", "it", "xx"]))
def test_summaries_and_questions_have_their_limits(text, summaries, language):
    annotation = said(text, ("T", text[:60]), tuple(summaries), language)
    assert not re.search(r"[\n\r\x00-\x08\ue000\ue001]", annotation.summary + "".join(annotation.questions))
    assert len(annotation.summary) <= SUMMARY_CHARACTERS
    assert len(annotation.questions) <= MOST_QUESTIONS


@pytest.mark.parametrize("text", ["", "```\ncode only\n```\n", "$$\nx\n$$", "!!!"])
def test_nothing_is_said_where_there_is_no_sentence(text):
    assert (said(text).summary, said(text).questions) == ("", [])


# Questions

DISTANCE = "a distance between a point and the line."


@pytest.mark.parametrize(
    ("text", "term"),
    [
        (f"A *residual* is {DISTANCE}", "residual"),
        ("Mean\n:   The sum.\n\n*Median*\n:   The value in the middle.\n", "Mean, Median"),
    ],
)
def test_a_definition_is_asked_for(text, term):
    assert asked(text, "Chapter") == [f"What does “{one}” mean?" for one in term.split(", ")]


@pytest.mark.parametrize(
    "text",
    [
        "A *residual* is easy to compute.",
        "::: exercise\nA *residual* is a distance between a point and the line.\n:::",
        "```\nprogram : expr EOF ;\n\nexpr\n  : expr operator expr\n  ;\n```",
        "<pre>\n\nexpr\n  : expr operator expr\n\n</pre>",
        f"Text.\n\n<!--\nA *residual* is {DISTANCE}\n\n```\n\nMean\n: The sum.\n-->\n\nText.",
        f"This is {DISTANCE}",
    ],
)
def test_what_is_no_definition_is_not_asked_for(text):
    assert asked(text, "Chapter of this book") == []


def test_a_part_of_type_definition_defines_its_title_or_its_first_bold_words():
    text = "How strongly an observation pulls at the line."
    assert asked(text, "Leverage", types=("definition",)) == ["What does “Leverage” mean?"]
    assert asked(f"**Leverage.** {text}", "Definition 2.1", types=("definition",)) == ["What does “Leverage” mean?"]
    assert asked(text, "Leverage") == []


@pytest.mark.parametrize(
    ("title", "is_question"),
    [("What is a mean?", True), ("为什么使用中位数？", True), ("Mean or median?", False)],
)
def test_a_title_that_asks_is_a_question(title, is_question):
    assert asked(LONG, title)[:1] == ([title] if is_question else [])


@pytest.mark.parametrize(
    ("title", "language", "is_question"),
    [
        ("Wie geht es weiter?", "de", False),
        ("Was muss das Programm erfüllen?", "de", True),  # a noun
        ("What is this about?", "en", False),
        ("What is the median?", "en", True),
    ],
)
def test_a_title_that_asks_without_a_subject_is_no_question(title, language, is_question):
    annotation = said(LONG, ("Deep learning", title), language=language)
    assert annotation.questions[:1] == ([title] if is_question else [])


@pytest.mark.parametrize(
    ("language", "text", "questions"),
    [
        ("de-AT", "Ein *Residuum* ist der Abstand zwischen einem Punkt und der Geraden.", ["Was bedeutet „Residuum“?"]),
        ("pl", "*Reszta* is a distance.", []),
    ],
)
def test_questions_are_in_the_language_of_the_document(language, text, questions):
    assert asked(text, "Kapitel", language=language) == questions


# Summaries


def test_a_summary_is_the_first_sentence_if_it_is_about_the_title():
    assert summed_up(LONG, "The mean").startswith("The mean of a sample is the sum of its values")
    assert whole_sentences(summed_up(LONG, "The mean")) == [summed_up(LONG, "The mean")]
    assert summed_up(LONG, "Gardens") == ""


@pytest.mark.parametrize(
    "sentence",
    [
        "Therefore, the mean is the sum of all the values of a sample.",
        "The mean of a sample was proposed by @fisher1935 a century ago.",
    ],
)
def test_a_sentence_that_needs_what_is_left_out_is_no_summary(sentence):
    assert summed_up(sentence, "Mean") == ""


def test_a_sentence_keeps_the_sign_that_closes_it():
    text = "See the lecture (on the mean.) It is odd."
    assert split_sentences(text) == ["See the lecture (on the mean.)", "It is odd."]
