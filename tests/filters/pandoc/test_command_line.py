"""Pandoc's arguments and defaults files, as pandoc reads them."""

from pathlib import Path

import pytest

from filters.pandoc.command_line import find_defaults, read_defaults, split_options
from filters.pandoc.run import parse_command_line
from lmm_core.errors import FilterError
from tests.commands import write


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--to", "html", "a.md"], [("to", "html"), ("", "a.md")]),
        (["--stand"], [("standalone", None)]),
        (["--metadata-f=x"], [("metadata-file", "x")]),
        (["-so", "out"], [("standalone", None), ("output", "out")]),
        (["-Mlang=en"], [("metadata", "lang=en")]),
        (["--", "-s"], [("", "-s")]),
        (["-o"], [("output", None)]),
    ],
)
def test_arguments(arguments, options):
    assert list(split_options(arguments)) == options


def test_a_defaults_file_is_found_by_its_name():
    write("data/defaults/knit.yaml", "to: html\n")
    write("home/defaults/knit.yaml", "to: latex\n")
    here = Path.cwd()
    assert find_defaults("knit", here, "data") == here / "data/defaults/knit.yaml"
    assert find_defaults("nope", here, "data") is None


def test_variables_in_a_defaults_file(monkeypatch):
    monkeypatch.setenv("COURSE", "stats")
    path = write("folder/d.yaml", "input-files: ['${.}/${COURSE}.md', '${UNKNOWN}']\n")
    assert read_defaults(path) == {"input-files": ["folder/stats.md", "${UNKNOWN}"]}


def test_a_defaults_file_that_cannot_be_read_or_is_missing():
    with pytest.raises(FilterError, match=r"d\.yaml: The defaults file cannot be read"):
        read_defaults(write("d.yaml", "a: [\n"))
    with pytest.raises(FilterError, match="The defaults file nope is not found"):
        parse_command_line(["-d", "nope"], "pandoc", Path.cwd())


def test_defaults_files_name_others():
    write("a.yaml", "defaults: [b]\nfilters: [lmm-knit, {type: citeproc}]\ninput-file: a.md\n")
    write("b.yaml", "to: html\nciteproc: true\n")
    run = parse_command_line(["-d", "a", "-F", "x/lmm_rag.py"], "pandoc", Path.cwd())
    assert (run.value("to"), run.inputs) == ("html", ["a.md"])
    assert run.filters == ["citeproc", "lmm-knit", "citeproc", "x/lmm_rag.py"]
    assert run.places() == [1, 3]
