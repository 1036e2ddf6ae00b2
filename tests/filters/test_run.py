"""Every way in which people start pandoc."""

import json
import os
import re
import stat

import pytest

from tests.commands import run, text, write
from tests.real_files import spread

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NOTES = f"# A\n\n{PROSE}"
NATIVE = f"---\ntitle: T\n---\n\n# A\n\n{PROSE}\n---\ntype: exercise\n---\n\n## Practice\n\nSECRET\n"
DIVS = f"---\ntitle: T\n---\n\n# A\n\n{PROSE}\n::: lmm\n```yaml\ntype: exercise\n```\n:::\n\n## Practice\n\nSECRET\n"
FOREIGN = "function Str(el) el.text = el.text:gsub('residual', 'RESIDUAL'); return el end\n"


def ok(command, pandoc, **options):
    done = run(command, pandoc, **options)
    assert done.returncode == 0, done.stderr.decode()
    return done


@pytest.mark.parametrize("source", [NATIVE, DIVS], ids=["native", "divs"])
@pytest.mark.parametrize("target", ["html", "latex", "docx", "gfm", "plain", "json", "rst"])
def test_knit_to_any_target(source, target, pandoc):
    write("notes.md", source)
    done = ok(f"pandoc -F lmm-knit notes.md -s -t {target} -o out", pandoc)
    assert done.stderr == b""
    if target == "docx":
        ok("pandoc -f docx -t plain out -o plain.txt", pandoc)
    out = text("plain.txt" if target == "docx" else "out")
    assert "residual" in out
    assert "SECRET" not in out
    assert "Practice" not in out
    assert "lmm" not in re.sub(r"lmm-markdown", "", out)


@pytest.mark.parametrize("source", [NATIVE, DIVS], ids=["native", "divs"])
def test_knit_to_markdown(source, pandoc):
    write("notes.md", source)
    ok("pandoc -F lmm-knit notes.md -t markdown -o out.md", pandoc)
    assert text("out.md") == f"---\ntitle: T\n---\n\n# A\n\n{PROSE}"


@pytest.mark.slow
def test_knit_of_plain_notes_is_pandocs_own_html(real_place, pandoc):
    for file in spread(real_place, 4):
        ok(f"pandoc '{file}' -o plain.html", pandoc)
        ok(f"pandoc -F lmm-knit '{file}' -o knit.html", pandoc)
        assert text("knit.html") == text("plain.html"), file


def test_knit_of_annotated_notes_is_pandocs_html_of_the_plain(real_place, pandoc):
    for file in spread(real_place, 2):
        write("notes.md", text(file))
        ok("pandoc notes.md -o plain.html", pandoc)
        for spelling in ("div", "native"):
            ok(f"pandoc -F lmm-rag -M lmm-spelling={spelling} '{file}' -t markdown -o {spelling}.md", pandoc)
            ok(f"pandoc -F lmm-knit {spelling}.md -o knit.html", pandoc)
            assert text("knit.html") == text("plain.html"), file


def test_title_of_a_block_inside_is_not_the_documents(pandoc):
    write("notes.md", "---\ntitle: Mine\n---\n\n---\ntitle: Not mine\n---\n\n# A\n")
    assert b"<title>Mine</title>" in ok("pandoc -F lmm-knit -s -t html notes.md", pandoc).stdout


# Chains


@pytest.mark.parametrize("source", [NATIVE, DIVS], ids=["native", "divs"])
@pytest.mark.parametrize("target", ["html", "markdown"])
def test_rag_then_knit(source, target, pandoc):
    write("notes.md", source)
    chained = ok(f"pandoc -F lmm-rag -F lmm-knit notes.md -t {target}", pandoc)
    alone = ok(f"pandoc -F lmm-knit notes.md -t {target}", pandoc)
    assert chained.stdout == alone.stdout
    assert b"SECRET" not in chained.stdout


@pytest.mark.parametrize("source", [NATIVE, DIVS], ids=["native", "divs"])
def test_a_foreign_filter_between_ours_keeps_its_effect(source, pandoc):
    write("notes.md", source)
    write("foreign.lua", FOREIGN)
    done = ok("pandoc -F lmm-rag -L foreign.lua -F lmm-knit notes.md -t html", pandoc)
    assert b"RESIDUAL" in done.stdout
    assert b"SECRET" not in done.stdout
    assert b"lmm" not in done.stdout


def test_a_foreign_filter_before_ours(pandoc):
    write("notes.md", DIVS)
    write("foreign.lua", FOREIGN)
    done = ok("pandoc -L foreign.lua -F lmm-knit notes.md -t html", pandoc)
    assert b"RESIDUAL" in done.stdout
    assert b"SECRET" not in done.stdout


def test_a_foreign_filter_before_ours_on_native_blocks_stops(pandoc):
    write("notes.md", NATIVE)
    write("foreign.lua", FOREIGN)
    done = run("pandoc -L foreign.lua -F lmm-knit notes.md -o out.html", pandoc)
    assert done.returncode != 0
    assert b"their places are lost" in done.stderr
    assert not os.path.exists("out.html")


def test_a_foreign_filter_that_changes_nothing_leaves_the_source(pandoc):
    write("notes.md", NATIVE)
    write("foreign.lua", "function Str(el) return el end\n")
    done = ok("pandoc -L foreign.lua -F lmm-rag notes.md -o out.md", pandoc)
    assert done.stderr == b""
    assert text("out.md").count("type: exercise") == 1


def test_a_foreign_filter_after_ours_is_warned_of(pandoc):
    write("notes.md", NOTES)
    write("foreign.lua", FOREIGN)
    done = ok("pandoc -F lmm-rag -L foreign.lua notes.md -t markdown", pandoc)
    assert b"without effect are -F foreign.lua" in done.stderr


def test_a_panflute_filter_beside_ours(pandoc):
    write("notes.md", DIVS)
    path = write("foreign.py", "#!/usr/bin/env python\nimport panflute as pf\npf.run_filter(lambda e, d: None)\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    done = ok("pandoc -F ./foreign.py -F lmm-knit notes.md -t html", pandoc)
    assert b"residual" in done.stdout
    assert b"SECRET" not in done.stdout


# Where the text comes from


def test_several_input_files(pandoc):
    write("one.md", f"---\ntitle: One\n---\n\n# A\n\n{PROSE}".rstrip("\n"))
    write("two.md", f"---\nauthor: B\n---\n\n# B\n\n{PROSE}")
    ok("pandoc -F lmm-rag one.md two.md -o all.md", pandoc)
    assert text("all.md").count("~questions") == 2
    assert "---\nauthor: B\n" in text("all.md")
    assert text("all.md").count(PROSE) == 2
    assert text("two.md").startswith("---\nauthor: B\n---\n\n# B\n")


def test_errors_in_several_files_name_the_file(pandoc):
    write("one.md", "# A\n\ntext\n")
    write("two.md", "# B\n\n::: lmm\n```yaml\na: [\n```\n:::\n\ntext\n")
    done = ok("pandoc -F lmm-rag one.md two.md -o all.md", pandoc)
    assert b"two.md:" in done.stderr


def test_standard_input_without_blocks(pandoc):
    done = ok("pandoc -F lmm-rag -t markdown", pandoc, stdin=f"---\ntitle: T\n---\n\n{NOTES}")
    assert b"~questions" in done.stdout
    assert b"title: T" in done.stdout
    assert b"rewrites the text" in done.stderr


def test_standard_input_with_divs(pandoc):
    done = ok("pandoc -F lmm-knit -t html", pandoc, stdin=DIVS)
    assert b"SECRET" not in done.stdout


def test_standard_input_with_native_blocks_stops(pandoc):
    done = run("pandoc -F lmm-knit -t html -o out.html", pandoc, stdin=NATIVE)
    assert done.returncode != 0
    assert b"their places are lost" in done.stderr
    assert b"pandoc -F lmm-knit FILE" in done.stderr
    assert not os.path.exists("out.html")


def test_source_named_for_standard_input(pandoc):
    write("notes.md", NATIVE)
    done = ok("pandoc -F lmm-knit -M lmm-source=notes.md -t html", pandoc, stdin=NATIVE)
    assert b"SECRET" not in done.stdout


def test_a_path_with_spaces_outside_the_folder(pandoc):
    write("a folder/my notes.md", NOTES)
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    ok("pandoc -F lmm-rag '../a folder/my notes.md' -o '../a folder/my notes.md'", pandoc)
    assert "~questions" in text("../a folder/my notes.md")
    assert "~docid: my notes.md" in text("../a folder/my notes.md")


def test_docid_from_the_projects_root(pandoc):
    write("_quarto.yml", "")
    write("part/notes.md", NOTES)
    ok("pandoc -F lmm-rag part/notes.md -o part/notes.md", pandoc)
    assert "~docid: part/notes.md" in text("part/notes.md")


def test_defaults_file(pandoc):
    write("notes.md", NATIVE)
    write("knit.yaml", "from: markdown\nto: html\ninput-files: [notes.md]\nfilters: [lmm-rag, lmm-knit]\n")
    done = ok("pandoc --defaults knit.yaml", pandoc)
    assert b"residual" in done.stdout
    assert b"SECRET" not in done.stdout


def test_defaults_file_that_writes_the_source(pandoc):
    write("notes.md", NATIVE)
    write("rag.yaml", "input-file: notes.md\noutput-file: notes.md\nfilters:\n- type: json\n  path: lmm-rag\n")
    ok("pandoc -d rag", pandoc)
    assert text("notes.md").count("~questions") == 1
    assert text("notes.md").count("type: exercise") == 1


def test_shifted_headings(pandoc):
    write("notes.md", NATIVE)
    write("foreign.lua", "function Str(el) return el end\n")
    done = ok("pandoc -L foreign.lua -F lmm-knit --shift-heading-level-by=1 notes.md -t html", pandoc)
    assert b"<h2" in done.stdout
    assert b"SECRET" not in done.stdout


def test_reader_without_metadata_blocks(pandoc):
    """The way for keys that pandoc's YAML refuses: it then leaves the blocks alone."""
    write("notes.md", f"---\ntitle: T\n---\n\n---\n?: Is #3 right: yes or no?\n---\n\n# A\n\n{PROSE}")
    ok("pandoc -f markdown-yaml_metadata_block -F lmm-rag notes.md -o out.md", pandoc)
    assert "?: Is #3 right: yes or no?\n~questions:" in text("out.md")
    done = ok("pandoc -f markdown-yaml_metadata_block -F lmm-knit -s notes.md -t html", pandoc)
    assert b"yes or no" not in done.stdout
    assert b"<title>T</title>" in done.stdout


@pytest.mark.parametrize("reader", ["gfm", "commonmark_x", "commonmark"])
def test_other_markdown_readers(reader, pandoc):
    write("notes.md", NATIVE)
    ok(f"pandoc -f {reader} -F lmm-rag notes.md -t markdown -o out.md", pandoc)
    assert text("out.md").count("~questions") == 1
    done = ok(f"pandoc -f {reader} -F lmm-knit notes.md -t html", pandoc)
    assert b"residual" in done.stdout
    assert b"SECRET" not in done.stdout


def test_another_reader_goes_by_elements(pandoc):
    write("notes.rst", "A\n=\n\n" + PROSE)
    done = ok("pandoc -F lmm-rag notes.rst -t markdown", pandoc)
    assert b"~questions" in done.stdout


def test_from_make(pandoc):
    write("notes.md", NATIVE)
    write("Makefile", f"notes.html: notes.md\n\t@'{pandoc}' -F lmm-knit $< -o $@\n")
    ok("make notes.html", pandoc)
    assert "SECRET" not in text("notes.html")


def test_from_pypandoc(pandoc, monkeypatch):
    pypandoc = pytest.importorskip("pypandoc")
    monkeypatch.setenv("PYPANDOC_PANDOC", pandoc)
    pypandoc.clean_pandocpath_cache()
    write("notes.md", NATIVE)
    html = pypandoc.convert_file("notes.md", "html", filters=["lmm-knit"])
    assert "residual" in html
    assert "SECRET" not in html


# Options


def test_save_annotations_while_writing_html(pandoc):
    write("notes.md", NATIVE)
    ok("pandoc -F lmm-rag -F lmm-knit -M lmm-save=saved.md notes.md -o notes.html", pandoc)
    assert "~questions" in text("saved.md")
    assert "SECRET" in text("saved.md")
    assert "SECRET" not in text("notes.html")


def test_save_over_the_source(pandoc):
    write("notes.md", NATIVE)
    ok("pandoc -F lmm-rag -M lmm-save=notes.md notes.md -o notes.html", pandoc)
    assert "~questions" in text("notes.md")


def test_save_that_cannot_be_written_is_reported(pandoc):
    write("notes.md", NOTES)
    done = ok("pandoc -F lmm-rag -M lmm-save=no/such/folder.md notes.md -o out.md", pandoc)
    assert b"lmm-save" in done.stderr
    assert "~questions" in text("out.md")


def test_nothing_keeps_annotations_in_html(pandoc):
    write("notes.md", NATIVE)
    done = ok("pandoc -F lmm-rag notes.md -t html", pandoc)
    assert b"lmm-save" in done.stderr
    assert b"lmm" not in done.stdout


def test_options_in_the_header(pandoc):
    write("notes.md", "---\nlmm:\n  div-types: [solution]\n---\n\n# A\n\ntext\n\n::: solution\nSECRET\n:::\n")
    assert b"SECRET" not in ok("pandoc -F lmm-knit notes.md -t html", pandoc).stdout


def test_the_configuration_keeps_types(pandoc):
    write("notes.md", NATIVE)
    write("config.toml", "[knit]\nkeep = ['exercise']\n")
    assert b"SECRET" in ok("pandoc -F lmm-knit notes.md -t html", pandoc).stdout


def test_more_div_types_as_an_option(pandoc):
    write("notes.md", "# A\n\ntext\n\n::: solution\nSECRET\n:::\n")
    done = ok("pandoc -F lmm-knit -M lmm-div-types=solution notes.md -t html", pandoc)
    assert b"SECRET" not in done.stdout


def test_an_unknown_option_is_named(pandoc):
    write("notes.md", NOTES)
    assert b"lmm-kep" in ok("pandoc -F lmm-knit -M lmm-kep=x notes.md -t html", pandoc).stderr


def test_a_wrong_setting_stops(pandoc):
    write("config.toml", "[knit]\nkep = ['exercise']\n")
    write("notes.md", NOTES)
    done = run("pandoc -F lmm-knit notes.md -o out.html", pandoc)
    assert done.returncode != 0
    assert b"config.toml" in done.stderr
    assert b"knit.kep" in done.stderr


def test_writer_options_without_effect_are_named(pandoc):
    write("notes.md", NOTES)
    done = ok("pandoc -F lmm-rag --wrap=none --toc -s notes.md -t markdown", pandoc)
    assert b"--wrap, --toc" in done.stderr


# Refusals


@pytest.mark.parametrize("name", ["notes.qmd", "notes.Rmd", "notes.html"])
def test_writing_another_format_over_the_source_is_refused(name, pandoc):
    write(name, NATIVE)
    done = run(f"pandoc -f markdown -F lmm-rag {name} -o {name}", pandoc)
    assert done.returncode != 0
    assert b"-t markdown" in done.stderr
    assert text(name) == NATIVE


def test_the_source_saved_meanwhile_is_not_overwritten(pandoc):
    """A filter after which the file changes, and before which ours has read it."""
    write("notes.md", NOTES)
    slow = "import sys, time\nfrom lmm_filters import document, lmm_rag, pass_run\n" \
        "inner = document.write_text\n" \
        "def write_text(d, t):\n    open('notes.md', 'a').write('saved by an editor\\n')\n    inner(d, t)\n" \
        "pass_run.write_text = write_text\nlmm_rag.main()\n"  # fmt: skip
    path = write("lmm-rag", "#!/usr/bin/env python\n" + slow)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    done = run("pandoc -F ./lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode != 0
    assert b"changed on disk" in done.stderr
    assert text("notes.md") == NOTES + "saved by an editor\n"


def test_not_utf8(pandoc):
    with open("notes.md", "wb") as file:
        file.write(b"# A\n\ncaf\xe9\n")
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode != 0
    assert open("notes.md", "rb").read() == b"# A\n\ncaf\xe9\n"


def test_raw_formats_that_panflute_does_not_know(pandoc):
    write("notes.md", "```{=typst}\n#line()\n```\n\n" + DIVS)
    done = ok("pandoc -F lmm-knit notes.md -t json", pandoc)
    assert "typst" in json.dumps(json.loads(done.stdout))
