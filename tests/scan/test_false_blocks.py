"""Lines that are meant as a metadata block and are none are reported, and stop what publishes."""

from pathlib import Path

import pytest

from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.check.near_misses import find_near_misses
from lmm_core.scan.check.typos import read_documents, typo_lines
from tests.commands import write

AROUND = "# A\n\nText.\n\n{}\n\nSECRET\n"


def found(text, **rules):
    return [(one.line, one.message) for one in find_near_misses(parse_markdown_text(text), KnitRules(**rules))]


FALSE = {
    "a blank line below the rule": ("---\n\ntype: exercise\n---", 7),
    "blank lines on both sides": ("---\n\ntype: exercise\n\n---", 7),
    "indented": (" ---\ntype: exercise\n---", 6),
    "indented as a whole": (" ---\n type: exercise\n ---", 6),
    "the end is indented": ("---\ntype: exercise\n ---", 6),
    "four dashes": ("----\ntype: exercise\n----", 6),
    "two dashes": ("--\nknit: false\n--", 6),
    "stars": ("***\ntype: exercise\n***", 6),
    "dashes of a word processor": ("\u2014\ntype: exercise\n\u2014", 6),
    "its short dashes": ("\u2013\u2013\u2013\nskip: true\n\u2013\u2013\u2013", 6),
    "a spaced rule": ("- - -\n~summary: S\n- - -", 6),
    "several keys": ("----\nnote: x\nquestions:\n  - Why?\n----", 7),
    "in a quote": ("> ---\n>\n> type: exercise\n> ---", 7),
    "in a div": ("::: note\n ---\n type: exercise\n ---\n\nText.\n:::", 7),
    "CRLF": ("---\r\n\r\ntype: exercise\r\n---\r", 7),
    "directly under a text": ("Text.\n---\ntype: exercise\n---", 6),
    "a paragraph": ("type: exercise", 5),
    "a paragraph of several keys": ("~summary: S\nskip: true", 5),
    "a comment": ("<!-- type: exercise -->", 5),
    "a long comment": ("<!--\ntype: [exercise, topic]\n-->", 5),
    "a code block": ("```yaml\ntype: exercise\n```", 5),
    "a code block in an item": ("- a\n\n  ``` {.yaml}\n  type: exercise\n  knit: false\n  ```", 7),
    "an attribute of HTML": ('<div data-type="exercise">\n\nText.\n\n</div>', 5),
    "an attribute of a div": ("::: {data-type=exercise}\nText.\n:::", 5),
    "a switch as an attribute": ("::: {data-knit=false}\nText.\n:::", 5),
}


@pytest.mark.parametrize("case", FALSE)
def test_a_key_between_rules(case):
    text, line = FALSE[case]
    assert [at for at, _ in found(AROUND.format(text))] == [line]


@pytest.mark.parametrize("line", ["type:exercise", "knit:false", "type:[exercise, topic]"])
def test_no_blank_after_the_colon(line):
    assert [at for at, _ in found(AROUND.format(f"---\n{line}\n---"))] == [6]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# A\n\n---\nfrozen = True\n---\n\nText.\n", 4),  # the handbook of LM markdown for education writes this
        ("# A\n\n---\nnote = x\ntype = exercise\n---\n\nText.\n", 5),
        ("# A\n\n---\ntype=exercise\n...\n\nText.\n", 4),
        ("# A\n\nText.\n\n---\nskip = true\n---\nText.\n", 6),
    ],
)
def test_an_equals_sign_in_place_of_the_colon(text, line):
    key = text.split("\n")[line - 1].partition("=")[0].strip()
    ((at, message),) = found(text)
    assert (at, message.startswith(f"`{key}` stands in no block")) == (line, True)


@pytest.mark.parametrize(
    "text",
    [
        "``` toml\n---\nfrozen = true\n---\n```\n",  # shown as code
        "    ----\n    type: exercise\n    ----\n",
        "<!--\n----\ntype: exercise\n----\n-->\n",
        "---\nx = 1\n---\n\nText.\n",  # no key of ours
        "Text.\n\n---\n\nfrozen = true\n\n---\n",  # between two rules
        "Text.\n\n---\n\nsummary: all in all\n\n---\n",
        "---\n  a     b\n----- -----\n type = x\n---\n",  # in a table
        "# A\n\n---\ntype: exercise\nnote: type = x\n---\n\nText.\n",  # in the value of a key
        "Text where\ntype = x\n---\n",  # an underlined heading
        "Text.\n\n***\ntype: an exercise\nwith prose\n***\n",
        "Text.\n\n***\n\nKnit: two, purl: three\n\n***\n",
        "Text.\n\ntype: of an exercise\n\nText.\n",
        "Text.\n\ntype: exercise\nsize: small\n\nText.\n",
        "Text.\n\nsummary: this\n\nText.\n",
        "Text.\n\n```yaml\ntitle: T\n```\n",
        "Text.\n\n```yaml\ntype: exercise\nsize: small\n```\n",
        "Text.\n\n```yaml example\ntype: exercise\n```\n",
        "Text.\n\n<!-- type of exercise -->\n\n<!-- note: type -->\n",
    ],
)
def test_what_is_no_block(text):
    assert found(text) == []


@pytest.mark.parametrize("case", FALSE)
def test_a_render_by_quarto_stops(case):
    """What `typo_lines` returns stops it, before a page is published."""
    write("notes.qmd", AROUND.format(FALSE[case][0]))
    (page,) = read_documents([Path("notes.qmd")])
    assert typo_lines([("notes.qmd", page)], KnitRules())[0].startswith(f"notes.qmd:{FALSE[case][1]}: ")


def test_an_allowed_key_is_meant():
    assert found(AROUND.format("***\ntype: exercise\n***"), allowed=frozenset({"type"})) == []
