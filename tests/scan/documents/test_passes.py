"""Passes over files, by the command."""

import os

from tests.commands import text, write
from tests.filter_texts import PROSE
from tests.talk import lmm


def test_knitting_two_files_of_one_name_is_refused():
    write("one/a.md", "one\n")
    write("two/a.md", "two\n")
    lmm("lmm knit one/a.md two/a.md -o out", 2)
    assert not os.path.exists("out")


def test_a_file_that_is_no_markdown_is_left_alone():
    write("references.bib", "@book{x}\n")
    lmm("lmm rag references.bib", 2)
    assert text("references.bib") == "@book{x}\n"


def test_a_read_only_file_is_left_alone():
    write("notes.md", f"# A\n\n{PROSE}").chmod(0o444)
    assert "read-only" in lmm("lmm rag notes.md", 1).stderr
    assert text("notes.md") == f"# A\n\n{PROSE}"
