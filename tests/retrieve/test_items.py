"""Typed parts of the material: what belongs to an exercise, and what is its solution."""

import pytest

from lmm_core.retrieve.items import cut_solution, find_typed_parts
from tests.retrieve.materials import material_of_files

DIV = "::: exercise\n{}\n:::\n"


def items(text):
    return [(item.type, item.title, item.text, item.solution) for item in find_typed_parts(material_of_files(text))]


@pytest.mark.parametrize(
    "body",
    [
        "**Ex. 1.** What is 1 + 1?\n\n**Solution.** Two, as everybody knows.",
        "**Ex. 1.** What is 1 + 1?\n\n::: solution\nTwo, as everybody knows.\n:::",
        "**Ex. 1.** What is 1 + 1?\n\n::: {.callout-tip collapse=true}\n### Lösung\nTwo, as everybody knows.\n:::",
    ],
)
def test_a_solution_inside_an_exercise(body):
    ((type, title, text, solution),) = items("# T\n\n" + DIV.format(body))
    assert (type, title) == ("exercise", "Ex. 1")
    assert text.startswith("**Ex. 1.** What is 1 + 1?") and "Two" not in text and ":::" not in text
    assert solution.endswith("Two, as everybody knows.")


def test_a_section_with_its_solution_and_parts():
    text = "# Intro\n\nThis.\n\n---\ntype: exercise\n---\n\n# Cups\n\nTen cups.\n\n## Part a\n\nHow many?\n\n## Solution\n\nTen.\n"
    assert items(text) == [("exercise", "Cups", "Ten cups.\n\n**Part a**\n\nHow many?", "Ten.")]


def test_exercises_of_one_section_stay_apart_and_a_long_one_is_whole():
    long = "\n\n".join(f"Paragraph {number}. " + "word " * 60 for number in range(20))
    both = items("# T\n\n" + "\n".join(DIV.format(f"{name} {long}") for name in ("One", "Two")))
    assert [text.split() for _, _, text, _ in both] == [["One", *long.split()], ["Two", *long.split()]]


def test_an_exercise_that_begins_with_such_a_word_has_a_text():
    assert cut_solution("**Answer.** in one sentence") == ("**Answer.** in one sentence", "")
    code = "Run:\n\n```\nSolution: 3\n```\n"
    assert cut_solution(code) == (code, "")
