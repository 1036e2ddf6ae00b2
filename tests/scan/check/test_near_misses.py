"""Words that are nearly keys, classes or attributes of ours are found, and others left alone."""

import re

import pytest

from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.check.near_misses import find_near_misses
from tests.strategies import knitted

BLOCK = "# A\n\n---\n{}\n---\n\nText.\n"
IN_DIV = "# A\n\n::: {{.lmm .content-hidden}}\n``` yaml\n{}\n```\n:::\n\nText.\n"
SOLUTION = frozenset({"solution"})


def found(text, **rules):
    problems = find_near_misses(parse_markdown_text(text), KnitRules(**rules))
    return [(problem.line, problem.message) for problem in problems]


def messages(text, **rules):
    return [message for _, message in found(text, **rules)]


def div(opened):
    return f"::: {opened}\nText.\n:::\n"


# Keys


@pytest.mark.parametrize(
    ("line", "key", "meant"),
    [
        ("typ: exercise", "typ", "type"),
        ("Type: exercise", "Type", "type"),
        ("~quesions: [Why?]", "~quesions", "questions"),
    ],
)
def test_keys(line, key, meant):
    assert messages(BLOCK.format(line)) == [f"unknown key {key!r}: did you mean {meant!r}?"]


@pytest.mark.parametrize("line", ["unit: cm", "~~hash: {summary: [a, b]}", "?: Typ?", "tape: 3"])
def test_other_keys_are_others(line):
    assert messages(BLOCK.format(line)) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (BLOCK.format("knit: flase"), "flase"),
        (div("{.note knit=no}"), "no"),
        ("---\nknit: 0\n---\n\nText.\n", "0"),
        ("---\nknit: (function(input, ...) rmarkdown::render(input))\n---\n\nText.\n", None),
    ],
    ids=["block", "attribute", "header", "R Markdown's"],
)
def test_a_switch_has_to_be_one(text, value):
    assert [message.rpartition(" ")[2].strip("'") for message in messages(text)] == [value] * (value is not None)


# Classes


@pytest.mark.parametrize("name", ["exercises", "Exercise", "exersice"])
def test_classes(name):
    assert messages(div(name)) == [f"unknown class {name!r}: did you mean 'exercise'?"]


@pytest.mark.parametrize(
    "text",
    [
        "- item\n\n  ::: exercises\n  Text.\n  :::\n",
        '<div class="exercises">\nText.\n</div>\n',
    ],
)
def test_classes_in_other_places(text):
    assert messages(text) == ["unknown class 'exercises': did you mean 'exercise'?"]


@pytest.mark.parametrize("name", ["callout-tip", "topology", "notes"])
def test_other_classes_are_others(name):
    assert messages(div(name), types=frozenset({"note", "card", "question"})) == []


@pytest.mark.parametrize("word", ["{exercise}", "{.exercise,.hard}"])
def test_a_word_with_braces_that_pandoc_takes_for_a_class(word):
    (message,) = messages(div(word))
    assert message.endswith("did you mean 'exercise'?")


def test_a_metadata_div_of_nearly_that_class():
    text = IN_DIV.replace(".lmm", ".llm")
    assert messages(text.format("type: exercise")) == ["unknown class 'llm': did you mean 'lmm'?"]
    assert messages(text.format("name: x")) == messages(div("{.LLM}")) == []


# Attributes


@pytest.mark.parametrize("attributes", ["{.callout-note type=exercise}", "{#a type='topic'}"])
def test_the_attribute_type_leaves_a_div_out_if_it_is_a_class_of_such_divs(attributes):
    text = div(attributes)
    assert (knitted(text), messages(text)) == ("", [])


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ("{.rag-only typ=definition}", ["unknown attribute 'typ': did you mean 'type'?"]),
        ("{.note typ=definition unit=cm}", []),
    ],
)
def test_attributes(attributes, said):
    assert messages(div(attributes)) == said


@pytest.mark.parametrize("mark", ["## Ex {type=exercise}", "A [x]{.exercise} word."])
def test_the_advice_about_a_type_elsewhere_is_right(mark):
    (message,) = messages(f"{mark}\n\nText.\n")
    advice = re.search(r"`(::: .*?)`", message)[1]
    assert knitted(f"{advice}\nText.\n:::\n") == ""


# What a project says


def test_the_types_of_the_project_count():
    text = div("solutons")
    said = ["unknown class 'solutons': did you mean 'solution'?"]
    assert messages(text) == []
    assert messages(text, types=SOLUTION) == messages(text, div_types=SOLUTION) == said
    assert messages(BLOCK.format("type: solution") + "\n" + text) == said
    assert messages("---\nlmm: {div-types: solution}\n---\n\n" + text) == said


def test_allowed_words_are_meant():
    text = f"{BLOCK.format('typ: a')}\n{div('exercises')}\n{div('{.rag-only typ=a}')}"
    assert len(messages(text)) == 3
    assert messages(text, allowed=frozenset({"typ", "exercises"})) == []


@pytest.mark.parametrize(
    "text",
    [
        "::: callout-note\n" + IN_DIV.format("knit: true").replace("Text.\n", div("exercises")) + ":::\n",
        div("{.exercises knit=true}"),
        "```\n::: exercises\nText.\n:::\n```\n\n<!--\n::: exercises\n:::\n-->\n\n    ::: exercises\n",
    ],
)
def test_what_is_left_out_all_the_same_or_kept_on_purpose_or_code_is_no_slip(text):
    assert messages(text) == []


# Headers


def test_a_header_that_says_a_type():
    ((at, message),) = found("---\ntitle: T\ntype: exercise\n---\n\nText.\n")
    assert (at, "write knit: false" in message) == (3, True)
    assert messages("---\ntitle: T\ntype: post\n---\n\nText.\n") == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("kint: false", "did you mean 'knit'?"),
        ("lmm: {div-type: [a]}", "there is no option `lmm: div-type` ("),
    ],
)
def test_options_in_a_header(line, said):
    (message,) = messages(f"---\n{line}\n---\n\nText.\n")
    assert said in message
