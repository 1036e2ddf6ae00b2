"""Every way in which people start pandoc."""

import os
import sys

import psutil
import pytest

from filters.pandoc.run import find_ancestors
from tests.commands import text, write
from tests.filter_texts import NATIVE, NOTES, ok


def test_shifted_headings(pandoc):
    write("notes.md", NATIVE)
    write("foreign.lua", "function Str(el) return el end\n")
    done = ok("pandoc -L foreign.lua -F lmm-knit --shift-heading-level-by=1 notes.md -t html", pandoc)
    assert b"<h2" in done.stdout
    assert b"SECRET" not in done.stdout


def test_from_pypandoc(pandoc, monkeypatch):
    pypandoc = pytest.importorskip("pypandoc")
    monkeypatch.setenv("PYPANDOC_PANDOC", pandoc)
    pypandoc.clean_pandocpath_cache()
    write("notes.md", NATIVE)
    html = pypandoc.convert_file("notes.md", "html", filters=["lmm-knit"])
    assert "residual" in html
    assert "SECRET" not in html


def test_a_path_with_spaces_outside_the_folder(pandoc):
    write("a folder/my notes.md", NOTES)
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    ok("pandoc -F lmm-rag '../a folder/my notes.md' -o '../a folder/my notes.md'", pandoc)
    assert "~questions" in text("../a folder/my notes.md")
    assert "~docid: my notes.md" in text("../a folder/my notes.md")


def test_the_process_that_started_this_one_comes_first():
    parent, found = psutil.Process().parent(), next(find_ancestors())
    assert (found.command, str(found.folder)) == (parent.cmdline(), parent.cwd())
    assert found.names[0] == parent.exe()
    assert found.ident.startswith(f"{parent.pid}/")


@pytest.mark.skipif(sys.platform != "linux", reason="a file of Linux")
def test_what_cannot_be_seen_ends_the_list(monkeypatch):
    def refuse(path):
        raise PermissionError(path)

    monkeypatch.setattr(os, "readlink", refuse)
    assert list(find_ancestors()) == []
