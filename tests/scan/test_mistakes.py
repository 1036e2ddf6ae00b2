"""The mistakes that `lmm scan` finds, and what is none."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.check.finding import CODES, ERRORS, WARNINGS
from lmm_core.scan.check.header_keys import SECTIONS
from lmm_core.scan.check.mistakes import find_mistakes, find_unread_requests
from lmm_core.settings.tables import section_keys
from tests.real_files import markdown_files
from tests.strategies import markdown

ROOT = Path(__file__).parents[2]


def found(text, **options):
    problems = []
    blocks = parse_markdown_text(text, problems)
    return find_mistakes(blocks, problems, **options)


def codes(text, **options):
    return [(one.line, one.code) for one in found(text, **options)]


def asks(text, signs="?+="):
    problems = []
    return [one.line for one in find_unread_requests(parse_markdown_text(text, problems), problems, signs)]


# Questions, messages and edits that nobody reads

UNREAD = {
    "in no block": ("# A\n\n?: Why?\n\nText.\n", 3, "no-block"),
    "a message in no block": ("# A\n\n+: And then?\n\nText.\n", 3, "no-block"),
    "an edit in no block": ("# A\n\n=: Shorter.\n\nText.\n", 3, "no-block"),
    "in a paragraph": ("# A\n\nText.\n?: Why?\nText.\n", 4, "no-block"),
    "in a callout": ("::: callout-note\n\n?: Why?\n\nText.\n:::\n", 3, "no-block"),
    "an empty line below the marker": ("# A\n\n---\n\n?: Why?\n---\n\nText.\n", 5, "no-block"),
    "four dashes": ("# A\n\nText.\n\n----\n?: Why?\n----\n", 6, "no-block"),
    "without a blank": ("# A\n\n?:Why?\n\nText.\n", 3, "no-block"),
    "CRLF": ("# A\r\n\r\n?: Why?\r\n\r\nText.\r\n", 3, "no-block"),
    "directly under a text": ("# A\n\nText.\n---\n?: Why?\n---\n\nText.\n", 4, "no-blank-line"),
    "a div directly under a text": ("Text.\n::: lmm\n``` yaml\n?: Why?\n```\n:::\n", 2, "no-blank-line"),
    "a div without a fence": ("Text.\n\n::: lmm\n?: Why?\n:::\n\nText.\n", 3, "no-fence"),
    "a div without a fence, in another": ("::: note\n\n::: lmm\n?: Why?\n:::\n\nText.\n\n:::\n", 3, "no-fence"),
    "not closed": ("# A\n\n---\n?: Why?\n\nText.\n", 3, "not-closed"),
    "a div that is not closed": ("# A\n\n::: lmm\n``` yaml\n?: Why?\n```\n\nText.\n", 3, "not-closed"),
    "a question mark alone": ("# A\n\n---\n? Why\n---\n\nText.\n", 4, "no-colon"),
    "a question mark among keys": ("# A\n\n---\nnote: x\n? Why\n---\n\nText.\n", 5, "no-colon"),
    "a question mark alone, in a div": ("# A\n\n::: lmm\n``` yaml\n? Why\n```\n:::\n\nText.\n", 5, "no-colon"),
    "a question mark, in a callout": ("::: note\n\n::: lmm\n``` yaml\n? Why\n```\n:::\n\nText.\n:::\n", 5, "no-colon"),
    "no blank after the mark": ("# A\n\n---\n?Why\n---\n\nText.\n", 3, "no-colon"),
    "no blank after the colon": ("# A\n\n---\n?:Why\n---\n\nText.\n", 3, "no-colon"),
    "in YAML that cannot be read": ("# A\n\n---\n?: Why?\na: [\n---\n\nText.\n", 6, "unreadable-block"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_what_is_asked_and_not_read(case):
    text, line, code = UNREAD[case]
    assert codes(text) == [(line, code)]
    assert asks(text) == [line]


def test_edits_are_told_from_questions():
    text = "# A\n\n?: Why?\n\n=: Shorter.\n\nText.\n---\n?: a\n=: b\n---\n"
    assert (asks(text), asks(text, "=")) == ([3, 5, 8], [5, 8])


def test_a_blank_that_is_missing_after_the_colon_is_named():
    (one,) = found("# A\n\n---\nnote: x\n?:Why\n---\n\nText.\n")
    assert (one.code, one.message.endswith("(a blank is needed after `?:`)")) == ("unreadable-block", True)


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\n---\n?: Why?\n+: And?\n=: Shorter.\n---\n\nText.\n",
        "# A\n\n::: lmm\n``` yaml\n?: Why?\n```\n:::\n\nText.\n",
        "- item\n\n  ::: lmm\n  ``` yaml\n  ?: Why?\n  ```\n  :::\n\n  Text.\n",
        "`?: a` is an operator, and so is\n`?: b`, as in `a\n?: b`.\n",
        "Kotlin has ?: and Python +: not.\n",
        "?:\n\n=:=\n\n+:\n",
        "```\n?: Why?\n```\n\n    ?: Why?\n\n~~~ yaml\n=: x\n~~~\n",
        "``` yaml\n---\n?: Why?\n---\n```\n",
        "<pre>\n?: Why?\n</pre>\n\n<!--\n?: Why?\n-->\n",
        "$$\n=: x\n$$\n",
        "operator | use\n---|---\n?: | the one of Elvis\n",
        "+++\ntitle = 'A'\n+++\n\nText.\n",
        "Title\n---\nauthor: somebody\n---\n",
        "Title\n-----\n\nText.\n\nOther\n---\nText: a b\n---\n",
        "# A\n\n---\n? a\n: b\n---\n\nText.\n",
        "# A\n\n---\nnote: |\n  ? Go on (y/n)\n---\n\nText.\n",
        "# A\n\n---\n+ item\n---\n",
    ],
)
def test_what_asks_nothing(text):
    assert found(text) == []


# Sections, headings, merges


@pytest.mark.parametrize("key", ["type: exercise", "~questions: [Why?]", "summary=: S", "knit: false", "skip: true"])
def test_metadata_about_a_section_without_text(key):
    block = f"---\n{key}\n---\n\n"
    assert codes(f"# A\n\n{block}## B\n\n## C\n\nText.\n") == [(3, "empty-section")]
    assert codes(f"# A\n\nText.\n\n{block}") == [(5, "empty-section")]
    assert codes(f"# A\n\n{block}## B\n\n### C\n\nText.\n") == []


@pytest.mark.parametrize("body", ["?: Why?", "=: write this section\ntype: exercise", "note: mine", "~chat: [{?: a}]"])
def test_metadata_that_may_come_before_the_text(body):
    assert codes(f"# A\n\n---\n{body}\n---\n\n## B\n") == []


def test_headings_without_a_title():
    assert codes("# A\n\n##\n\n### \n\n## ##\n\nText.\n") == [(3, "no-title"), (5, "no-title"), (7, "no-title")]
    assert codes('# A\n\n## {background-color="black"}\n\n```\n##\n```\n') == []


CONFLICT = "<<<<<<< HEAD\nOurs.\n=======\nTheirs.\n>>>>>>> branch\n"


def test_the_markers_of_a_merge():
    assert codes(f"# A\n\nText.\n{CONFLICT}\nText.\n\n{CONFLICT}") == [(4, "merge-conflict"), (12, "merge-conflict")]
    assert codes(CONFLICT.replace("=======", "||||||| base\nOld.\n=======")) == [(1, "merge-conflict")]


def test_a_merge_over_headings_and_code():
    text = "# A\n\n<<<<<<< HEAD\n## B\n\n``` r\n1\n```\n\n=======\n## C\n\nText.\n>>>>>>> branch\n"
    assert codes(text) == [(3, "merge-conflict")]


def test_a_merge_in_the_header():
    text = "---\ntitle: A\n<<<<<<< HEAD\nauthor: B\n=======\nauthor: C\n>>>>>>> branch\n---\n\nText.\n"
    assert (3, "merge-conflict") in codes(text)


def test_markers_that_are_left_of_a_merge():
    assert codes("# A\n\n<<<<<<< HEAD\nOurs.\n") == [(3, "merge-conflict")]
    assert codes("# A\n\nOurs.\n=======\nTheirs.\n>>>>>>> branch\n") == [(6, "merge-conflict")]


@pytest.mark.parametrize("text", ["Title\n=======\n\nText.\n", "```\n" + CONFLICT + "```\n", ">>>>>>> seven quotes\n",
                                  "    <<<<<<< HEAD\n", "Use `<<<<<<<`.\n"])  # fmt: skip
def test_what_is_no_merge(text):
    assert codes(text) == []


# The header


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ("options:\n  questions: true", "options"),
        ("options: [summaries]", "options"),
        ("RAG: [questions]", "RAG"),
        ("rag: {questions: true}", "rag"),
        ("major: openai/gpt-4o-mini", "major"),
        ("embeddings: fastembed/BAAI/bge-small-en", "embeddings"),
        ("RAG:\n  questions_threshold: 3", "RAG"),
    ],
)
def test_settings_in_the_wrong_place(body, key):
    text = f"---\ntitle: T\n{body}\n---\n\nText.\n"
    ((line, code),) = codes(text)
    assert (line, code) == (3, "header-key")
    assert f"`{key}`" in found(text)[0].message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{questions: true, summary_threshold: 30}", "(`  RAG: {questions: true, summary_threshold: 30}`)"),
        ("[summaries]", "(`  RAG: {summaries: true}`)"),
        ("{headingid: true}", "(`  RAG: {questions: true}`); text ids need no option"),
    ],
)
def test_options_of_lm_markdown_are_said_in_our_words(options, said):
    text = f"---\ntitle: T\noptions: {options}\n---\n\nText.\n"
    assert codes(text) == [(3, "header-key")]
    assert said in found(text)[0].message


@pytest.mark.parametrize("body", ["major: Biology", "options: {toc: true}", "split: true", "storage: [a]", "ask: me",
                                  "model: {major: default, RAG: [questions]}", "database: {name: x}"])  # fmt: skip
def test_keys_of_other_programs(body):
    assert codes(f"---\ntitle: T\n{body}\n---\n\nText.\n") == []


def test_the_sections_are_those_of_the_configuration():
    for name, keys in SECTIONS.items():
        assert keys <= section_keys(name).keys(), name


# Types


def typed(*words):
    return "# A\n\n" + "".join(f"---\ntype: {word}\n---\n\nText.\n\n" for word in words)


def test_a_type_that_is_nearly_another():
    assert codes(typed("exercize")) == [(4, "type-word")]
    assert codes(typed("solution", "solution", "solutoin")) == [(16, "type-word")]
    assert codes(typed("solution", "solutoin"), used={"solution": 5, "solutoin": 1}) == [(10, "type-word")]
    assert codes(typed("solution", "solutoin"), rules=KnitRules(allowed=frozenset({"solutoin"}))) == []


@pytest.mark.parametrize(
    "words", [("exercise", "topic"), ("solution", "question"), ("walnut",), ("solution", "solutoin")]
)
def test_other_types_are_others(words):
    assert codes(typed(*words)) == []


# The codes


def test_the_page_has_the_codes():
    page = (ROOT / "docs" / "format.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)`\*? \| (.+?) \|$", page, re.M))
    assert {code: rows.get(code) for code in CODES} == CODES
    assert {*re.findall(r"^\| `([\w-]+)`\* \|", page, re.M)} == {*WARNINGS}
    assert not ERRORS.keys() & WARNINGS.keys()


@settings(max_examples=150, deadline=None)
@given(markdown())
def test_every_finding_has_a_code_and_a_line(text):
    lines = text.count("\n") + 1
    for one in found(text):
        assert one.code in CODES and 1 <= one.line <= lines and one.message


# Real files


def test_real_markdown_has_no_mistakes(real_place):
    for path in markdown_files(real_place):
        assert found(path.read_text("utf-8")) == [], path


@pytest.mark.parametrize("folder", ["docs", "sample-book", "quarto-ext", "."])
def test_the_files_of_this_repository_have_no_mistakes(folder):
    for path in (ROOT / folder).glob("*.md" if folder == "." else "**/*.*md"):
        assert found(path.read_text("utf-8")) == [], path
