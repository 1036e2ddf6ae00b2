"""Which files an output may replace."""

import os
from pathlib import Path

import pytest

from lmm_core.errors import OutputError
from lmm_core.files.outputs import (
    HTML,
    MARKDOWN,
    check_output,
    check_replaced,
    is_ours,
    write_output,
)
from tests.commands import write


def refused(output, inputs=(), endings=(), **rules):
    with pytest.raises(OutputError) as error:
        check_output(Path(output), inputs, endings, **rules)
    return str(error.value)


def test_a_new_file_may_be_written():
    check_output(Path("out.md"), [Path("gone.md")], MARKDOWN)
    check_output(Path("OUT.HTML"), (), HTML)


def test_a_source_that_we_have_not_made_may_not():
    write("other.md", "x")
    assert "lmm has not made it" in refused("other.md")
    assert "lmm has not made it" in refused("other.md", (), MARKDOWN)
    check_output(Path("other.md"), (), MARKDOWN, may_replace=True)
    for name in ("config.toml", "page.html", "grades.csv", "x.unknown"):
        write(name, "x")
        refused(name)


def test_what_is_to_be_written_may_be_there_already():
    write("out.md", "x\n")
    check_replaced(Path("out.md"), b"x\n")
    for data in (b"x", None):
        with pytest.raises(OutputError):
            check_replaced(Path("out.md"), data)


def test_what_we_have_made_may_be_made_again_until_it_is_changed():
    write_output(Path("out.md"), b"ours\n")
    assert is_ours(Path("out.md"))
    check_output(Path("out.md"), (), MARKDOWN)
    write("copy.md", "ours\n")
    assert not is_ours(Path("copy.md")), "it is known for its place alone"
    write("out.md", "theirs\n")
    assert not is_ours(Path("out.md"))
    refused("out.md", (), MARKDOWN)


def test_endings_are_those_of_the_file_that_a_link_leads_to():
    assert "has to end in .html or .htm" in refused("x.md", (), HTML)
    os.symlink("notes.md", "page.html")
    assert "a link to" in refused("page.html", (), HTML)


def test_a_file_that_is_added_to_has_one_name():
    write("notes.md", "x")
    os.link("notes.md", "asked.jsonl")
    assert "hard link" in refused("asked.jsonl", (), (".jsonl",), may_replace=True)


def test_a_folder_may_not():
    Path("out").mkdir()
    assert "a folder" in refused("out")


@pytest.mark.skipif(os.name != "posix", reason="devices of Unix")
def test_devices_may_be_written():
    check_output(Path("/dev/null"), (), HTML)
    write_output(Path("/dev/null"), b"x")
