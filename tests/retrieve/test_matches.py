"""The best matches of a question, where no model is configured."""

from lmm_core.retrieve.matches import best_matches
from lmm_core.retrieve.ranking.lexical import LexicalIndex
from lmm_core.retrieve.ranking.spans import whole_span
from lmm_core.retrieve.search import Retrieval
from tests.retrieve.materials import material, rank

NOTES = """# The t test {#sec-t}

A formula was the solution of @student1908 [see @fisher1935, p. 3].[^note] The *t test* divides the difference by its
[standard error](#sec-se), as @sec-se explains. It is named after its author.

[^note]: Student is a pen name.

# The standard error {#sec-se}

![A figure.](a.png)

Three things can be read from it. The standard error is smaller in larger samples. It has a name of its own.

1. It is computed from the sample.
2. It is small.

```python
print(standard_error([1, 2, 3]))
```

# Kinds {#sec-kinds}

Ordinal
:   The values have an order, and the distances mean nothing.

::: exercise
Which kind is a grade? **Solution.** A grade is ordinal, since its distances mean nothing.
:::
"""
MADE = material(NOTES, size=2000)


def matches(question, type="", notes=MADE):
    index = LexicalIndex(notes, "english")
    passages = [one for one in rank(index, question, notes.passages.values(), type) if one.score > 0]
    passages = [one for one in passages if not type or type in one.types]
    spans = tuple(map(whole_span, passages))
    return best_matches(Retrieval(question, type, (question,), spans, tuple(passages), (), notes, index))


def first(question, **options):
    return matches(question, **options)[0].text


def test_the_sentence_that_fits_best_is_shown_with_its_words_in_bold():
    assert first("standard error in larger samples") == (
        "The **standard** **error** is smaller in **larger** **samples**. It has a name of its own."
    )


def test_citations_links_notes_and_formulas_are_readable():
    assert first("formula was the solution") == (
        "A formula was the **solution** of Student (1908). The t test divides the difference by its standard "
        "error, as “The standard error” explains."
    )


def test_a_section_of_an_image_alone_is_passed_over():
    notes = material("# Oaks of old\n\n![](oak.png)\n\n# Oaks today\n\nOaks are 'old oaks'.\n")
    (source,) = matches("old oaks", notes=notes)
    assert (source.number, source.text) == (1, "**Oaks** are '**old** **oaks**'.")


def test_an_exercise_is_not_given_away():
    assert "Solution" not in first("distances of ordinal values")
    assert "Solution" in first("grade", type="exercise")
