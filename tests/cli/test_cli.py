"""The command `lmm`, as it is typed."""

import json
import os
import subprocess

import pytest

from tests.commands import BIN, run, text, write

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NOTES = f"# A\n\n{PROSE}"


def said(done):
    return done.stderr.decode()


def test_help_fits_a_screen_and_lists_the_rest_on_demand():
    shown, whole = (run(f"lmm --help{all}").stdout.decode() for all in ("", " --all"))
    assert len(shown.splitlines()) <= 42 and max(map(len, shown.splitlines())) <= 80
    assert "  rag " in shown and "  md-index" not in shown and "  md-index " in whole
    assert run("lmm help rag").stdout == run("lmm rag --help").stdout


def test_a_mistyped_command_is_named_with_the_nearest():
    done = run("lmm serch oak")
    assert (done.returncode, said(done)) == (2, "Error: There is no command 'serch'. Did you mean 'search'?\n")


@pytest.mark.parametrize("command", ["scan", "rag", "knit", "convert", "doctor"])
def test_every_command_explains_itself(command):
    done = run(f"lmm {command} -h")
    assert done.returncode == 0
    assert b"Usage" in done.stdout


def test_scan_shows_and_writes_nothing():
    write("notes.md", NOTES + "\n## B\n\nShort.\n")
    done = run("lmm scan notes.md")
    assert done.returncode == 0
    shown = done.stdout.decode()
    assert "notes.md: A" in shown
    assert "missing: questions" in shown
    assert "header: missing header" in shown
    assert text("notes.md") == NOTES + "\n## B\n\nShort.\n"


def test_scan_as_json():
    write("notes.md", NOTES)
    found = json.loads(run("lmm scan --json notes.md").stdout)
    assert found[0]["sections"][0]["missing"] == ["questions"]


def test_scan_reports_errors_with_file_and_line():
    write("notes.md", "# A\n\n::: lmm\n```yaml\na: [\n```\n:::\n\ntext\n\n```\nunclosed\n")
    done = run("lmm scan notes.md")
    assert done.returncode == 1
    assert "notes.md:6: unreadable-block invalid YAML" in said(done)
    assert "notes.md:11: not-closed a code fence starts here and is not closed" in said(done)


def test_a_name_in_a_message_steers_no_terminal():
    write("a\x1b[2J.md", "# A\n\n::: lmm\n```yaml\na: [\n```\n:::\n\ntext\n")
    done = run("lmm scan .")
    assert b"a[2J.md:6: " in done.stderr and b"\x1b" not in done.stderr


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


def test_signs_that_a_terminal_does_not_have_are_no_error():
    write("notes.md", "# Zebra 斑马\n\nText.\n")
    assert b"Zebra ??" in run("lmm scan notes.md", env={"PYTHONIOENCODING": "cp1252"}).stdout


def test_rag_writes_and_then_has_nothing_to_do():
    write("notes.md", NOTES)
    assert run("lmm rag notes.md").returncode == 0
    first = text("notes.md")
    assert "~questions" in first
    assert "0 of 1 files annotated" in said(run("lmm rag notes.md"))
    assert text("notes.md") == first


def test_rag_on_a_folder_takes_markdown_only():
    write("book/a.md", NOTES)
    write("book/part/b.qmd", NOTES)
    write("book/c.txt", NOTES)
    write("book/_site/d.md", NOTES)
    write("book/.hidden/e.md", NOTES)
    assert "2 of 2 files annotated" in said(run("lmm rag book"))
    assert text("book/c.txt") == NOTES
    assert text("book/_site/d.md") == NOTES


def test_check_writes_nothing_and_tells_by_its_status():
    write("notes.md", NOTES)
    assert run("lmm rag --check notes.md").returncode == 1
    assert text("notes.md") == NOTES
    run("lmm rag notes.md")
    assert run("lmm rag --check notes.md").returncode == 0


def test_diff_writes_nothing():
    write("notes.md", NOTES)
    done = run("lmm rag --diff notes.md")
    assert b"+~questions:" in done.stdout
    assert text("notes.md") == NOTES


def test_rag_as_json():
    write("notes.md", NOTES)
    assert json.loads(run("lmm rag --json notes.md").stdout)[0]["changed"] is True


def test_titles_and_no_summaries():
    write("notes.md", NOTES)
    run("lmm rag --titles --no-questions notes.md")
    assert "~titles: A" in text("notes.md")
    assert "~questions" not in text("notes.md")


def test_an_error_in_one_file_leaves_the_others_done():
    with open("a.md", "wb") as file:
        file.write(b"# A\n\ncaf\xe9\n")
    write("b.md", NOTES)
    done = run("lmm rag a.md b.md")
    assert done.returncode == 1
    assert "a.md:3: not UTF-8 (byte 8, 0xe9)" in said(done)
    assert "~questions" in text("b.md")


def test_a_missing_file_is_wrong_usage():
    done = run("lmm rag missing.md")
    assert done.returncode == 2
    assert "missing.md: no such file or folder" in said(done)


def test_a_wrong_setting_is_named():
    write("config.toml", "speling = 'div'\n")
    write("notes.md", NOTES)
    done = run("lmm rag notes.md")
    assert done.returncode == 2
    assert "unknown key `speling`" in said(done)


def test_a_setting_of_the_wrong_type_is_named():
    write("config.toml", "spelling = 3\n")
    write("notes.md", NOTES)
    assert "`spelling`" in said(run("lmm scan notes.md"))


def test_configured_spelling():
    write("config.toml", "spelling = 'native'\n")
    write("notes.md", NOTES)
    run("lmm rag notes.md")
    assert ":::" not in text("notes.md")


def test_the_environment_configures():
    write("notes.md", NOTES)
    run("lmm rag notes.md", env={"LMM_SPELLING": "native"})
    assert ":::" not in text("notes.md")


def test_knit_to_standard_output():
    write("notes.md", NOTES + "\n::: exercise\nSECRET\n:::\n")
    assert run("lmm knit notes.md").stdout.decode() == NOTES


def test_knit_a_folder():
    write("book/a.md", NOTES)
    write("book/part/b.md", NOTES)
    assert run("lmm knit book -o out").returncode == 0
    assert text("out/part/b.md") == NOTES


def test_scan_reports_a_slip_with_the_types_of_all_files():
    write("notes.md", NOTES + "\n---\ntyp: exercise\n---\n\nText.\n\n::: solutons\nText.\n:::\n")
    write("more.md", NOTES + "\n---\ntype: solution\n---\n\nText.\n")
    done = run("lmm scan notes.md more.md")
    assert done.returncode == 1
    assert "notes.md:6: near-miss unknown key 'typ': did you mean 'type'?" in said(done)
    assert "notes.md:11: near-miss unknown class 'solutons': did you mean 'solution'?" in said(done)
    assert "solutons" not in said(run("lmm scan notes.md"))


def test_knit_warns_of_a_slip():
    write("notes.md", NOTES + "\n::: exercises\nText.\n:::\n")
    done = run("lmm knit notes.md")
    assert done.returncode == 0
    assert said(done) == "notes.md:5: warning: unknown class 'exercises': did you mean 'exercise'?\n"
    write("config.toml", '[knit]\nallowed_words = ["exercises"]\n')
    assert said(run("lmm knit notes.md")) == ""


def test_a_list_as_a_block_is_reported_and_not_printed():
    write("notes.md", NOTES + "\n---\n- type: exercise\n- note: secret\n---\n\nText.\n")
    for command in ("scan", "knit", "rag -q"):
        done = run(f"lmm {command} notes.md")
        assert done.returncode == 1, command
        assert "notes.md:5: " in said(done)
        assert "put this in its place:\n---\ntype: exercise\nnote: secret\n---\n" in said(done)
        assert b"secret" not in done.stdout


def test_knit_over_its_source_is_refused():
    write("notes.md", NOTES + "\n::: exercise\nx\n:::\n")
    done = run("lmm knit notes.md -o notes.md")
    assert done.returncode == 2
    assert "over its own source" in said(done)


def test_knit_several_files_needs_a_folder():
    write("a.md", NOTES)
    write("b.md", NOTES)
    assert run("lmm knit a.md b.md").returncode == 2


def test_convert_there_and_back():
    source = f"---\ntitle: T\n---\n\n---\nkey: 1   # c\n---\n\n# A\n\n{PROSE}"
    write("notes.md", source)
    run("lmm convert --to div notes.md")
    assert "::: {.lmm .content-hidden}" in text("notes.md")
    run("lmm convert --to native notes.md")
    assert text("notes.md") == source


def test_a_file_that_cannot_be_written_is_reported():
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    write("folder/notes.md", NOTES)
    os.chmod("folder", 0o500)
    done = run("lmm rag folder/notes.md")
    os.chmod("folder", 0o700)
    assert done.returncode == 1
    assert text("folder/notes.md") == NOTES


def test_doctor_names_what_annotates():
    done = run("lmm doctor")
    assert b"extractive/default" in done.stdout
    assert done.returncode == 0


def test_doctor_misses_nothing_where_nothing_is_on_path():
    done = run(f"'{BIN}/lmm' doctor --json", env={"PATH": "/nowhere"})
    found = {finding["what"]: finding for finding in json.loads(done.stdout)}
    assert (done.returncode, found["pandoc"]["ok"], found["pandoc"]["optional"]) == (0, False, True)
    assert "lmm doctor --link" in found["pandoc"]["advice"]


def test_module_is_the_command():
    import sys

    assert b"Usage" in run(f"'{sys.executable}' -m lmm_core --help").stdout


def test_an_error_that_is_not_about_usage_comes_without_it():
    assert said(run("lmm rag missing.md")) == "Error: missing.md: no such file or folder\n"
    assert said(run("lmm rag")).startswith("Usage: lmm rag [OPTIONS] FILES…\n\nError: Missing argument")


@pytest.mark.skipif(os.name == "nt", reason="a pseudo-terminal")
@pytest.mark.parametrize(("variable", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_errors_and_warnings_have_colours_on_a_terminal(variable, coloured):
    write("notes.md", f"---\ntitle: A: B\n---\n\n{NOTES}")
    screen, terminal = os.openpty()
    for command in ("lmm scan notes.md", "lmm doctor", "lmm serch"):
        subprocess.run(
            [BIN / "lmm", *command.split()[1:]], stdout=terminal, stderr=terminal, env={**os.environ, **variable}
        )
    shown = os.read(screen, 100_000).decode()
    assert "invalid YAML: a value holds a colon: put the value in quotes" in shown
    for words, style in (("unreadable-block ", 31), ("ok", 32), ("..", 2), ("Error: ", "1;31")):
        assert (f"\x1b[{style}m{words}\x1b[0m" in shown) is coloured
    assert ("\x1b" in shown) is coloured
