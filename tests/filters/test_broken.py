"""What a stranger tried, and broke once."""

import os
import re
import zipfile

import pytest

from tests.commands import run, text, write

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NATIVE = f"---\ntitle: T\n---\n\n# A\n\n{PROSE}\n---\ntype: exercise\n---\n\n## Practice\n\nSECRET\n"


def ok(command, pandoc, **options):
    done = run(command, pandoc, **options)
    assert done.returncode == 0, done.stderr.decode()
    return done


@pytest.mark.parametrize("chain", ["-F lmm-rag -F lmm-rag", "-F lmm-rag -F lmm-knit"])
def test_the_mark_of_a_chain_stays_out_of_the_file(chain, pandoc):
    write("notes.md", NATIVE)
    for target in ("markdown", "json", "html"):
        assert b"lmm-chain" not in ok(f"pandoc -s {chain} notes.md -t {target}", pandoc).stdout


def test_rag_twice_in_one_run_is_rag_once(pandoc):
    write("notes.md", NATIVE)
    once = ok("pandoc -s -F lmm-rag notes.md -t markdown", pandoc).stdout
    assert ok("pandoc -s -F lmm-rag -F lmm-rag notes.md -t markdown", pandoc).stdout == once


def test_a_mark_from_somewhere_else_means_nothing(pandoc):
    write("notes.md", NATIVE)
    assert b"SECRET" not in ok("pandoc -F lmm-knit -M lmm-chain=foo notes.md -t html", pandoc).stdout


def test_a_file_saved_meanwhile_is_kept_with_defaults_too(pandoc):
    write("notes.md", NATIVE)
    write("d.yaml", "filters: [./lmm-rag]\n")
    write("lmm-rag", '#!/bin/sh\necho saved >> notes.md\nexec lmm-rag "$@"\n').chmod(0o755)
    done = run("pandoc -d d notes.md -o notes.md", pandoc)
    assert done.returncode != 0
    assert text("notes.md") == NATIVE + "saved\n"


def test_an_unclosed_exercise_goes_with_what_follows_and_is_an_error(pandoc):
    write("notes.md", "# A\n\nBefore.\n\n::: exercise\n\nText.\n\n## B\n\nAfter.\n")
    done = ok("pandoc -F lmm-knit notes.md -t html", pandoc)
    assert b"Before." in done.stdout
    assert b"Text." not in done.stdout + run("lmm knit notes.md").stdout
    assert b"notes.md:5: a RAG-only div starts here and is not closed" in done.stderr
    assert run("lmm knit notes.md").returncode == 1


def test_code_that_pandoc_takes_for_text(pandoc):
    chunk = "```{r, eval=FALSE}\nx <- 1\n\ny <- 2\n```\n"
    write("notes.md", f"# A\n\n{chunk}\n## B\n\n{PROSE}\n{chunk}")
    plain = ok("pandoc notes.md -t html", pandoc).stdout
    ok("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert ok("pandoc -F lmm-knit notes.md -t html", pandoc).stdout == plain


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


def test_a_word_file_holds_none_of_our_keys(pandoc):
    write("notes.md", NATIVE.replace("title: T\n", "title: T\nquestions=: Q\nquery: Is it?\ntype: x\nmodel: m\n"))
    ok("pandoc -F lmm-knit -M lmm-keep=topic notes.md -o notes.docx", pandoc)
    with zipfile.ZipFile("notes.docx") as file:
        names = [name for name in file.namelist() if name.startswith("docProps/")]
        properties = b"".join(file.read(name) for name in names).decode()
    assert re.findall(r"lmm|questions|query|SECRET|>m<", properties) == []


@pytest.mark.parametrize("reader", ["markdown-fenced_divs", "commonmark_x-fenced_divs"])
def test_readers_without_divs(reader, pandoc):
    write("notes.md", "# A\n\ntext\n\n::: exercise\nSECRET\n:::\n")
    assert b"SECRET" not in ok(f"pandoc -f {reader} -F lmm-knit notes.md -t html", pandoc).stdout


def test_a_header_with_a_remark(pandoc):
    write("notes.md", f"--- # mine\ntitle: T\n---\n\n# A\n\n{PROSE}")
    ok("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    shown = ok("pandoc -F lmm-knit -s notes.md -t html", pandoc).stdout
    assert b"<title>T</title>" in shown
    assert b"hash" not in shown


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


@pytest.mark.parametrize("depth", [16, 400])
def test_nested_divs(depth, pandoc):
    inside = "::: exercise\nSECRET\n:::\n\nStays.\n"
    write("notes.md", "".join(f"{':' * 3} n{i}\n" for i in range(depth)) + "\n" + inside + ":::\n" * depth)
    assert b"Stays." in ok("lmm knit notes.md", pandoc).stdout
    assert run("lmm rag notes.md").returncode == 0
    shown = ok("pandoc -F lmm-knit notes.md -t html", pandoc).stdout
    assert b"Stays." in shown
    assert b"SECRET" not in shown


def test_elements_that_pandoc_writes_in_another_way(pandoc):
    wide = "| a | b |\n|---|---|\n| " + "word " * 30 + "| " + "more " * 30 + "|\n"
    source = f"---\ntitle: T\n---\n\n# A\n\n{PROSE}\n{wide}\n## B\n\n{PROSE}"
    done = ok("pandoc -F lmm-rag -t markdown", pandoc, stdin=source)
    assert done.stdout.count(b"~questions") == 2
    assert b"not annotated" not in done.stderr


def test_our_keys_come_out_of_the_element_route_as_we_wrote_them(pandoc):
    quoted = '"Look at *your* data" is what [they] say most often, and with $10 it is said in every chapter. ' + PROSE
    write("notes.md", f"---\ntitle: T\ndocid: d\n---\n\n# A\n\n{quoted * 3}")
    write("foreign.lua", "function Pandoc(doc) doc.meta.seen = 'yes'; return doc end\n")
    ok("pandoc -L foreign.lua -F lmm-rag notes.md -o out.md", pandoc)
    done = run("lmm scan out.md")
    assert b"stale" not in done.stdout
    assert "corrected" not in ok("lmm rag out.md", pandoc).stderr.decode()


def test_saving_over_the_source_that_is_also_the_output(pandoc):
    write("notes.md", NATIVE)
    ok("pandoc -F lmm-rag -M lmm-save=notes.md notes.md -o notes.md", pandoc)
    assert "~questions" in text("notes.md")


def test_a_source_that_is_not_there_is_named(pandoc):
    done = run("pandoc -F lmm-knit -M lmm-source=nope.md -t html", pandoc, stdin="text\n")
    assert b"no such file: nope.md" in done.stderr


def test_broken_yaml_is_reported_when_knitting(pandoc):
    write("notes.md", "# A\n\n::: lmm\n```yaml\na: [\n```\n:::\n\n## B\n\ntext\n")
    done = ok("pandoc -F lmm-knit notes.md -t html", pandoc)
    assert b"notes.md:6: invalid YAML" in done.stderr
    assert b"a: [" not in done.stdout


def test_native_blocks_inside_divs(pandoc):
    write("notes.md", "# A\n\n::: note\nStays.\n\n---\ntype: exercise\n---\n\nSECRET\n:::\n")
    assert b"SECRET" not in ok("pandoc -F lmm-knit notes.md -t html", pandoc).stdout


@pytest.mark.parametrize("value", ["&a {b: *a}", "&a [*a]"])
def test_aliases_that_hold_themselves(value):
    write("notes.md", f"# A\n\n::: lmm\n```yaml\na: {value}\n```\n:::\n\n## B\n\n{PROSE}")
    done = run("lmm rag notes.md")
    assert done.returncode == 1
    assert b"holds itself" in done.stderr
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


@pytest.mark.parametrize(
    "hidden",
    [
        "> ::: exercise\n> SECRET\n> :::\n",
        "[^1]: ::: exercise\n    SECRET\n    :::\n",
        "Term\n\n:   ::: topic\n    SECRET\n    :::\n",
        '<div class="exercise">\n\nSECRET\n\n</div>\n',
        "- a\n\n  ::: exercise\n  ```\n  :::\n  ```\n\n  SECRET\n  :::\n\n- b\n",
    ],
)
def test_exercises_in_odd_places_are_left_out_by_every_way(hidden, pandoc):
    write("notes.md", f"# A\n\nStays.\n\n{hidden}\nStays, too.\n")
    for command in ("pandoc -F lmm-knit notes.md -t html", "lmm knit notes.md"):
        shown = ok(command, pandoc).stdout
        assert b"SECRET" not in shown, command
        assert b"Stays, too." in shown, command


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


@pytest.mark.slow
def test_many_divs_take_linear_time():
    from time import process_time

    from lmm_core.markdown.rag_only import KnitRules
    from lmm_core.scan.knit import strip_divs

    for one in ("::: lmm\n```yaml\ntype: exercise\n```\n:::\n\ntext\n\n", "::: exercise\nx\n:::\n\n", "::: note\n\n"):
        started = process_time()
        strip_divs("::: outer\n\n" + one * 300 + ":::\n", KnitRules())
        assert process_time() - started < 2, one
