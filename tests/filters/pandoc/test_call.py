"""Several filters in one run of pandoc, ours and foreign ones."""

from pathlib import Path

import pytest

from filters.pandoc.call import FilterCall, read_call
from filters.pandoc.run import PandocRun
from tests.commands import write
from tests.filter_texts import DIVS, FOREIGN, NATIVE, ok


@pytest.mark.parametrize(("source", "target"), [(NATIVE, "html"), (DIVS, "markdown")], ids=["native", "divs"])
def test_rag_then_knit(source, target, pandoc):
    write("notes.md", source)
    chained = ok(f"pandoc -F lmm-rag -F lmm-knit notes.md -t {target}", pandoc)
    alone = ok(f"pandoc -F lmm-knit notes.md -t {target}", pandoc)
    assert chained.stdout == alone.stdout
    assert b"SECRET" not in chained.stdout


@pytest.mark.parametrize(
    ("source", "filters"),
    [
        (NATIVE, "-F lmm-rag -L foreign.lua -F lmm-knit"),
        (DIVS, "-L foreign.lua -F lmm-knit"),
    ],
)
def test_a_foreign_filter_keeps_its_effect(source, filters, pandoc):
    write("notes.md", source)
    write("foreign.lua", FOREIGN)
    shown = ok(f"pandoc {filters} notes.md -t html", pandoc).stdout
    assert b"RESIDUAL" in shown
    assert b"SECRET" not in shown and b"lmm" not in shown


def test_rag_twice_in_one_run_is_rag_once_and_the_mark_of_a_chain_stays_out(pandoc):
    write("notes.md", NATIVE)
    once = ok("pandoc -s -F lmm-rag notes.md -t markdown", pandoc).stdout
    assert ok("pandoc -s -F lmm-rag -F lmm-rag notes.md -t markdown", pandoc).stdout == once
    assert b"lmm-chain" not in ok("pandoc -s -F lmm-rag -F lmm-knit notes.md -t json", pandoc).stdout


def call(*filters, done=0, process="1/1"):
    """The call of one of ours among filters that run in this order."""
    run = PandocRun("pandoc", Path.cwd(), filters=list(filters), process=process)
    return FilterCall("lmm-rag", "markdown", run, previous=done)


def test_the_place_of_a_filter():
    chain = ("x.lua", "lmm-rag", "citeproc", "lmm-knit")
    first, last = call(*chain), call(*chain, done=1)
    assert (first.place, first.is_followed, first.may_follow_foreign) == (1, True, True)
    assert (last.place, last.is_followed, last.filters_before) == (3, False, ["x.lua", "lmm-rag", "citeproc"])
    assert not call("lmm-rag", "x.lua").may_follow_foreign


@pytest.mark.parametrize(("process", "done"), [("1/1", 1), ("2/2", 0)])
def test_the_mark_counts_in_its_own_run_alone(process, done, monkeypatch):
    marked = call("lmm-rag", "lmm-knit", process=process).mark({"title": 1})
    monkeypatch.setattr("filters.pandoc.call.find_run", lambda: call("lmm-rag", "lmm-knit").run)
    read, rest = read_call("lmm-knit", "html", marked)
    assert (read.previous, rest) == (done, {"title": 1})


def test_our_keys_go_with_the_last_filter():
    meta = {"title": 1, "docid": 2, "~title": 3, "lmm-keep": 4}
    chain = ("lmm-rag", "lmm-knit")
    assert call(*chain).clean(meta) == meta
    assert call(*chain, done=1).clean(meta) == {"title": 1}
