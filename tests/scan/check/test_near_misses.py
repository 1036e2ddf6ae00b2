"""What looks like a key, a class or a mark of ours and has no effect is reported, since it would show an exercise."""

import re
from pathlib import Path

import pytest

from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.check.document import CheckedDocument
from lmm_core.scan.check.mistakes import find_mistakes, read_documents, typo_lines
from lmm_core.scan.check.near_misses import find_near_misses
from tests.commands import run, write
from tests.strategies import knitted

NATIVE = "# A\n\n---\n{}\n---\n\nText.\n"
DIV = "::: {{.lmm .content-hidden}}\n``` yaml\n{}\n```\n:::\n"
BLOCK = DIV.format("type: exercise")
SOLUTION = frozenset({"solution"})


def reports(text, **rules):
    """Return line and message of each report."""
    return [(report.line, report.message) for report in find_near_misses(parse_markdown_text(text), KnitRules(**rules))]


def messages(text, **rules):
    return [message for _, message in reports(text, **rules)]


def codes(text):
    """Return the code of each mistake."""
    problems = []
    blocks = parse_markdown_text(text, problems)
    return [mistake.code for mistake in find_mistakes(CheckedDocument(blocks), problems)]


def div(opened):
    return f"::: {opened}\nText.\n:::\n"


# Words that are nearly ours


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NATIVE.format("typ: exercise"), "unknown key 'typ': did you mean 'type'?"),
        (NATIVE.format("Type: exercise"), "unknown key 'Type': did you mean 'type'?"),
        (NATIVE.format("~quesions: [Why?]"), "unknown key '~quesions': did you mean 'questions'?"),
        ("---\nkint: false\n---\n\nText.\n", "did you mean 'knit'?"),
        ("---\nlmm: {div-type: [a]}\n---\n\nText.\n", "there is no option `lmm: div-type` ("),
        (div("exercises"), "unknown class 'exercises': did you mean 'exercise'?"),
        (div("Exercise"), "unknown class 'Exercise': did you mean 'exercise'?"),
        ("- item\n\n  ::: exercises\n  Text.\n  :::\n", "unknown class 'exercises'"),
        ('<div class="exercises">\nText.\n</div>\n', "unknown class 'exercises'"),
        (div("{exercise}"), "did you mean 'exercise'?"),
        (div("{.exercise,.hard}"), "did you mean 'exercise'?"),
        (BLOCK.replace(".lmm", ".llm"), "unknown class 'llm': did you mean 'lmm'?"),
        (div("{.rag-only typ=definition}"), "unknown attribute 'typ': did you mean 'type'?"),
        (NATIVE.format("knit: flase"), "'flase'"),
        (div("{.note knit=no}"), "'no'"),
    ],
)
def test_a_word_that_is_nearly_ours(text, said):
    (message,) = messages(text)
    assert said in message


def test_a_header_that_says_a_type():
    ((line, message),) = reports("---\ntitle: T\ntype: exercise\n---\n\nText.\n")
    assert (line, "write knit: false" in message) == (3, True)


@pytest.mark.parametrize(
    "text",
    [
        NATIVE.format("unit: cm\n~~hash: {summary: [a, b]}\n?: Typ?\ntape: 3"),
        "---\ntype: post\nknit: (function(input, ...) rmarkdown::render(input))\n---\n\nText.\n",
        div("callout-tip"),
        div("topology"),
        div("{.note typ=definition unit=cm}"),
        div("{.LLM}"),
        "::: callout-note\n" + DIV.format("knit: true") + "\n" + div("exercises") + ":::\n",
        div("{.exercises knit=true}"),
        "```\n::: exercises\nText.\n:::\n```\n\n<!--\n::: exercises\n:::\n-->\n\n    ::: exercises\n",
    ],
)
def test_other_words_are_others(text):
    assert messages(text) == []


@pytest.mark.parametrize("attributes", ["{.callout-note type=exercise}", "{#a type='topic'}"])
def test_the_attribute_type_leaves_a_div_out_if_it_is_a_class_of_such_divs(attributes):
    text = div(attributes)
    assert (knitted(text), messages(text)) == ("", [])


def test_the_types_of_the_project_count():
    text = div("solutons")
    said = ["unknown class 'solutons': did you mean 'solution'?"]
    assert messages(text) == []
    assert messages(text, types=SOLUTION) == messages(text, div_types=SOLUTION) == said
    assert messages(NATIVE.format("type: solution") + "\n" + text) == said
    assert messages("---\nlmm: {div-types: solution}\n---\n\n" + text) == said


def test_allowed_words_are_meant():
    text = f"{NATIVE.format('typ: a')}\n{div('exercises')}\n{div('{.rag-only typ=a}')}\n***\ntype: exercise\n***\n"
    assert len(messages(text)) == 4
    assert messages(text, allowed=frozenset({"typ", "type", "exercises"})) == []


# Keys that stand in no block

KEYS_IN_NO_BLOCK = {
    "a blank line below the rule": ("---\n\ntype: exercise\n---", 7),
    "a switch": ("---\n\nknit: false\n---", 7),
    "indented": (" ---\n type: exercise\n ---", 6),
    "in an item": ("- item\n\n    ---\n    type: exercise\n    ---", 8),
    "dashes of a word processor": ("\u2014\ntype: exercise\n\u2014", 6),
    "in a div": ("::: note\n ---\n type: exercise\n ---\n\nText.\n:::", 7),
    "directly under a text": ("Text.\n---\ntype: exercise\n---", 6),
    "no colon": ("---\ntype exercise\n---", 6),
    "a semicolon": ("---\nknit; false\n---", 6),
    "an equals sign": ("---\nnote = x\nfrozen = True\n---\n\nText.", 7),
    "a comment": ("<!--\ntype: [exercise, topic]\n-->", 5),
    "a code block": ("```yaml\ntype: exercise\n```", 5),
    "an attribute of HTML": ('<div data-type="exercise">\n\nText.\n\n</div>', 5),
}


@pytest.mark.parametrize("case", KEYS_IN_NO_BLOCK)
def test_a_key_in_no_block_is_reported_and_stops_a_render_by_quarto(case):
    part, line = KEYS_IN_NO_BLOCK[case]
    text = f"# A\n\nText.\n\n{part}\n\nSECRET\n"
    assert [at for at, _ in reports(text)] == [line]
    write("notes.qmd", text)
    (page,) = read_documents([Path("notes.qmd")])
    assert typo_lines([("notes.qmd", page)], KnitRules())[0].startswith(f"notes.qmd:{line}: ")


# Comments


@pytest.mark.parametrize(
    ("comment", "code"),
    [
        ("para\n<!-- lmm\ntype: exercise\n-->\n", "near-miss"),
        ("<!-- lmm: type: exercise -->\n", "near-miss"),
        ("<!-- lmm\na: [\n-->\n", "unreadable-block"),
        ("> <!-- lmm\n> type: [\n> -->\n", "unreadable-block"),
    ],
)
def test_a_comment_that_is_no_block_is_an_error(comment, code):
    assert codes(f"# A\n\n{comment}") == [code]


def test_a_comment_in_an_item_is_read_or_reported_or_code():
    """Pandoc reads it as a block only where the item's text begins, and as inline text a bit to the right."""
    for item in ("1. item", "* a\n    - b", "[^1]: note"):
        for columns in range(1, 11):
            indent = " " * columns
            text = f"# A\n\nText[^1].\n\n{item}\n\n{indent}<!-- lmm\n{indent}type: exercise\n{indent}-->\n\n{indent}Secret.\n"
            is_left_out = "Secret" not in knitted(text)
            if bool(codes(text)) == is_left_out:
                is_code = b'"CodeBlock"' in run("pandoc -t json", stdin=text).stdout
                assert is_code and not is_left_out, text


# Marks without effect

NO_DIV, NO_TYPE = "colons that open or close no div", "leaves nothing out"
WITHOUT_EFFECT = {
    "below a paragraph": ("Some practice:\n::: exercise\nwalnut\n:::\n", 2, NO_DIV),
    "indented": ("Text.\n\n  ::: exercise\n  walnut\n  :::\n", 3, NO_DIV),
    "not opened": ("::: exercise\nq\n:::\n\nSECRET\n\n:::\n", 7, NO_DIV),
    "braces not closed": ("::: {.exercise #a\nwalnut\n:::\n", 1, NO_DIV),
    "not closed": ("Text.\n\n::: exercise\nwalnut\n\n# More\n", 3, "so all that follows belongs to it"),
    "two colons": (":: exercise\nwalnut\n::\n", 1, NO_DIV),
    "a block": ("::: lmm content-hidden\n``` yaml\ntype: exercise\n```\n:::\n\nwalnut\n", 1, NO_DIV),
    "about a comment": (f"# A\n\n{BLOCK}\n<!-- todo -->\n\n## Q\n\nText.\n", 3, "applies only to the next line"),
    "an underlined heading": (
        f"# A\n\n{BLOCK}\nHeading\n-------\n\nSECRET\n",
        3,
        "underlined heading starts no section",
    ),
    "a class of a heading": ("## Ex {#e1 .exercise}\n\nText.\n", 1, NO_TYPE),
    "knit in a heading": ("## Ex {knit=false}\n\nText.\n", 1, "put a block with `knit: false` before it"),
    "an empty type": ("# A\n\n---\ntype:\n---\n\nText.\n", 4, "`type:` is empty"),
    "after the last part": (f"# A\n\nText.\n\n{BLOCK}", 5, "nothing follows"),
    "a class of words": ("A [x]{.exercise} word.\n", 1, NO_TYPE),
    "a directive": ("```{exercise}\n:label: one\n\nText.\n```\n", 1, NO_TYPE),
    "details": ('<details class="exercise">\n<summary>Q</summary>\n\nText.\n\n</details>\n', 1, NO_TYPE),
    "an alert": ("> [!EXERCISE]\n> Text.\n", 1, NO_TYPE),
}


@pytest.mark.parametrize("case", WITHOUT_EFFECT)
def test_a_mark_without_effect_is_reported(case):
    text, line, said = WITHOUT_EFFECT[case]
    ((at, message),) = reports(text)
    assert (at, said in message) == (line, True)


@pytest.mark.parametrize("mark", ["## Ex {type=exercise}", "A [x]{.exercise} word."])
def test_the_advice_about_a_type_elsewhere_is_right(mark):
    (message,) = messages(f"{mark}\n\nText.\n")
    advice = re.search(r"`(::: .*?)`", message)[1]
    assert knitted(f"{advice}\nText.\n:::\n") == ""


@pytest.mark.parametrize(
    "text",
    [
        ":::: {.callout-note}\n## T\n\n::: {.exercise .hard}\nText.\n:::\n::::\n",
        "Like this:\n\n    ::: exercise\n    ## Ex {.exercise}\n    :::\n",
        "Write `## Ex {.exercise}` or `::: exercise` or `<details class=exercise>`.\n",
        "An exercise! [exercise](exercise.md) <exercise@example.org>\n",
        "Use std::vector and `::`.\n\n:: a line of reST\n",
        f"{BLOCK}\n<!-- todo -->\nText right below.\n",
        "``` toml\n---\nfrozen = true\n---\n```\n",
        "---\n  a     b\n----- -----\n type = x\n---\n",
        "Text.\n\n***\ntype: an exercise\nwith prose\n***\n",
        "Text.\n\ntype: exercise\nsize: small\n\nText.\n",
        "Text.\n\n```\n<!-- lmm type: x -->\n```\n",
        "Text.\n\n<!-- lmm\ntype: exercise\n-->\ntext\n",
    ],
)
def test_what_is_no_slip(text):
    assert codes(text) == []
