"""Native metadata blocks back at their places among Pandoc's elements."""

import json
from pathlib import Path

import pytest

from filters.pandoc.native import put_back
from filters.pandoc.runs.run import PandocRun, run_pandoc
from lmm_core.markdown import convert, find_markdown, parse_markdown_text, serialize_blocks
from lmm_core.markdown.originals import restore_originals
from lmm_core.scan import scan, scan_rag
from tests.routes import by_filter, read_all

TOPIC = "---\ntype: topic\n---\n\n"
SOLUTION = "---\ntype: solution\nof: the first one\n---\n\n"
HEADER = "---\ntitle: T\n---\n\n"
PROSE = "The mean adds *up* and is [divided](https://example.org) by how many there are.\n\n"
MORE = "The median is the value in the middle, whatever the others are.\n\n"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
NOTE = "The mean[^1] adds up.\n\n[^1]: Of numbers.\n\n"

CERTAIN = {
    "before a heading": f"# A\n\n{PROSE}{TOPIC}# B\n\n{PROSE}",
    "behind a heading": f"# A\n\n{TOPIC}{TABLE}{NOTE}# B\n",
    "two on a heading": f"# A\n\n{PROSE}{TOPIC}{SOLUTION}# B\n\n{PROSE}",
    "at the start": f"{HEADER}{TOPIC}{PROSE}",
    "at the end": f"{HEADER}{PROSE}{TOPIC}",
    "between paragraphs": f"{HEADER}# A {{#sec-a}}\n\n{PROSE}{TOPIC}{MORE}{SOLUTION}{PROSE}",
    "between a paragraph and a block of code": f"{PROSE}{TOPIC}```python\nmean(numbers)\n```\n",
    "between a table and a paragraph": f"{TABLE}{TOPIC}{PROSE}",
    "beside a div": f"# A\n\n{PROSE}{TOPIC}::: lmm\n```yaml\ntype: exercise\n```\n:::\n\n{MORE}",
    "beside a div of the writer": f"# A\n\n{TOPIC}::: exercise\n## Not a section\n:::\n\n# B\n\n{MORE}",
}
DOUBT = {
    "between a paragraph with a note and another": f"{PROSE}[x]: https://example.org\n\n{TOPIC}{MORE}",
    "a key of the header": f"---\ntype: chapter\n---\n\n# A\n\n{TOPIC}{PROSE}",
    "a key for Pandoc": f"# A\n\n---\nauthor: B\n---\n\n{PROSE}",
    "a message": f"# A\n\n---\nquery: What is it?\n---\n\n{PROSE}",
    "a heading that is underlined": f"A\n=\n\n{TOPIC}# B\n\n{PROSE}",
    "a rule that begins a table": f"---\n- no mapping\n...\n\n{PROSE}{SOLUTION}# B\n\n{SOLUTION}{MORE}",
    "what looks like it in the text": f"{PROSE}The type: topic stands here.\n\n{TOPIC}# A\n",
}


def placed(text, ast, pandoc, *options):
    """The elements with the native blocks of a text, or None."""
    return put_back(ast, parse_markdown_text(text), PandocRun(pandoc, Path.cwd(), list(options)))


def as_div(text):
    """The text with all of its metadata as divs."""
    return serialize_blocks(convert(parse_markdown_text(text), "div"))


def test_they_are_where_pandoc_reads_divs(pandoc):
    texts = {f"{name}.md": text for name, text in CERTAIN.items()}
    read = read_all(texts, pandoc)
    wanted = read_all({name: as_div(text) for name, text in texts.items()}, pandoc)
    for name, text in texts.items():
        made = placed(text, read[name], pandoc)
        assert made is not None, name
        assert json.dumps(made).replace('["lmm"]', '["lmm", "content-hidden"]') == json.dumps(wanted[name]), name


def test_in_doubt_there_is_nothing(pandoc):
    texts = {f"{name}.md": text for name, text in DOUBT.items()}
    for name, ast in read_all(texts, pandoc).items():
        assert placed(texts[name], ast, pandoc) is None, name


@pytest.mark.parametrize(
    "option",
    [
        ("metadata", "type=x"),
        ("metadata-file", "x"),
        ("shift-heading-level-by", "1"),
        ("file-scope", None),
        ("strip-comments", None),
        ("from", "gfm+yaml_metadata_block"),
        ("from", "markdown-smart"),
    ],
)
def test_options_that_may_change_what_is_read_leave_doubt(option, pandoc):
    text = CERTAIN["before a heading"]
    ast = read_all({"notes.md": text}, pandoc)["notes.md"]
    assert placed(text, ast, pandoc) is not None
    assert placed(text, ast, pandoc, option) is None


def test_elements_of_another_text_leave_doubt(pandoc):
    texts = {"one.md": CERTAIN["between paragraphs"], "two.md": CERTAIN["between paragraphs"].replace("median", "mode")}
    assert placed(texts["one.md"], read_all(texts, pandoc)["two.md"], pandoc) is None


def test_real_texts(real_place, pandoc):
    """Compare what is put back with what pandoc reads. Most annotated texts leave no doubt."""
    texts = {f"{at}.md": annotated(path) for at, path in enumerate(find_markdown([real_place])[:40])}
    read = read_all(texts, pandoc)
    made = {name: placed(text, read[name], pandoc) for name, text in texts.items()}
    certain = {name: ast for name, ast in made.items() if ast is not None}
    wanted = read_all({name: as_div(texts[name]) for name in certain}, pandoc)
    for name, ast in certain.items():
        assert ast["blocks"] == wanted[name]["blocks"], name
    assert 2 * len(certain) > len(texts)


def annotated(path):
    """A file's text with the annotations that the stand-in makes, all native."""
    blocks = scan(convert(parse_markdown_text(path.read_text("utf-8", "replace")), "native"), "notes", "notes.md")
    return serialize_blocks(restore_originals(scan_rag(blocks, spelling="native")).blocks)


@pytest.mark.parametrize(("name", "runs"), [("between paragraphs", 0), ("a message", 1)])
def test_a_filter_runs_pandoc_a_second_time_in_doubt_alone(name, runs, pandoc, monkeypatch):
    text, started = {**CERTAIN, **DOUBT}[name], []
    ast = read_all({"notes.md": text}, pandoc)["notes.md"]
    monkeypatch.setattr("filters.pandoc.runs.run.run_pandoc", lambda *call: started.append(call) or run_pandoc(*call))
    by_filter(ast, pandoc, text)
    assert len(started) == runs
