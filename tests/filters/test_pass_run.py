"""A pass that runs in a filter, and what becomes of its result."""

from tests.commands import write
from tests.filter_texts import NATIVE, ok


def test_nothing_keeps_annotations_in_html_and_that_is_said(pandoc):
    write("notes.md", NATIVE)
    done = ok("pandoc -F lmm-rag notes.md -t html", pandoc)
    assert b"Nothing keeps annotations in html" in done.stderr
    assert b"lmm" not in done.stdout
