"""Words that are nearly keys, classes or attributes of ours are found, and others left alone."""

import re

import pytest

from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.check.document import CheckedDocument
from lmm_core.scan.check.near_misses import find_near_misses
from lmm_core.scan.check.words import nearest, slips_between
from tests.real_files import markdown_files
from tests.strategies import knitted

BLOCK = "# A\n\n---\n{}\n---\n\nText.\n"
IN_DIV = "# A\n\n::: {{.lmm .content-hidden}}\n``` yaml\n{}\n```\n:::\n\nText.\n"


def found(text, **rules):
    problems = find_near_misses(parse_markdown_text(text), KnitRules(**rules))
    return [(problem.line, problem.message) for problem in problems]


def messages(text, **rules):
    return [message for _, message in found(text, **rules)]


@pytest.mark.parametrize("spelling", [BLOCK, IN_DIV, "::: callout-note\n" + IN_DIV + ":::\n"])
@pytest.mark.parametrize(
    ("line", "key", "meant"),
    [
        ("typ: exercise", "typ", "type"),
        ("Type: exercise", "Type", "type"),
        ("tpye: [exercise]", "tpye", "type"),
        ("types: exercise", "types", "type"),
        ("kint: false", "kint", "knit"),
        ("KNIT: false", "KNIT", "knit"),
        ("skipp: true", "skipp", "skip"),
        ("frozn: true", "frozn", "frozen"),
        ("sumary: A sentence.", "sumary", "summary"),
        ("~quesions: [Why?]", "~quesions", "questions"),
    ],
)
def test_keys(spelling, line, key, meant):
    assert messages(spelling.format(line)) == [f"unknown key {key!r}: did you mean {meant!r}?"]


@pytest.mark.parametrize(
    "line",
    ["type: exercise", "knit: false", "unit: cm", "kit: 3", "ship: Beagle", "note: x", "tags: [a]", "title: T",
     "~~hash: {summary: [a, b]}", "?: Typ or type?", "status: draft", "topic: x", "time: 12:30", "style: bold",
     "skill: reading", "tape: 3"],
)  # fmt: skip
def test_other_keys_are_others(line):
    assert messages(BLOCK.format(line)) == []


def test_the_line_is_the_keys():
    assert found("\n\n# A\n\n---\nnote: a\n# remark\ntyp: x\n---\n\nText.\n")[0][0] == 8
    assert (
        found("# A\n\nText.\n\n::: {.callout-note}\n\n::: lmm\n```yaml\nnote: a\ntyp: x\n```\n:::\n\nT.\n:::\n")[0][0]
        == 10
    )


def test_a_switch_has_to_be_one():
    assert messages(BLOCK.format("knit: flase")) == ["'knit' should be true or false, not 'flase'"]
    assert messages("::: {.note knit=no}\nText.\n:::\n") == ["'knit' should be true or false, not 'no'"]
    assert messages("---\nknit: (function(input, ...) 1)\n---\n\nText.\n") == []  # R Markdown's
    assert messages("---\nknit: flase\n---\n\nText.\n") == ["'knit' should be true or false, not 'flase'"]


@pytest.mark.parametrize("name", ["exercises", "excercise", "exercize", "Exercise", "exersice", "exercise1"])
@pytest.mark.parametrize(
    "around",
    ["::: {}\nText.\n:::\n", "::: callout-note\n\n::: {}\nText.\n:::\n\n:::\n", "- item\n\n  ::: {}\n  Text.\n  :::\n",
     "> ::: {}\n> Text.\n> :::\n", '<div class="{}">\nText.\n</div>\n'],
)  # fmt: skip
def test_classes(name, around):
    assert messages(around.format(name)) == [f"unknown class {name!r}: did you mean 'exercise'?"]


@pytest.mark.parametrize(
    "name",
    ["exercise", "callout-tip", "tip", "topology", "panel-tabset", "notes", "columns", "expert", "solution", "proof"],
)
def test_other_classes_are_others(name):
    assert messages(f"::: {name}\nText.\n:::\n", types=frozenset({"note", "card", "question"})) == []


@pytest.mark.parametrize("word", ["{exercise}", "{.exercise", ".exercise}", "{.exercise,.hard}", "exercise{#a}"])
def test_a_word_with_braces_that_pandoc_takes_for_a_class(word):
    """Pandoc reads a div of the class `{exercise}`."""
    (message,) = messages(f"::: {word}\nText.\n:::\n")
    assert message.endswith("did you mean 'exercise'?")


@pytest.mark.parametrize("attributes", ["{type=exercise}", "{.callout-note type=exercise}", "{#a type='topic'}"])
def test_the_attribute_type_leaves_a_div_out_if_it_is_a_class_of_such_divs(attributes):
    text = f"::: {attributes}\nText.\n:::\n"
    assert (knitted(text), messages(text)) == ("", [])
    assert knitted(text, KnitRules(keep=frozenset({attributes.split("=")[1].strip("'}")}))) == text


def test_another_type_as_an_attribute():
    text = "::: {.note type=definition}\nText.\n:::\n"
    assert (knitted(text), messages(text)) == (text, [])
    (message,) = messages(text, types=frozenset({"definition"}))
    assert "write ::: {.rag-only type=definition}" in message
    assert messages("::: {type=exercize}\nText.\n:::\n") == ["unknown type 'exercize': did you mean 'exercise'?"]
    assert messages("::: {typ=exercise}\nText.\n:::\n") == ["unknown attribute 'typ': did you mean 'type'?"]


@pytest.mark.parametrize("mark", ["## Ex {type=exercise}", "A [x]{.exercise} word.", "## Ex {.exercise hard}"])
def test_the_advice_about_a_type_elsewhere_is_right(mark):
    (message,) = messages(f"{mark}\n\nText.\n")
    advice = re.search(r"`(::: .*?)`", message)[1]
    assert knitted(f"{advice}\nText.\n:::\n") == ""


def test_what_is_left_out_all_the_same_is_no_slip():
    assert messages("::: {.exercise .exercises}\nText.\n:::\n") == []
    assert messages("::: {.exercises knit=false}\nText.\n:::\n") == []


def test_the_types_of_the_project_count():
    text = "::: solutons\nText.\n:::\n"
    assert messages(text) == []
    assert messages(text, types=frozenset({"solution"})) == ["unknown class 'solutons': did you mean 'solution'?"]
    assert messages(BLOCK.format("type: solution") + "\n" + text) == messages(text, types=frozenset({"solution"}))
    assert messages(text, div_types=frozenset({"solution"})) == messages(text, types=frozenset({"solution"}))
    assert messages("---\nlmm: {div-types: solution}\n---\n\n" + text) == messages(text, types=frozenset({"solution"}))


def test_a_type_that_is_no_class_is_told_once():
    text = "::: solution\nText.\n:::\n\n::: solution\nText.\n:::\n"
    (problem,) = found(text, types=frozenset({"solution"}))
    assert problem[0] == 1
    assert "write ::: {.rag-only type=solution}" in problem[1]


def test_classes_that_the_configuration_takes_out_are_bookdowns():
    rules = {"div_types": frozenset({"topic", "rag-only"}), "allowed": frozenset({"exercise"})}
    assert messages(BLOCK.format("type: exercise") + "\n::: exercise\nText.\n:::\n", **rules) == []


def test_attributes():
    assert messages("::: {.rag-only typ=definition}\nText.\n:::\n") == ["unknown attribute 'typ': did you mean 'type'?"]
    assert messages("::: {.note knitt=false}\nText.\n:::\n") == ["unknown attribute 'knitt': did you mean 'knit'?"]
    assert messages("::: {.note typ=definition unit=cm}\nText.\n:::\n") == []


def test_a_metadata_div_of_nearly_that_class():
    assert messages(IN_DIV.format("type: exercise").replace(".lmm", ".llm")) == [
        "unknown class 'llm': did you mean 'lmm'?"
    ]
    assert messages(IN_DIV.format("name: x").replace(".lmm", ".llm")) == []
    assert messages("::: {.LLM}\nText.\n:::\n") == []


@pytest.mark.parametrize("text", [
    BLOCK.format("typ: exercise\nknit: true"),
    BLOCK.format("knit: true").replace("Text.", "::: exercises\nText.\n:::"),
    "::: {.exercises knit=true}\nText.\n:::\n",
    "::: callout-note\n" + IN_DIV.format("knit: true").replace("Text.", "::: exercises\nText.\n:::") + ":::\n",
    "---\ntype: exercise\nknit: true\n---\n\nText.\n",
    "---\ntype: exercise\nknit: false\n---\n\nText.\n",
])  # fmt: skip
def test_knit_says_that_it_is_meant(text):
    assert messages(text) == []


def test_allowed_words_are_meant():
    text = BLOCK.format("typ: a") + "\n::: exercises\nText.\n:::\n\n::: {.rag-only typ=a}\nText.\n:::\n"
    assert len(messages(text)) == 3
    assert messages(text, allowed=frozenset({"typ", "exercises"})) == []


@pytest.mark.parametrize("line", ["type: exercise", "typ: topic", "Type: Exercise", "type: [post, topics]"])
def test_a_header_that_says_a_type(line):
    (problem,) = found(f"---\ntitle: T\n{line}\n---\n\nText.\n")
    assert problem[0] == 3
    assert "write knit: false" in problem[1]


@pytest.mark.parametrize("line", ["type: post", "type: website", "Knit: x", "llm: gpt", "type: 3", "types: [a]"])
def test_other_headers_are_others(line):
    assert messages(f"---\ntitle: T\n{line}\n---\n\nText.\n") == []


@pytest.mark.parametrize(
    ("line", "meant"),
    [("kint: false", "knit"), ("Lmm: {div-types: [a]}", "lmm"), ("lm:\n  keep: a", "lmm"),],
)  # fmt: skip
def test_options_in_a_header(line, meant):
    (message,) = messages(f"---\n{line}\n---\n\nText.\n")
    assert message.endswith(f"did you mean {meant!r}?")


def test_an_unknown_option_in_a_header():
    ((_, message),) = found("---\ntitle: T\nlmm: {div-type: [a]}\n---\n\nText.\n")
    assert message.startswith("there is no option `lmm: div-type` (")


def test_code_and_comments_are_not_looked_at():
    text = "```\n::: exercises\nText.\n:::\n```\n\n<!--\n::: exercises\n:::\n-->\n\n    ::: exercises\n"
    assert messages(text) == []


def test_types_in_a_document():
    text = ("---\ntype: post\n---\n\n" + BLOCK.format("type: [a, b]") + "\n::: {.rag-only type=c}\nText.\n:::\n\n"
            "::: callout-note\n" + IN_DIV.format("type: d") + ":::\n")  # fmt: skip
    assert CheckedDocument(parse_markdown_text(text)).types == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [("type", "type", 0), ("typ", "type", 1), ("tpye", "type", 1), ("ytpe", "type", 1), ("tyre", "type", 1),
     ("kind", "knit", 2), ("exersice", "exercise", 2), ("", "abc", 3), ("ca", "abc", 3)],
)  # fmt: skip
def test_slips(one, other, slips):
    assert slips_between(one, other) == slips_between(other, one) == slips


def test_short_words_may_have_fewer_slips():
    assert nearest("tup", ["tip"]) == ""
    assert nearest("Tip", ["tip"]) == "tip"
    assert nearest("hin", ["hint"]) == "hint"
    assert nearest("topyk", ["topic"]) == ""


def test_real_markdown_has_no_near_misses(real_place):
    for path in markdown_files(real_place):
        assert messages(path.read_text("utf-8")) == [], path
