"""`pandoc -F lmm-index`: the document is indexed, and goes on as it came."""

import re

import pytest

from tests.commands import run, text, write
from tests.filter_texts import ok
from tests.indexing import LONG, document, found, stored

NATIVE = f"---\ntitle: T\ndocid: mine\n---\n\n# A\n\nThe residual is explained, {LONG}\n\n---\ntype: exercise\n---\n\n## Practice\n\nCompute it, {LONG}\n"
DIVS = NATIVE.replace("---\ntype: exercise\n---", "::: lmm\n```yaml\ntype: exercise\n```\n:::")


def test_the_output_is_pandocs_own(pandoc):
    write("notes.md", document("alpha", "beta"))
    ok("pandoc notes.md -s -o plain.html", pandoc)
    done = ok("pandoc -F lmm-index notes.md -s -o notes.html", pandoc)
    assert text("notes.html") == text("plain.html")
    assert b"2 chunks written, 0 removed, 0 unchanged" in done.stderr
    done = ok("pandoc -F lmm-index notes.md -t latex -o notes.tex", pandoc)
    assert b"0 chunks written, 0 removed, 2 unchanged" in done.stderr
    assert {one["docid"] for one in stored().values()} == {"notes.md"}


def test_metadata_is_indexed_as_by_the_command_and_shown_in_markdown_alone(pandoc):
    write("notes.md", NATIVE)
    shown = ok("pandoc -F lmm-index notes.md -t html", pandoc).stdout.decode()
    assert "lmm" not in shown and "exercise" not in shown
    assert "Compute it" in shown
    before = stored()
    assert sorted(chunk.get("type", "") for chunk in before.values()) == ["", "exercise"]
    ok("pandoc -F lmm-index notes.md -t markdown -o out.md", pandoc)
    assert text("out.md") == NATIVE
    ok("lmm index notes.md", None)
    assert stored() == before


def test_after_rag_the_fresh_annotations_are_indexed(pandoc):
    sentences = "\n\n".join(f"Sentence {n} of many, {LONG}" for n in range(5))
    head = f"---\ntitle: T\n---\n\n# What is a residual?\n\nA residual is the distance between a point and the line, {LONG}"
    write("notes.md", f"{head}\n\n{sentences}\n")
    assert b"questions" not in ok("pandoc -F lmm-rag -F lmm-index notes.md -t html", pandoc).stdout
    assert {chunk.get("type") for chunk in stored().values()} == {None, "summary"}
    assert found("--type summary residual")


def test_before_knit_and_not_after(pandoc):
    write("notes.md", NATIVE)
    done = ok("pandoc -F lmm-index -F lmm-knit notes.md -t html", pandoc)
    assert b"Compute it" not in done.stdout
    assert len(stored()) == 2
    done = run("pandoc -F lmm-knit -F lmm-index notes.md -o out.html", pandoc)
    assert done.returncode != 0
    assert b"Put -F lmm-index before -F lmm-knit" in done.stderr
    assert len(stored()) == 2


def test_standard_input_needs_a_docid_and_is_kept_by_prune(pandoc):
    done = run("pandoc -F lmm-index -t html", pandoc, stdin=document("alpha"))
    assert done.returncode != 0
    assert b"Give the document a `docid` in its header" in done.stderr
    ok("pandoc -F lmm-index -t html", pandoc, stdin=DIVS)
    write("other.md", document("alpha"))
    ok("lmm index other.md --prune", None)
    assert {chunk["docid"] for chunk in stored().values()} == {"mine", "other.md"}


@pytest.mark.parametrize(
    ("config", "header"),
    [('[storage]\nurl = "http://127.0.0.1:9"\n', ""), ("", "split: {siez: 3}")],
    ids=["no server", "wrong split options"],
)
def test_a_failure_does_not_keep_the_document_back(config, header, pandoc):
    write("config.toml", config)
    write("notes.md", document("alpha", header=header))
    plain = ok("pandoc notes.md -t html", pandoc)
    done = ok("pandoc -F lmm-index notes.md -t html", pandoc)
    assert done.stdout == plain.stdout
    assert re.search(rb"lmm-index: .*not indexed: ", done.stderr)
    assert done.stderr.count(b"\n") == 1
