"""Passes over files, by the command."""

import os

import pytest

from tests.commands import run, text, write
from tests.filter_texts import PROSE


@pytest.mark.parametrize("value", ["&a {b: *a}", "&a [*a]"])
def test_aliases_that_hold_themselves(value):
    write("notes.md", f"# A\n\n::: lmm\n```yaml\na: {value}\n```\n:::\n\n## B\n\n{PROSE}")
    done = run("lmm rag notes.md")
    assert done.returncode == 1
    assert b"stands in a value that has an anchor itself" in done.stderr
    assert "~questions" in text("notes.md")


def test_knitting_two_files_of_one_name_is_refused():
    write("one/a.md", "one\n")
    write("two/a.md", "two\n")
    done = run("lmm knit one/a.md two/a.md -o out")
    assert done.returncode == 2
    assert not os.path.exists("out")


def test_knitting_a_folder_into_itself_twice():
    write("a.md", "text\n")
    for _ in range(2):
        assert run("lmm knit . -o out").returncode == 0
    assert sorted(path for path, _, files in os.walk("out") if files) == ["out"]


def test_a_file_that_is_no_markdown_is_left_alone():
    write("references.bib", "@book{x}\n")
    done = run("lmm rag references.bib")
    assert done.returncode == 2
    assert text("references.bib") == "@book{x}\n"


def test_a_read_only_file_is_left_alone():
    write("notes.md", f"# A\n\n{PROSE}").chmod(0o444)
    done = run("lmm rag notes.md")
    assert done.returncode == 1
    assert b"read-only" in done.stderr
    assert text("notes.md") == f"# A\n\n{PROSE}"


def test_options_in_the_header_hold_for_the_command_too():
    write("notes.md", "---\ntitle: T\nlmm:\n  div-types: solution\n---\n\ntext\n\n::: solution\nSECRET\n:::\n")
    assert b"SECRET" not in run("lmm knit notes.md").stdout


def test_a_typed_block_in_a_callout_is_found_however_long_it_is():
    code = "```\n" + "x = 1\n\n" * 2000 + "SECRET\n```\n"
    write("notes.md", f"::: note\n::: lmm\n```yaml\ntype: exercise\n```\n:::\n\n{code}\nStays.\n:::\n")
    shown = run("lmm knit notes.md").stdout
    assert b"SECRET" not in shown
    assert b"x = 1" not in shown
    assert b"Stays." in shown


def test_many_divs_take_linear_time():
    from time import process_time

    from lmm_core.markdown.visibility import KnitRules
    from lmm_core.scan.knit import strip_divs

    for one in ("::: lmm\n```yaml\ntype: exercise\n```\n:::\n\ntext\n\n", "::: exercise\nx\n:::\n\n", "::: note\n\n"):
        started = process_time()
        strip_divs("::: outer\n\n" + one * 300 + ":::\n", KnitRules())
        assert process_time() - started < 2, one
