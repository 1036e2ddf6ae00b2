"""The annotator that needs no model."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmm_core.models.annotators.annotator import AnnotatorSection
from lmm_core.models.annotators.extractive import SUMMARY_CHARACTERS, extract, key_terms
from lmm_core.models.annotators.prose import plain_text, split_sentences
from tests.strategies import LONG, any_text, markdown

often = settings(max_examples=150, deadline=None)


def said(text, titles=("Book", "Chapter"), summaries=(), language="en"):
    return extract(AnnotatorSection(titles, text, summaries, language))


# What it says


def test_the_summary_begins_with_the_first_sentence():
    assert said(LONG).summary.startswith("The mean of a sample is the sum of its values divided by their number.")


def test_a_summary_is_made_of_sentences_of_the_text():
    summary = said(LONG).summary
    assert all(sentence in LONG for sentence in split_sentences(summary))


@often
@given(markdown(), st.lists(any_text, max_size=3), st.sampled_from(["", "en", "de-AT", "fr", "xx"]))
def test_summaries_and_questions_have_their_limits(text, summaries, language):
    annotation = said(text, ("T", text[:60]), tuple(summaries), language)
    assert len(annotation.summary) <= SUMMARY_CHARACTERS
    assert len(annotation.questions) <= 3
    assert not annotation.questions or annotation.summary


@often
@given(any_text)
def test_it_says_one_line(text):
    annotation = said(text, (text,))
    assert not re.search(r"[\n\r\x00-\x08]", annotation.summary + "".join(annotation.questions))


@often
@given(markdown())
def test_the_same_text_is_answered_alike(text):
    assert said(text) == said(text)


def test_a_very_long_sentence_is_cut_at_a_word():
    summary = said("The word " + "longer " * 200 + "ends.").summary
    assert len(summary) <= SUMMARY_CHARACTERS
    assert summary.endswith("longer …")


@pytest.mark.parametrize(
    "text", ["", "\n\n", "```\ncode only\n```\n", "$$\nx\n$$", "| a | b |\n|---|---|\n| 1 | 2 |", "!!!"]
)
def test_nothing_is_said_where_there_is_no_sentence(text):
    assert (said(text).summary, said(text).questions) == ("", [])


def test_a_definition_is_asked_for():
    assert "What is a residual?" in said("A residual is a distance between a point and the line.").questions


def test_a_plural_definition_is_asked_for():
    text = "Residuals are the distances between points and the line."
    assert "What are Residuals?" in said(text).questions


def test_a_word_that_points_back_is_not_defined():
    assert not any("it" in question.split() for question in said("It is the best known measure of centre.").questions)


def test_a_title_that_asks_is_a_question():
    assert said(LONG, ("Book", "What is a mean?")).questions[0] == "What is a mean?"


def test_no_question_is_asked_twice():
    questions = said("A mean is a number that sums up.", ("Book", "What is a mean?")).questions
    assert len({question.casefold() for question in questions}) == len(questions)


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        ("de", "Ein Residuum ist der Abstand zwischen einem Punkt und der Geraden.", "Was ist Residuum?"),
        ("de-AT", "Ein Residuum ist der Abstand zwischen einem Punkt und der Geraden.", "Was ist Residuum?"),
        ("fr", "Un résidu est la distance entre un point et la droite.", "Que signifie « résidu » ?"),
        ("es", "Un residuo es la distancia entre un punto y la recta.", "¿Qué es residuo?"),
        ("it", "Un residuo è la distanza tra un punto e la retta.", "Che cos’è residuo?"),
    ],
)
def test_questions_are_in_the_language_of_the_document(language, text, question):
    assert question in said(text, language=language).questions


def test_an_unknown_language_is_asked_in_english():
    assert said(LONG, language="xx").questions[0] == "What does the text say about “Chapter”?"


def test_summaries_of_subsections_go_into_the_summary():
    summary = said("One sentence stands here alone.", summaries=("Means are discussed at length.",)).summary
    assert summary == "One sentence stands here alone. Means are discussed at length."


def test_a_section_of_subsections_alone():
    assert said("", summaries=("Means are discussed at length.",)).summary == "Means are discussed at length."


# Prose from markdown


@pytest.mark.parametrize(
    ("markdown", "prose"),
    [
        ("*a* **b** _c_ `d`", "a b c d"),
        ("a [link](http://x) and [b][c]", "a link and b"),
        ("a ![image](x.png){width=1} b", "a b"),
        ("a[^1] b\n\n[^1]: note", "a b"),
        ("- one\n- two", "one\ntwo"),
        ("> quoted\n> text", "quoted text"),
        ("a <b>bold</b> c", "a bold c"),
        ("a <!-- b --> c", "a c"),
        ("```\ncode\n```\n\nprose", "prose"),
        ("snake_case and 2 * 3 * 4", "snake_case and 2 * 3 * 4"),
        ("`__init__` and `a*b*c`", "__init__ and a*b*c"),
        (r"\*not\* emphasis", "*not* emphasis"),
        ("::: note\nprose\n:::", "prose"),
        ("a\r\nb", "a b"),
        ("{{< include x >}}\n\nprose", "prose"),
    ],
)
def test_prose(markdown, prose):
    assert plain_text(markdown) == prose


def test_abbreviations_end_no_sentence():
    assert split_sentences("We use e.g. The mean of Dr. Smith here. It is good to have it.") == [
        "We use e.g. The mean of Dr. Smith here.",
        "It is good to have it.",
    ]


def test_labels_are_no_sentences_where_there_are_sentences():
    assert split_sentences("Some label without an end\nThis is a whole sentence.") == ["This is a whole sentence."]


def test_key_terms_are_the_words_that_occur_most():
    text = "The median and the mean. Medians are robust. The mean is not, the mean moves."
    assert key_terms(text, "en") == ["mean", "median"]
