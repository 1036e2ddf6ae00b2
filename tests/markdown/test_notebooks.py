"""Notebooks are read as the document that Quarto makes of them, and never written to."""

import json
import re
from pathlib import Path

import pytest

from lmm_core.errors import MarkdownError
from lmm_core.markdown import HeaderBlock, HeadingBlock, parse_markdown_text, write_markdown
from lmm_core.markdown.files import read_markdown, read_notebook
from tests.commands import text, write
from tests.notebooks import cell, notebook
from tests.talk import lmm

LESSON = (
    cell("---\ntitle: Means\n---", "raw"),
    cell("# Means\n\nThe mean “balances” the values.\n\n::: exercise"),
    cell("#| label: one\nx = '''```'''", "code"),
    cell(":::\n\n## After\n\nMore."),
)


def test_the_cells_are_one_document():
    read = read_notebook(notebook(*LESSON), "a.ipynb")
    assert [line for line in read.split("\n") if line] == [
        "---", "title: Means", "---", "# Means", "The mean “balances” the values.", "::: exercise",
        "````{python}", "#| label: one", "x = '''```'''", "````", ":::", "## After", "More.",
    ]  # fmt: skip
    blocks = parse_markdown_text(read)
    assert isinstance(blocks[0], HeaderBlock)
    assert [block.title for block in blocks if isinstance(block, HeadingBlock)] == ["Means", "After"]


@pytest.mark.parametrize(("source", "said"), [('{\n "cells": [,]}', ":2: not a notebook"), ("[]", "of format 4")])
def test_what_is_no_notebook_is_an_error(source, said):
    write("a.ipynb", source)
    with pytest.raises(MarkdownError, match=said):
        read_markdown(Path("a.ipynb"))


def test_a_notebook_is_never_written_to():
    write("a.ipynb", notebook(*LESSON))
    with pytest.raises(MarkdownError, match="never written to"):
        write_markdown(Path("a.ipynb"), "# A\n")
    for command in ("rag", "convert --to div"):
        assert "a.ipynb: this command leaves notebooks alone" in lmm(f"lmm {command} a.ipynb", 2).stderr
    assert text("a.ipynb") == notebook(*LESSON)


def test_a_notebook_is_indexed():
    write("a.ipynb", notebook(*LESSON))
    write("b.md", "# B\n\nOther.\n")
    write("b.ipynb", notebook(cell("# Made of b.md")))
    before = text("a.ipynb")
    assert re.search("a.ipynb: .*is indexed as it is, and not annotated", lmm("lmm index . --annotate").stderr)
    [found] = json.loads(lmm("lmm search balances --json -k 1").stdout)
    assert (found["docid"], found["source"]) == ("a.ipynb", "a.ipynb")
    assert text("a.ipynb") == before
