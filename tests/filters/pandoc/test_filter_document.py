"""Reading the document: what is reported, and what stops pandoc."""

import os

from tests.commands import run, write
from tests.filter_texts import FOREIGN, NATIVE, NOTES


def test_a_foreign_filter_before_ours_on_native_blocks_stops(pandoc):
    write("notes.md", NATIVE)
    write("foreign.lua", FOREIGN)
    done = run("pandoc -L foreign.lua -F lmm-knit notes.md -o out.html", pandoc)
    assert done.returncode != 0
    assert b"their places are lost" in done.stderr
    assert not os.path.exists("out.html")


def test_standard_input_with_native_blocks_stops(pandoc):
    done = run("pandoc -F lmm-knit -t html -o out.html", pandoc, stdin=NATIVE)
    assert done.returncode != 0
    assert b"their places are lost" in done.stderr
    assert b"pandoc -F lmm-knit FILE" in done.stderr
    assert not os.path.exists("out.html")


def test_a_wrong_setting_stops(pandoc):
    write("config.toml", "[knit]\nkep = ['exercise']\n")
    write("notes.md", NOTES)
    done = run("pandoc -F lmm-knit notes.md -o out.html", pandoc)
    assert done.returncode != 0
    assert b"config.toml" in done.stderr
    assert b"knit.kep" in done.stderr


def test_not_utf8(pandoc):
    write("notes.md", b"# A\n\ncaf\xe9\n")
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode != 0
    assert open("notes.md", "rb").read() == b"# A\n\ncaf\xe9\n"
