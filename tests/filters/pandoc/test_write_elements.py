"""Documents that go out as Pandoc's elements."""

import re
import zipfile

from tests.commands import run, text, write
from tests.filter_texts import NATIVE, NOTES, PROSE, ok


def test_standard_input_without_blocks(pandoc):
    done = ok("pandoc -F lmm-rag -t markdown", pandoc, stdin=f"---\ntitle: T\n---\n\n{NOTES}")
    assert b"~questions" in done.stdout
    assert b"title: T" in done.stdout
    assert b"rewrites the text" in done.stderr


def test_a_word_file_holds_none_of_our_keys(pandoc):
    write("notes.md", NATIVE.replace("title: T\n", "title: T\nquestions=: Q\nquery: Is it?\ntype: x\nmodel: m\n"))
    ok("pandoc -F lmm-knit -M lmm-keep=topic notes.md -o notes.docx", pandoc)
    with zipfile.ZipFile("notes.docx") as file:
        names = [name for name in file.namelist() if name.startswith("docProps/")]
        properties = b"".join(file.read(name) for name in names).decode()
    assert re.findall(r"lmm|questions|query|SECRET|>m<", properties) == []


def test_footnotes_of_files_read_by_themselves_are_not_mixed_up(pandoc):
    write("one.md", "Text[^1]\n\n[^1]: note one\n\n---\ntype: exercise\n---\n\n# X\n\nSECRET\n")
    write("two.md", "# Two\n\nText[^1]\n\n[^1]: note two\n")
    done = run("pandoc --file-scope -F lmm-knit one.md two.md -o out.html", pandoc)
    assert done.returncode != 0
    assert b"lmm convert --to div" in done.stderr
    run("lmm convert --to div one.md")
    ok("pandoc --file-scope -F lmm-knit one.md two.md -o out.html", pandoc)
    assert "note one" in text("out.html")
    assert "note two" in text("out.html")
    assert "SECRET" not in text("out.html")


def test_our_keys_come_out_of_the_element_route_as_we_wrote_them(pandoc):
    quoted = '"Look at *your* data" is what [they] say most often, and with $10 it is said in every chapter. ' + PROSE
    write("notes.md", f"---\ntitle: T\ndocid: d\n---\n\n# A\n\n{quoted * 3}")
    write("foreign.lua", "function Pandoc(doc) doc.meta.seen = 'yes'; return doc end\n")
    ok("pandoc -L foreign.lua -F lmm-rag notes.md -o out.md", pandoc)
    done = run("lmm scan out.md")
    assert b"stale" not in done.stdout
    assert "corrected" not in ok("lmm rag out.md", pandoc).stderr.decode()
