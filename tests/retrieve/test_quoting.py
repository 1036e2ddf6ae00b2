"""What is quoted from the notes where no model is asked."""

from lmm_core.retrieve.context import build_context
from lmm_core.retrieve.quoting import quote_notes
from lmm_core.retrieve.ranking.lexical import LexicalIndex
from lmm_core.retrieve.ranking.spans import whole_span
from lmm_core.retrieve.readable import readable_paragraphs
from lmm_core.retrieve.search import Retrieval
from tests.retrieve.materials import material, rank, words

NOTES = """# The t test {#sec-t}

A formula was the solution of @student1908 [see @fisher1935, p. 3].[^note] The *t test* divides the difference by its
[standard error](#sec-se), as @sec-se explains. It is named after its author.

[^note]: Student is a pen name.

Its value is

$$ t = \\frac{\\bar{x}_1 - \\bar{x}_2}{s} , $$

where $s$ is the standard deviation.

# The standard error {#sec-se}

![A figure.](a.png)

Three things can be read from it. The standard error is smaller in larger samples. It has a name of its own.

```python
print(standard_error([1, 2, 3]))
```

| n | standard error |
|---|----------------|
| 4 | 0.5            |

# Kinds {#sec-kinds}

Ordinal
:   The values have an order, and the distances mean nothing.

Look at these in turn:

- a first one,
- a second one.

::: exercise
Which kind is a grade? **Solution.** A grade is ordinal, since its distances mean nothing.
:::
"""
MADE = material(NOTES, size=2000)
INDEX = LexicalIndex(MADE, "english")


def quoted(question, kind=""):
    passages = [one for one in rank(INDEX, question, MADE.passages.values(), kind) if one.score > 0]
    if kind:
        passages = [one for one in passages if kind in one.kinds]
    spans = tuple(map(whole_span, passages))
    found = Retrieval(question, question, kind, (question,), spans, tuple(passages), (), MADE, INDEX, "english")
    return quote_notes(found, build_context(found, 5000, words)).text


def test_citations_links_notes_and_formulas_are_readable():
    assert quoted("What is a t test?") == (
        "A formula was the solution of Student (1908). The t test divides the difference by its standard error, as "
        "“The standard error” explains. It is named after its author. [1]"
    )


def test_a_formula_is_part_of_its_sentence():
    paragraphs = readable_paragraphs(NOTES, {})
    assert "Its value is t = (x̄₁ - x̄₂)/s, where s is the standard deviation." in paragraphs


def test_a_quotation_begins_with_a_sentence_that_stands_by_itself():
    assert quoted("standard error in larger samples").startswith("The standard error is smaller in larger samples.")


def test_code_and_tables_come_where_they_are_asked_for():
    assert "print" not in quoted("standard error in samples")
    assert quoted("standard error in python").endswith("print(standard_error([1, 2, 3]))\n```\n\n[2]")
    assert "| 4 | 0.5            |\n\n[2]" in quoted("table of the standard error")


def test_a_definition_list_and_an_exercise_that_is_not_given_away():
    assert quoted("what does ordinal mean") == (
        "Ordinal: The values have an order, and the distances mean nothing. "
        "Look at these in turn: a first one, a second one. [3]"
    )
    assert "Solution" not in quoted("is a grade ordinal")
    assert "Solution" in quoted("grade", "exercise")


def test_what_the_notes_do_not_have_is_not_answered():
    assert quoted("What is the standard model of particles?") == quoted("xylophone") == ""
