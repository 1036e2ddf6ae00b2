"""The filter `lmm-chat`, through pandoc."""

import re

import pytest

from tests.commands import pandocs, text, write
from tests.filter_texts import ok
from tests.strategies import LONG
from tests.talk import asked_text, block, chat_in, chats, lmm, metadata, question_of

QUESTION = "Is this clear?"


@pytest.fixture
def any_pandoc():
    """One of the pandocs: what differs between them is tested elsewhere."""
    return pandocs()[-1]


def notes(spelling):
    return (
        "---\ntitle: T\n---\n\n"
        f"# Why is the median robust?\n\n{LONG}\n\n# One\n\nFirst,  as it *is*.\n\n{block('?: ' + QUESTION, spelling)}\n\n"
        f"Second\\\nline.\n\n{block('=: Shorter.', spelling)}\n\n## Two\n\n{LONG}\n"
    )


@pytest.fixture
def model(model):
    model.reply = lambda body: "Yes." if question_of(body) == QUESTION else "## Two\n\nNew."
    return model


def test_over_the_source_it_does_what_the_command_does(model, pandoc):
    write("notes.md", notes("div"))
    assert b"2 requests" in ok("pandoc -F lmm-chat notes.md -o notes.md", pandoc).stderr
    by_filter = text("notes.md")
    assert chat_in() == [("user", QUESTION), ("model", "Yes.")]
    assert ok("pandoc -F lmm-chat notes.md -o notes.md", pandoc).stderr == b""
    assert (text("notes.md"), model.count) == (by_filter, 2)
    write("notes.md", notes("div"))
    lmm("lmm chat notes.md")
    assert alike(by_filter) == alike(text("notes.md"))


def alike(document):
    """A document whose edits have all the same name."""
    return re.sub(r"(?<=lmm-old-|lmm-new-|lmm-end-)\w+|(?<=id: )\w+", "ID", document)


def test_chained_with_annotating_and_knitting(model, any_pandoc):
    write("notes.md", notes("native"))
    plain = ok("pandoc -F lmm-knit notes.md -t html", any_pandoc).stdout
    assert ok("pandoc -F lmm-chat -F lmm-knit notes.md -t html", any_pandoc).stdout == plain
    write("config.toml", "[minor]\nmodel = 'extractive/default'\n")
    both = ok("pandoc -F lmm-chat -F lmm-rag notes.md -t markdown", any_pandoc).stdout.decode()
    assert [("user", QUESTION), ("model", "Yes.")] in chats(both)
    assert any("~questions" in one.content for one in metadata(both))
    assert "###### end of edit" in both


def test_knitting_an_edit_that_waits_gives_the_old_text_and_annotating_leaves_it(model, any_pandoc):
    write("notes.md", notes("native"))
    write("config.toml", "[minor]\nmodel = 'extractive/default'\n")
    plain = ok("pandoc -F lmm-knit notes.md -t html", any_pandoc).stdout
    lmm("lmm chat notes.md")
    assert ok("pandoc -F lmm-rag -F lmm-knit notes.md -t html", any_pandoc).stdout == plain
    region = text("notes.md").split("###### old text")[1]
    ok("pandoc -F lmm-rag notes.md -o notes.md", any_pandoc)
    assert text("notes.md").split("###### old text")[1] == region


def test_from_standard_input(model, any_pandoc):
    source = notes("div").replace("=: Shorter.", "a: 1")
    done = ok("pandoc -F lmm-chat -t markdown", any_pandoc, stdin=source)
    assert model.count == 1
    assert asked_text(model.requests[0]).startswith("Second")
    assert chats(done.stdout.decode()) == [[("user", QUESTION), ("model", "Yes.")]]


def test_to_html_nothing_is_asked_and_that_is_said(model, any_pandoc):
    write("notes.md", notes("div"))
    done = ok("pandoc -F lmm-chat notes.md -t html", any_pandoc)
    assert b"Nothing keeps answers in html, so none were made" in done.stderr
    assert model.count == 0
    assert b"Is this clear" not in done.stdout


def test_without_a_model_the_document_is_handed_on(model, monkeypatch, any_pandoc):
    monkeypatch.delenv("OPENAI_API_KEY")
    write("notes.md", notes("native"))
    assert b"set OPENAI_API_KEY" in ok("pandoc -F lmm-chat notes.md -o notes.md", any_pandoc).stderr
    assert text("notes.md") == notes("native")
