"""`lmm-knit`: what is left out, and what stays as pandoc writes it."""

import json
import re

import pytest

from tests.commands import run, text, write
from tests.filter_texts import DIVS, NATIVE, PROSE, ok
from tests.real_files import spread


@pytest.mark.parametrize("target", ["html", "docx", "gfm"])
def test_knit_to_any_target(target, pandoc):
    write("notes.md", DIVS if target == "gfm" else NATIVE)
    done = ok(f"pandoc -F lmm-knit notes.md -s -t {target} -o out", pandoc)
    assert done.stderr == b""
    if target == "docx":
        ok("pandoc -f docx -t plain out -o plain.txt", pandoc)
    out = text("plain.txt" if target == "docx" else "out")
    assert "residual" in out
    assert "SECRET" not in out
    assert "Practice" not in out
    assert "lmm" not in re.sub(r"lmm-markdown", "", out)


@pytest.mark.slow
def test_knit_of_annotated_notes_is_pandocs_html_of_the_plain(real_place, pandoc):
    for file in spread(real_place, 2):
        write("notes.md", text(file))
        ok("pandoc notes.md -o plain.html", pandoc)
        for spelling in ("div", "native", "comment"):
            ok(f"pandoc -F lmm-rag -M lmm-spelling={spelling} '{file}' -t markdown -o {spelling}.md", pandoc)
            ok(f"pandoc -F lmm-knit {spelling}.md -o knit.html", pandoc)
            assert text("knit.html") == text("plain.html"), file


def test_options_of_header_configuration_and_command_line(pandoc):
    divs = "".join(f"::: {name}\n{name.upper()}\n:::\n\n" for name in ("solution", "hint", "exercise", "topic"))
    write("config.toml", "[knit]\nkeep = ['exercise']\n")
    write(
        "notes.md",
        f"---\ntitle: Mine\nlmm:\n  div-types: [solution]\n---\n\n---\ntitle: Not mine\n---\n\n# A\n\n{divs}",
    )
    shown = ok("pandoc -F lmm-knit -s notes.md -t html", pandoc).stdout.decode()
    assert "<title>Mine</title>" in shown
    assert re.findall("SOLUTION|HINT|EXERCISE|TOPIC", shown) == ["HINT", "EXERCISE"]
    shown = ok("pandoc -F lmm-knit -M lmm-div-types=hint notes.md -t html", pandoc).stdout.decode()
    assert "HINT" not in shown


def test_code_that_pandoc_takes_for_text(pandoc):
    chunk = "```{r, eval=FALSE}\nx <- 1\n\ny <- 2\n```\n"
    write("notes.md", f"# A\n\n{chunk}\n## B\n\n{PROSE}\n{chunk}")
    plain = ok("pandoc notes.md -t html", pandoc).stdout
    ok("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert ok("pandoc -F lmm-knit notes.md -t html", pandoc).stdout == plain


@pytest.mark.parametrize(
    "part", ["Text:\n```r\nSECRET\n```\n", "## Ex\n\n```{r}\nx\n\n# Step\nmean(x)\n```\n\nSECRET\n"]
)
def test_a_part_of_several_elements_is_left_out_as_a_whole(part, pandoc):
    write("notes.md", f"# A\n\nStays.\n\n::: lmm\n``` yaml\ntype: exercise\n```\n:::\n\n{part}\n# B\n\nStays.\n")
    shown = ok("pandoc -F lmm-knit notes.md -t html", pandoc).stdout
    assert shown.count(b"Stays.") == 2 and b"SECRET" not in shown


def test_a_notebook_needs_lmm_course(pandoc):
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["::: exercise\n", "SECRET\n", ":::\n"]}
    write("a.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    done = run("pandoc -F lmm-knit a.ipynb -t html", pandoc)
    assert done.returncode and b"SECRET" not in done.stdout and b"does not see all divs" in done.stderr


def test_references_at_the_end_stay_pandocs(pandoc):
    references = (
        "---\nreferences:\n- id: doe99\n  title: A book\n  author: [{family: Doe}]\n  issued: {year: 1999}\n...\n"
    )
    write("notes.md", f"# A\n\nSee @doe99.\n\n{references}")
    plain = ok("pandoc --citeproc notes.md -t plain", pandoc).stdout
    assert b"1999" in plain
    assert ok("pandoc -F lmm-knit --citeproc notes.md -t plain", pandoc).stdout == plain
    ok("lmm knit notes.md -o knitted.md", pandoc)
    assert ok("pandoc --citeproc knitted.md -t plain", pandoc).stdout == plain


@pytest.mark.slow
def test_nested_divs(pandoc):
    inside = "::: exercise\nSECRET\n:::\n\nStays.\n"
    write("notes.md", "".join(f"::: n{depth}\n" for depth in range(50)) + "\n" + inside + ":::\n" * 50)
    shown = ok("pandoc -F lmm-knit notes.md -t html", pandoc).stdout
    assert b"Stays." in shown
    assert b"SECRET" not in shown


# Comments

COMMENT = "<!-- lmm\ntype: exercise\n-->\n"
COMMENTS = (
    "---\ntitle: T\n---\n\n<!-- mine -->\n\n<!-- lmm\n~summary: SECRET\n-->\n# A\n\nKept.\n\n"
    f"{COMMENT}## E\n\nSECRET\n\n# B\n\n{COMMENT}SECRET\n\nKept.\n\n"
    f"- item\n\n  {COMMENT.replace(chr(10), chr(10) + '  ')}\n  SECRET\n\n- Kept.\n"
)


@pytest.mark.parametrize("options", ["-f gfm", "--strip-comments -L same.lua", "-L changes.lua"])
def test_comments_are_read_among_text_and_elements(options, pandoc):
    write("notes.md", COMMENTS)
    write("same.lua", "function Para(p) return p end")
    write("changes.lua", "function Header(h) h.level = h.level return {h, pandoc.Para('New.')} end")
    html = ok(f"pandoc {options} -F lmm-knit notes.md -t html", pandoc).stdout
    assert html.count(b"Kept.") == 3
    assert b"SECRET" not in html
    assert b"lmm" not in html
    assert (b"<!-- mine -->" in html) == ("--strip" not in options)


@pytest.mark.parametrize("options", ["-f markdown --strip-comments -F lmm-knit", "-L drops.lua -F lmm-knit notes.md"])
def test_nothing_is_written_where_comments_were_taken_out(options, pandoc):
    write("notes.md", COMMENTS)
    write("drops.lua", "function RawBlock(b) return {} end")
    done = run(f"pandoc {options} -t html", pandoc, COMMENTS)
    assert (done.returncode != 0, done.stdout) == (True, b"")
    assert b"lmm convert --to div FILE" in done.stderr


def test_comments_come_through_pandocs_own_writer(pandoc):
    write("notes.md", COMMENTS)
    write("changes.lua", "function Header(h) return {h, pandoc.Para('New.')} end")
    made = ok("pandoc -L changes.lua -F lmm-rag notes.md -t markdown", pandoc).stdout
    assert made.count(b"<!-- lmm\ntype: exercise\n-->") == 2
    assert made.count(b"<!-- lmm\n") == 4


UNSEEN = (
    "# One\n\nShown.\n\n::: exercise :::\nSECRET1\n:::\n\n<div class='exercise'>\n\nSECRET2\n\n</div>\n\n"
    "---\ntype: exercise\n---\n\n<div>\n\nSECRET3\n\n</div>\n"
)


@pytest.mark.parametrize("reader", ["commonmark_x-raw_html", "gfm", "markdown-native_divs"])
def test_a_reader_that_does_not_see_what_we_see(reader, pandoc):
    write("notes.md", UNSEEN)
    done = ok(f"pandoc -f {reader} -F lmm-knit notes.md -t html", pandoc)
    assert (b"Shown." in done.stdout, b"SECRET" in done.stdout) == (True, False)


def test_such_a_reader_on_a_text_that_has_no_name(pandoc):
    done = run("pandoc -f gfm -F lmm-knit -t html", pandoc, stdin=UNSEEN)
    assert (done.returncode, done.stdout, b"by its name" in done.stderr) == (83, b"", True)
    assert ok("pandoc -f gfm -F lmm-knit -t html", pandoc, stdin="# A\n\nPlain text.\n").stdout


def test_a_block_that_cannot_be_read_stops_pandoc_on_standard_input_too(pandoc):
    block = "::: {.lmm .content-hidden}\n``` yaml\ntype: exercise\nquestions: [a\n```\n:::\n\n"
    done = run("pandoc -F lmm-knit -t html", pandoc, stdin=f"# A\n\n{block}## B\n\nSECRET\n")
    assert done.returncode and not done.stdout
    assert b"A metadata block cannot be read: invalid YAML" in done.stderr
