"""The ranking by words, and the words that are compared."""

import pytest

from lmm_core.indexing.statistics import emphasised
from lmm_core.retrieve.ranking.lexical import LexicalIndex
from lmm_core.retrieve.ranking.words import asked_words
from tests.retrieve.materials import material, rank

NOTES = """# Spread

Values differ from one another, and how much they do is told by a number. The *variance* is such a number.

# Variance of a sum {#sum}

Where two quantities are independent, this adds up: the sum has that of the first and that of the second.

::: exercise
Compute the variance of the sum of two dice. The variance of a die is 35/12, so the variance is 35/6.
:::

# Bonferroni

With many tests, the level is divided by their number, to be on the safe side of things.
"""
MADE = material(NOTES)
INDEX = LexicalIndex(MADE, "english")


def ranked(question, type=""):
    return [one for one in rank(INDEX, question, MADE.passages.values(), type) if one.score > 0]


def titles(question):
    return [one.titles[-1] for one in ranked(question)]


def test_a_title_counts_for_the_text_under_it():
    assert titles("the variance of a sum")[0] == "Variance of a sum"


def test_a_term_is_found_where_it_is_introduced():
    assert titles("variance")[0] == "Spread"
    assert "variance" in emphasised(NOTES)
    without = LexicalIndex(material(NOTES.replace("*variance*", "variance")), "english")
    first = next(one for one in MADE.passages.values() if "*variance*" in one.text)
    plain = next(one for one in without.material.passages.values() if "The variance is such" in one.text)
    assert INDEX.rank_spans("variance", [first])[0].score > without.rank_spans("variance", [plain])[0].score


def test_an_abbreviation_is_found_where_it_is_introduced():
    assert emphasised("A **finite automaton** (DFA) is *small* (in most cases).") == [
        "finite automaton",
        "DFA",
        "small",
    ]


@pytest.mark.parametrize(
    ("language", "question", "subject"),
    [
        ("de", "wozu brauche ich eine symboltabelle", ["symboltabelle"]),
        ("de", "weshalb debuggen", ["debuggen"]),
        ("fr", "combien de données", ["données"]),
    ],
)
def test_words_that_ask_name_no_subject(language, question, subject):
    assert asked_words(question, language) == subject


def test_an_exercise_comes_after_the_text_unless_it_is_asked_for():
    assert [one.types for one in ranked("variance of the sum")][:2] == [(), ("exercise",)]
    scores = [{one.id: one.score for one in ranked("dice", type)} for type in ("", "exercise")]
    assert scores[0].keys() == scores[1].keys()
    assert all(scores[0][one] < scores[1][one] for one in scores[0])


def best_title(index, question):
    return rank(index, question, index.material.passages.values())[0].titles[-1]


def test_signs_of_code_are_found():
    made = material(
        "# Notes\n\nBegin a note with `!!!` and a blank.\n\n# Folds\n\nBegin a fold with `???` and a blank.\n\n"
        "# Folder\n\nGit writes into the folder `.git` alone.\n\n"
        "# Errors\n\nThe operator `?` returns early.\n\n# Questions\n\nWhy does it? And when ?\n"
    )
    index = LexicalIndex(made, "english")
    questions = {"what is !!!": "Notes", "the .git folder": "Folder", "what does the ? operator do?": "Errors"}
    assert {question: best_title(index, question) for question in questions} == questions


def test_what_has_a_number_is_found_by_it():
    parts = "".join(
        f"## Equation {number}\n\nIt follows from equation 2 and 8.\n\n" for number in ("10.23", "2.9", "2.8", "8.2")
    )
    index = LexicalIndex(material(f"# Notes\n\n{parts}"), "english")
    assert best_title(index, "explain eq. 2.8") == "Equation 2.8"
    assert best_title(index, "explain eq. 8.2") == "Equation 8.2"
    assert "10.23" not in str(index.weighted_stems("equation 10.24"))  # another number is no typing error


def test_a_typing_error_finds_the_word():
    assert INDEX.corrected("bonferoni") == "bonferroni"
    assert INDEX.corrected("sim") == ""  # it is too short for "sum"
    assert titles("bonferoni") == titles("bonferroni")


def test_an_annotated_question_that_is_asked_finds_its_section_first():
    """Though another section has its words more often, in several questions."""
    made = material(
        "# Oaks\n\n::: lmm\n```yaml\nquestions: When is an oak cut?\n```\n:::\n\nThey stand for long.\n\n"
        "# Elms\n\n::: lmm\n```yaml\nquestions:\n  - How is an elm cut?\n  - Where is an oak planted?\n  - Is an oak an elm?\n"
        "```\n:::\n\nAn oak is cut, an elm is cut, an oak is cut.\n"
    )
    index = LexicalIndex(made, "en")
    best = index.rank_spans("when is an oak cut", list(made.passages.values()))[0]
    assert best.passage.titles == ("Oaks",)


@pytest.mark.parametrize("question", ["colour", "callout", "α", "pre-test"])
def test_other_spellings_find_the_text(question):
    made = material("# A\n\nThe color of a callout; a call-out with $\\alpha$ is normalized. Pretests help.\n")
    (best,) = rank(LexicalIndex(made, "english"), question, made.passages.values())
    assert best.score > 0 and LexicalIndex(made, "english").share(question, [best]) == 1


def test_a_question_is_covered_by_words_that_a_section_is_about():
    passages = [one for one in MADE.passages.values() if one.titles[-1] == "Variance of a sum" and not one.types]
    assert INDEX.covers("variance of a sum", passages)
    assert not INDEX.covers("variance in docker", passages)
    assert not INDEX.covers("xylophone", passages)
