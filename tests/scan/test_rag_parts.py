"""Parts of texts as texts of their own, with their lines and types."""

from lmm_core.markdown import MetadataBlock, parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.rag_parts import extract_parts


def parts(text):
    """Return the content of each metadata block, and the line, type and source of each other block."""
    return [
        block.content
        if isinstance(block, MetadataBlock)
        else (block.line, getattr(block, "type", None), block.source.strip())
        for block in extract_parts(parse_markdown_text(text), KnitRules())
    ]


def test_divs_in_a_div():
    text = "# A\n\n::: note\nOne.\n\n::: exercise\nTwo.\n:::\n\n::: {.x knit=false}\nThree.\n:::\n\nFour.\n:::\n"
    assert parts(text) == [
        (1, None, "# A"),
        (3, None, "::: note\nOne.\n\nFour.\n:::"),
        (6, "exercise", "::: exercise\nTwo.\n:::"),
        (10, None, "::: {.x knit=false}\nThree.\n:::"),
    ]


def test_a_part_in_a_part():
    text = "Start.\n\n---\nskip: true\n---\n\n- ::: exercise\n  One.\n\n  ::: topic\n  Two.\n  :::\n  :::\n"
    assert parts(text) == [
        (1, None, "Start."),
        {"skip": True},
        (7, None, "-"),
        {"skip": True},
        (7, "exercise", "::: exercise\nOne.\n\n:::"),
        {"skip": True},
        (10, "topic", "::: topic\nTwo.\n:::"),
    ]
