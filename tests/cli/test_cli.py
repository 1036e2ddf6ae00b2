"""The command `lmm`, as it is typed."""

import json
import os
import re
import subprocess

import click
import pytest

from lmm_core.cli import COMMANDS, cli
from tests.commands import BIN, run, text, write

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NOTES = f"# A\n\n{PROSE}"
NO_BLOCK = "no-block `?:` is in no block and is read as text: put it between two lines `---`"


def said(done):
    return done.stderr.decode()


def test_help_fits_a_screen_and_lists_the_rest_on_demand():
    shown, whole = (run(f"lmm --help{all}").stdout.decode() for all in ("", " --all"))
    assert len(shown.splitlines()) <= 42 and max(map(len, shown.splitlines())) <= 80
    assert "  rag " in shown and "  md-index" not in shown and "  md-index " in whole
    assert run("lmm help rag").stdout == run("lmm rag -h").stdout == run("lmm rag --help").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_help_of_a_command_says_first(name):
    """The list is made without importing them."""
    command = cli.get_command(click.Context(cli), name)
    assert COMMANDS[name].help == command.get_short_help_str(90)


def test_a_mistyped_command_is_named_with_the_nearest():
    done = run("lmm serch oak")
    assert (done.returncode, said(done)) == (2, "Error: There is no command 'serch'. Did you mean 'search'?\n")


def test_scan_shows_and_writes_nothing():
    write("notes.md", NOTES + "\n## B\n\nShort.\n")
    done = run("lmm scan notes.md")
    shown = done.stdout.decode()
    assert done.returncode == 0
    assert "notes.md: A" in shown and "missing: questions" in shown and "header: missing header" in shown
    assert text("notes.md") == NOTES + "\n## B\n\nShort.\n"
    assert json.loads(run("lmm scan --json notes.md").stdout)[0]["sections"][0]["missing"] == ["questions"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full disk to write to")
def test_a_full_disk_is_told_where_standard_output_goes_there():
    write("notes.md", NOTES)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BIN / "lmm", "scan", "notes.md"], stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"lmm: standard output: No space left on device\n")


def test_where_nobody_reads_the_output_it_stops_without_a_word(sample_book):
    shown = subprocess.Popen([BIN / "lmm", "rag", "--diff", "-q", "."], cwd=sample_book, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, bufsize=0)  # fmt: skip
    shown.stdout.close()
    assert (shown.stderr.read(), shown.wait(60)) == (b"", 1)


def test_an_error_in_one_file_leaves_the_others_done():
    write("a.md", b"# A\n\ncaf\xe9\n")
    write("b.md", NOTES)
    done = run("lmm rag a.md b.md")
    assert done.returncode == 1
    assert "a.md:3: not UTF-8 (byte 8, 0xe9)" in said(done)
    assert "~questions" in text("b.md")


def test_config_is_begun_once_and_shown():
    assert "config.toml" in said(run("lmm config init"))
    begun = text("config.toml")
    done = run("lmm config init")
    assert done.returncode == 1 and "already exists, and is not overwritten" in said(done)
    assert text("config.toml") == begun
    write("config.toml", "[minor]\nmodel = 'openai/gpt-4.1'\n")
    shown = run("lmm config show").stdout.decode()
    assert re.search(r'^minor\.model +"openai/gpt-4\.1" +.*config\.toml:\d+$', shown, re.M)
    assert re.search(r"^minor\.timeout +60\.0 +default", shown, re.M)


def test_knit_writes_to_standard_output_or_a_folder_but_no_file_with_a_slip():
    write("book/a.md", NOTES + "\n::: exercise\nSECRET\n:::\n")
    write("book/part/b.md", NOTES + "\n::: exercises\nText.\n:::\n")
    assert run("lmm knit book/a.md").stdout.decode() == NOTES
    assert run("lmm knit book/a.md book/part/b.md").returncode == 2
    done = run("lmm knit book -o out")
    assert done.returncode == 1
    assert "book/part/b.md:5: near-miss unknown class 'exercises': did you mean 'exercise'?\n" in said(done)
    advice = "The notes were not written: correct this first. Or, if a word is right as it is, name it"
    assert advice in said(done)
    assert text("out/a.md") == NOTES and not os.path.exists("out/part/b.md")
    write("book/config.toml", '[knit]\nallowed_words = ["exercises"]\n')
    assert run("lmm knit book -o out").returncode == 0 and "exercises" in text("out/part/b.md")
    write("boxes.md", "# Boxes\n\n```{exercise}\nText.\n```\n")
    assert advice in said(run("lmm knit boxes.md"))


def test_what_the_notes_leave_out_is_not_written_among_the_pages_of_a_course():
    write("book/config.toml", "")
    write("book/a.md", "# A\n\n::: exercise\nSECRET\n:::\n")
    done = run("lmm knit --keep exercise book/a.md -o book/instructor.md")
    assert done.returncode == 2 and "would publish it as a page" in said(done)
    assert "instructor.md" not in os.listdir("book")
    write("book/_own/x", "")
    for output in ("instructor.md", "book/_own/instructor.md"):
        assert run(f"lmm knit --keep exercise book/a.md -o {output}").returncode == 0
        assert "SECRET" in text(output)
    told = said(run("lmm knit --keep exercize book/a.md -o instructor.md"))
    assert "--keep exercize: there is no such type of material here; there are exercise, rag-only, topic\n" in told


def test_where_there_is_nothing_to_decide_and_what_is_no_number_is_told():
    write("a.md", NOTES)
    assert said(run("lmm accept a.md")) == "0 of 1 files accepted\nNo edit is proposed there.\n"
    assert "'two' is not a valid whole number" in said(run("lmm reject --at two a.md"))
    assert "Filters: lmm-rag annotates" in run("lmm pandoc --help").stdout.decode()


def test_an_error_that_is_not_about_usage_comes_without_it():
    done = run("lmm rag missing.md")
    assert (done.returncode, said(done)) == (2, "Error: missing.md: no such file or folder\n")
    assert said(run("lmm rag")).startswith("Usage: lmm rag [OPTIONS] FILES…\n\nError: Missing argument")


def test_commands_and_options_are_completed():
    for words, completed in {
        "lmm conf": "plain,config",
        "lmm cards --format ": "plain,anki\nplain,csv\nplain,md",
    }.items():
        asking = {"_LMM_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        assert run("lmm", env=asking).stdout.decode() == f"{completed}\n"


@pytest.mark.skipif(os.name == "nt", reason="a pseudo-terminal")
@pytest.mark.parametrize(("variable", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_errors_and_warnings_have_colours_on_a_terminal(variable, coloured):
    from tests.terminal import on_terminal

    write("notes.md", f"---\ntitle: A: B\n---\n\n{NOTES}")
    shown = on_terminal("lmm", "scan", "notes.md", **variable) + on_terminal("lmm", "serch", **variable)
    for words, style in (("unreadable-block ", "31"), ("Error: ", "1;31")):
        assert (f"\x1b[{style}m{words}\x1b[0m" in shown) is coloured
    assert ("\x1b" in shown) is coloured


# Mistakes in documents


def test_scan_shows_mistakes_with_file_line_and_code():
    assert "no-block " in run("lmm scan --help").stdout.decode()
    write("notes.md", NOTES + "\n?: Why?\n\n```\n")
    done = run("lmm scan notes.md")
    first, second = said(done).splitlines()
    assert done.returncode == 1
    assert first.startswith(f"notes.md:5: {NO_BLOCK}")
    assert second == "notes.md:7: not-closed a code fence starts here and is not closed: it is read as text"
    finding = json.loads(run("lmm scan --json notes.md").stdout)[0]["findings"][0]
    assert (finding["line"], finding["code"], finding["level"]) == (5, "no-block", "error")


# Knit names pandoc's command for other formats


def test_knit_names_the_command_for_other_formats():
    write("d.qmd", f"---\ntitle: T\n---\n\n{NOTES}\n::: exercise\nSECRET\n:::\n\n::: topic\nKEPT\n:::\n")
    done = run("lmm knit --keep topic d.qmd -o 'x y.html'")
    *_, command = said(done).splitlines()
    assert command.strip() == "lmm pandoc -F lmm-knit -s -f markdown -M lmm-keep=topic d.qmd -o 'x y.html'"
    assert done.returncode == 2
    run(command.strip())
    page = text("x y.html")
    assert "residual" in page and "KEPT" in page and "SECRET" not in page


def test_knit_names_a_deck_of_several_files_after_the_course():
    """Else the title of each document would replace that of the one before."""
    write("course/one.md", f"---\ntitle: One\n---\n\n{NOTES}")
    write("course/index.md", "---\ntitle: The *course*\n---\n\n# First\n")
    assert "lmm pandoc -F lmm-knit -M 'title=The course' " in said(run("lmm knit course -o deck.pptx"))
