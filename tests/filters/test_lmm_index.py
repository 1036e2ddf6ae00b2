"""`pandoc -F lmm-index`: the document is indexed, and goes on as it came."""

import re

import pytest

from tests.commands import pandocs, run, text, write
from tests.filter_texts import ok
from tests.indexing import LONG, document, found, make_earlier, stored

NATIVE = f"---\ntitle: T\ndocid: mine\n---\n\n# A\n\nThe residual is explained, {LONG}\n\n---\ntype: exercise\n---\n\n## Practice\n\nCompute it, {LONG}\n"
DIVS = NATIVE.replace("---\ntype: exercise\n---", "::: lmm\n```yaml\ntype: exercise\n```\n:::")


@pytest.fixture
def any_pandoc():
    """One pandoc, where it does not matter which."""
    return pandocs()[0]


def test_the_output_is_pandocs_own(pandoc):
    write("notes.md", document("alpha", "beta"))
    ok("pandoc notes.md -s -o plain.html", pandoc)
    done = ok("pandoc -F lmm-index notes.md -s -o notes.html", pandoc)
    assert text("notes.html") == text("plain.html")
    assert b"2 chunks written, 0 removed, 0 unchanged" in done.stderr
    done = ok("pandoc -F lmm-index notes.md -t latex -o notes.tex", pandoc)
    assert b"0 chunks written, 0 removed, 2 unchanged" in done.stderr
    assert {one["docid"] for one in stored().values()} == {"notes.md"}


@pytest.mark.parametrize("source", [NATIVE, DIVS], ids=["native", "divs"])
def test_metadata_is_indexed_and_shown_in_markdown_alone(source, pandoc):
    write("notes.md", source)
    shown = ok("pandoc -F lmm-index notes.md -t html", pandoc).stdout.decode()
    assert "lmm" not in shown and "exercise" not in shown
    assert "Compute it" in shown
    assert sorted(chunk.get("type", "") for chunk in stored().values()) == ["", "exercise"]
    ok("pandoc -F lmm-index notes.md -t markdown -o out.md", pandoc)
    assert text("out.md") == source


def test_after_rag_the_fresh_annotations_are_indexed(any_pandoc):
    sentences = "\n\n".join(f"Sentence {n} of many, {LONG}" for n in range(5))
    head = f"---\ntitle: T\n---\n\n# What is a residual?\n\nA residual is the distance between a point and the line, {LONG}"
    write("notes.md", f"{head}\n\n{sentences}\n")
    assert b"questions" not in ok("pandoc -F lmm-rag -F lmm-index notes.md -t html", any_pandoc).stdout
    assert {chunk.get("type") for chunk in stored().values()} == {None, "summary"}
    assert found("--type summary residual")


def test_before_knit_and_not_after(any_pandoc):
    write("notes.md", NATIVE)
    done = ok("pandoc -F lmm-index -F lmm-knit notes.md -t html", any_pandoc)
    assert b"Compute it" not in done.stdout
    assert len(stored()) == 2
    done = run("pandoc -F lmm-knit -F lmm-index notes.md -o out.html", any_pandoc)
    assert done.returncode != 0
    assert b"Put -F lmm-index before -F lmm-knit" in done.stderr
    assert len(stored()) == 2


def test_standard_input_needs_a_docid(any_pandoc):
    done = run("pandoc -F lmm-index -t html", any_pandoc, stdin=document("alpha"))
    assert done.returncode != 0
    assert b"Give the document a `docid` in its header" in done.stderr


def test_standard_input_with_a_docid_is_kept_by_prune(pandoc):
    ok("pandoc -F lmm-index -t html", pandoc, stdin=DIVS)
    write("other.md", document("alpha"))
    ok("lmm index other.md --prune", None)
    assert {chunk["docid"] for chunk in stored().values()} == {"mine", "other.md"}


def test_the_command_and_the_filter_agree(any_pandoc):
    write("notes.md", NATIVE)
    ok("lmm index notes.md", None)
    before = stored()
    ok("pandoc -F lmm-index notes.md -t html", any_pandoc)
    assert stored() == before


@pytest.mark.parametrize(
    ("config", "header"),
    [
        ('[storage]\nurl = "http://127.0.0.1:9"\n', ""),
        ('[embeddings]\nencoding = "hybrid"\n', ""),
        ("", "split: {siez: 3}"),
    ],
    ids=["no server", "a wrong encoding", "wrong split options"],
)
def test_a_failure_does_not_keep_the_document_back(config, header, any_pandoc):
    write("config.toml", config)
    write("notes.md", document("alpha", header=header))
    plain = ok("pandoc notes.md -t html", any_pandoc)
    done = ok("pandoc -F lmm-index notes.md -t html", any_pandoc)
    assert done.stdout == plain.stdout
    assert re.search(rb"lmm-index: .*not indexed: ", done.stderr)
    assert done.stderr.count(b"\n") == 1


def test_an_index_of_an_earlier_version_stays_and_is_named(any_pandoc):
    write("notes.md", document("alpha"))
    ok("pandoc -F lmm-index notes.md -o notes.html", any_pandoc)
    make_earlier()
    before = stored()
    done = run("pandoc -F lmm-index notes.md -o notes.html", any_pandoc)
    assert b"was made by an earlier version of LM markdown. Run `lmm index FILES`, which makes it anew." in done.stderr
    assert stored() == before
