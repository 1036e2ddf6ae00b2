"""The mistakes that `lmm scan` finds, and what is none."""

from pathlib import Path

import pytest
from hypothesis import given

from lmm_core.markdown import parse_markdown_text
from lmm_core.scan.check.document import CheckedDocument
from lmm_core.scan.check.finding import CODES
from lmm_core.scan.check.mistakes import UNREAD as UNREAD_CODES
from lmm_core.scan.check.mistakes import find_mistakes
from tests.real_files import markdown_files
from tests.strategies import markdown

ROOT = Path(__file__).parents[3]


def found(text):
    problems = []
    blocks = parse_markdown_text(text, problems)
    return find_mistakes(CheckedDocument(blocks), problems)


def codes(text):
    return [(one.line, one.code) for one in found(text)]


# Questions, messages and edits that nobody reads

UNREAD = {
    "in no block": ("# A\n\n?: Why?\n\nText.\n", 3, "no-block"),
    "directly under a text": ("# A\n\nText.\n---\n?: Why?\n---\n\nText.\n", 4, "no-blank-line"),
    "a div without a fence": ("Text.\n\n::: lmm\n?: Why?\n:::\n\nText.\n", 3, "no-fence"),
    "in YAML that cannot be read": ("# A\n\n---\n?: Why?\na: [\n---\n\nText.\n", 6, "unreadable-block"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_what_is_asked_and_not_read(case):
    text, line, code = UNREAD[case]
    assert codes(text) == [(line, code)]
    assert code in UNREAD_CODES


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\n---\n?: Why?\n+: And?\n=: Shorter.\n---\n\nText.\n",
        "# A\n\n::: lmm\n``` yaml\n?: Why?\n```\n:::\n\nText.\n",
        "`?: a` is an operator, and so is\n`?: b`, as in `a\n?: b`.\n",
        "```\n?: Why?\n```\n\n    ?: Why?\n\n~~~ yaml\n=: x\n~~~\n",
        "# A\n\n---\nnote: |\n  ? Go on (y/n)\n---\n\nText.\n",
    ],
)
def test_what_asks_nothing(text):
    assert found(text) == []


@given(markdown())
def test_every_finding_has_a_code_and_a_line(text):
    lines = text.count("\n") + 1
    for one in found(text):
        assert one.code in CODES and 1 <= one.line <= lines and one.message


# Real files


@pytest.mark.slow
def test_real_markdown_has_no_mistakes(real_place):
    for path in markdown_files(real_place):
        assert found(path.read_text("utf-8")) == [], path


def test_the_files_of_this_repository_have_no_mistakes():
    own = [path for folder in ("docs", "sample-book", "quarto-ext") for path in (ROOT / folder).rglob("*.*md")]
    for path in [*ROOT.glob("*.md"), *own]:
        assert found(path.read_text("utf-8")) == [], path
