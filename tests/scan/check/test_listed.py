"""Metadata that is written as a YAML list is reported, with the mapping to write in its place."""

import pytest

from lmm_core.markdown import ErrorBlock, parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.check.document import CheckedDocument
from lmm_core.scan.check.near_misses import find_near_misses

LIST = "- type: exercise\n- note: secret\n- ~questions:\n  - Why?\n"
MAPPING = "type: exercise\nnote: secret\n~questions:\n  - Why?"


def errors(text):
    return [(problem.line, problem.message) for problem in CheckedDocument(parse_markdown_text(text)).find_errors()]


@pytest.mark.parametrize(
    ("text", "at", "instead"),
    [
        (f"# A\n\n---\n{LIST}---\n\nText.\n", 3, f"---\n{MAPPING}\n---"),
        (f"# A\n\n::: lmm\n``` yaml\n{LIST}```\n:::\n\nText.\n", 5, MAPPING),
        (f"::: callout-note\n\n::: lmm\n```yaml\n{LIST}```\n:::\n\nText.\n:::\n", 3, MAPPING),
        ("---\n- title: T\n- author: A\n---\n\nText.\n", 1, "---\ntitle: T\nauthor: A\n---"),
    ],
    ids=["native", "div", "div in a div", "header"],
)
def test_a_list_is_reported_with_the_mapping_to_put_in_its_place(text, at, instead):
    ((line, message),) = errors(text)
    assert line == at
    assert message.endswith(f"put this in its place:\n{instead}")


@pytest.mark.parametrize("text", [
    "Text.\n\n---\n- Note: this\n- Caution: that\n---\n",
    "Text.\n\n---\n- type: a\n\n# Heading\n\n---\n",
    "```\n---\n- type: a\n---\n```\n",
])  # fmt: skip
def test_other_lists_are_text(text):
    blocks = parse_markdown_text(text)
    assert not any(isinstance(block, ErrorBlock) for block in blocks)
    assert find_near_misses(blocks, KnitRules()) == []
