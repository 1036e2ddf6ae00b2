"""Mistakes in documents, as the commands show them; and what a command says in place of nothing."""

import json
import re
import shlex

import pytest

from tests.commands import run, write

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NOTES = f"# A\n\n{PROSE}"
NO_BLOCK = "no-block `?:` stands in no block and is read as text: put it between two lines `---`"


def said(done):
    return done.stderr.decode()


def test_scan_shows_mistakes_with_file_line_and_code():
    write("notes.md", NOTES + "\n?: Why?\n\n```\n")
    done = run("lmm scan notes.md")
    assert done.returncode == 1
    first, second = said(done).splitlines()
    assert first.startswith(f"notes.md:5: {NO_BLOCK}")
    assert second == "notes.md:7: not-closed a code fence starts here and is not closed: it is read as text"


def test_what_is_no_error_counts_where_it_is_asked_for():
    write("notes.md", NOTES + "\n```\n")
    assert run("lmm scan notes.md").returncode == 0
    assert run("lmm scan --strict notes.md").returncode == 1
    write("notes.md", NOTES)
    assert run("lmm scan --strict notes.md").returncode == 0


def test_mistakes_as_json():
    write("notes.md", NOTES + "\n?: Why?\n")
    done = run("lmm scan --json notes.md")
    (one,) = json.loads(done.stdout)[0]["findings"]
    assert (one["line"], one["code"], one["level"]) == (5, "no-block", "error")
    assert done.returncode == 1


def test_a_wrong_setting_in_the_header_is_shown():
    write("notes.md", "---\ntitle: T\nmodel:\n  majr: openai\n---\n\n" + NOTES)
    assert "notes.md:1: header-value unknown key `model.majr`" in said(run("lmm scan notes.md"))


def test_the_help_lists_the_codes():
    shown = run("lmm scan --help").stdout.decode()
    assert "no-block " in shown and "not-closed* " in shown


@pytest.mark.parametrize(
    ("asked", "line", "code"),
    [("?: Why?", 5, "no-block"), ("::: lmm\n?: Why?\n:::", 5, "no-fence")],
)
def test_chat_says_what_it_could_not_read(asked, line, code):
    write("notes.md", f"{NOTES}\n{asked}\n")
    done = run("lmm chat notes.md")
    assert (f"notes.md:{line}: {code} " in said(done), done.returncode) == (True, 1)
    assert [one["code"] for one in json.loads(run("lmm chat --json notes.md").stdout)[0]["reports"]] == [code]


def test_edit_says_what_it_could_not_read():
    write("notes.md", f"{NOTES}---\n=: Shorter.\n---\n")
    done = run("lmm chat notes.md")
    assert (said(done).splitlines()[0], done.returncode) == (
        "notes.md:4: no-blank-line a metadata block needs an empty line before it: it is read as text",
        1,
    )


def test_index_warns_of_what_would_be_found():
    write("notes.md", f"{NOTES}\n?: Why?\n\n::: excercise\nText.\n:::\n")
    index = run("lmm index --dry-run notes.md")
    assert f"notes.md:5: {NO_BLOCK}" in said(index)
    assert "notes.md:7: near-miss unknown class 'excercise'" in said(index)
    assert index.returncode == 0


# In place of nothing


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ("notes.md -o x.html", "pandoc -s -F lmm-knit notes.md -o x.html"),
        ("notes.md -o 'out put/x y.docx'", "pandoc -F lmm-knit notes.md -o 'out put/x y.docx'"),
        ("notes.md 'b c.md' -o x.epub", "pandoc -F lmm-knit notes.md 'b c.md' -o x.epub"),
        ("--keep exercise --keep topic notes.md -o x.tex",
         "pandoc -s -F lmm-knit -M lmm-keep=exercise,topic notes.md -o x.tex"),
        ("d.qmd -o x.html", "pandoc -s -f markdown -F lmm-knit d.qmd -o x.html"),
        ("'out put' -o x.odt", "pandoc -F lmm-knit 'out put/e.md' -o x.odt"),
    ],
)  # fmt: skip
def test_knit_names_the_command_for_other_formats(arguments, command, pandoc):
    for name in ("notes.md", "b c.md", "d.qmd", "out put/e.md"):
        write(name, f"---\ntitle: {name}\n---\n\n{NOTES}\n::: exercise\nSECRET\n:::\n\n::: hint\nmore\n:::\n")
    done = run(f"lmm knit {arguments}")
    *_, shown = said(done).splitlines()
    assert (shown.strip(), done.returncode) == (command, 2)
    run(shown.strip(), pandoc)
    notes = run(f"pandoc -t plain {shlex.quote(shlex.split(command)[-1])}", pandoc).stdout
    assert (b"residual" in notes, b"SECRET" in notes) == (True, "exercise" in command)


@pytest.fixture
def index():
    write("notes.md", NOTES + "\n::: exercise\nA point lies on the line: what is its residual?\n:::\n")
    assert run("lmm index notes.md").returncode == 0


def test_nothing_found_is_said_with_the_types(index):
    done = run("lmm search zzzz")
    assert (done.stdout, said(done), done.returncode) == (
        b"",
        "nothing found for 'zzzz' (the types here: exercise (1))\n",
        0,
    )
    assert json.loads(run("lmm search --json zzzz").stdout) == []


def test_a_type_that_nothing_has_is_said(index):
    assert said(run("lmm search --type exercize residual")) == (
        "nothing has the type 'exercize'; did you mean 'exercise'? (the types here: exercise (1))\n"
    )
    assert said(run("lmm search --type exercise zzzz")).startswith("nothing found for 'zzzz' of the type 'exercise' (")


def test_a_search_before_there_is_an_index_says_how_to_make_one():
    done = run("lmm search zzzz")
    assert (done.stdout, done.returncode) == (b"", 1)
    assert said(done) == "nothing is indexed here yet; to index the notes: lmm index .\n"


def test_knit_names_a_deck_of_several_files_after_the_course():
    """Else the title of each document would replace that of the one before."""
    for name in ("one.md", "two.md"):
        write(f"course/{name}", f"---\ntitle: {name}\n---\n\n{NOTES}")
    said = [run("lmm knit course -o deck.pptx")]
    write("course/index.md", "---\ntitle: The *course*\n---\n\n# First\n")
    said.append(run("lmm knit course -o deck.pptx"))
    write("course/_quarto.yml", "project: {type: website}\nwebsite: {title: Its name}\n")
    said.append(run("lmm knit course -o deck.pptx"))
    titles = [re.search(r"pandoc -M '?title=(.*?)'? -F lmm-knit course/", done.stderr.decode())[1] for done in said]
    assert titles == ["course", "The course", "Its name"]
