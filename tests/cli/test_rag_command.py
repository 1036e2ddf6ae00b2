"""Annotations by a language model, from the command line to the file, and back: what is
asked, what it costs, and what happens when it fails."""

import json
import re
import shlex
import signal
import socket
import subprocess
import time

import pytest
from click.testing import CliRunner

from lmm_core.cli import cli
from lmm_core.markdown import MetadataBlock, parse_markdown_text
from tests.commands import BIN, run, text, write
from tests.model_server import ModelServer, annotate
from tests.strategies import LONG, outside_metadata, squeezed

KEY = "sk-loopback-0123456789"
INTRO = f"Preface. {LONG}"
NOTES = f"""---
title: Notes
---

{INTRO}

# One

One. {LONG}

## Two

Two. {LONG}

## Three

Three. {LONG}

# Four

Four. {LONG}
"""
RESIDUAL = "A residual is a distance between a point and the line."
DEFINING = NOTES.replace("The mean of", f"{RESIDUAL} The mean of")
ALL = ["Four", "Notes", "One", "Three", "Two"]
NO_PATIENCE = "[minor]\nmax_retries = 0\n"


@pytest.fixture
def model(monkeypatch, tmp_path):
    """Name a model behind a key in the environment. The key gets into no file."""
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def lmm(command, status=0):
    """Run a command line of `lmm` in this process: importing openai each time takes longer
    than all the rest."""
    done = CliRunner().invoke(cli, shlex.split(command)[1:])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    assert KEY not in done.output
    return done


def section_of(body):
    """Return the title of the section that a request is about."""
    return body["messages"][1]["content"].split("\n")[0].split(" > ")[-1].removeprefix("Section: ")


def asked(server):
    """Return the titles of the sections that were asked for since the last call, in order."""
    titles = [section_of(body) for body in server.requests]
    server.requests.clear()
    return titles


def change(before, after, path="notes.md"):
    """Change a text in a file, as a writer does in an editor."""
    content = text(path)
    assert content.count(before) == 1
    write(path, content.replace(before, after))


def blocks_of(title, path="notes.md"):
    """Return the keys of each metadata block before a heading, the nearest last."""
    found = []
    for block in parse_markdown_text(text(path)):
        if block.source.strip("# \n") == title:
            return found
        found = [*found, block.content] if isinstance(block, MetadataBlock) else []
    raise AssertionError(f"no section {title}")


def value(title, key, path="notes.md"):
    """Return the value of a key of a section, in the nearest block."""
    return blocks_of(title, path)[-1].get(key)


def set_summary(title, line):
    """Write another line, or none, in place of the `~summary` of a section."""
    before, heading, after = text("notes.md").partition(f"# {title}\n")
    start = before.rindex("~summary: ")
    write("notes.md", before[:start] + line + before[before.index("\n", start) + 1 :] + heading + after)


def line_of(heading):
    """Return the line of a heading in the notes as they were."""
    return NOTES.split("\n").index(heading) + 1


def header(path="notes.md"):
    return parse_markdown_text(text(path))[0].content


def failing(*titles, status=500):
    """Return a fault for the requests about some sections."""
    return lambda body, number: status if section_of(body) in titles else None


def closed_port():
    """Return an address at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


# What a user gets


def test_a_key_is_all_that_a_model_needs(model):
    write("notes.md", NOTES)
    done = run("lmm rag notes.md")
    assert done.returncode == 0
    assert sorted(asked(model)) == ALL
    assert set(model.keys) == {f"Bearer {KEY}"}
    assert header()["~~annotator"] == "openai/gpt-5.4-mini"
    assert value("Two", "~summary").startswith("Summary of Two. The mean")
    assert value("Two", "~questions")[0].startswith("What of Two. The mean")
    assert squeezed(outside_metadata(text("notes.md"))) == squeezed(outside_metadata(NOTES))


def test_a_pandoc_filter_asks_the_model_too(model, pandoc):
    write("notes.md", NOTES)
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode == 0, done.stderr
    assert "5 requests, 500 + 100 tokens, 0 from cache" in done.stderr.decode()
    assert sorted(asked(model)) == ALL
    assert header()["~~annotator"] == "openai/gpt-5.4-mini"
    first = text("notes.md")
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.stderr == b""
    assert (asked(model), text("notes.md")) == ([], first)


def test_filter_and_command_write_the_same(model, pandoc):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    by_command = text("notes.md")
    write("notes.md", NOTES)
    run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert text("notes.md") == by_command


def test_a_second_run_asks_nothing_and_changes_no_byte(model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    first = text("notes.md")
    model.requests.clear()
    assert "0 of 1 files annotated" in lmm("lmm rag notes.md").stderr
    assert (asked(model), text("notes.md")) == ([], first)


def test_a_check_asks_no_model_and_needs_no_key(model, monkeypatch):
    """Something would change wherever one would be asked: a check costs nothing, and works without a key, as in CI."""
    write("notes.md", NOTES)
    checked = lmm("lmm rag --check notes.md", status=1).stderr
    assert (asked(model), text("notes.md")) == ([], NOTES)
    assert checked == "would be annotated: notes.md\n1 of 1 files would be annotated by openai/gpt-5.4-mini\n"
    lmm("lmm rag notes.md")
    assert "0 of 1 files would be annotated" in lmm("lmm rag --check notes.md").stderr
    change("\n\nTwo. The mean", "\n\nTwo. A mean")
    model.requests.clear()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert json.loads(lmm("lmm rag --check --json --model openai/gpt-5.4-mini notes.md", status=1).stdout) == [
        {"path": "notes.md", "changed": True, "reports": []}
    ]
    assert asked(model) == []


def test_a_check_that_shows_the_difference_asks_the_model(model):
    write("notes.md", NOTES)
    assert "+~summary: Summary of Two. The mean" in lmm("lmm rag --check --diff notes.md", status=1).stdout
    assert sorted(asked(model)) == ALL


def test_one_file_of_a_folder_or_all_of_them(model):
    write("book/a.md", NOTES)
    write("book/b.md", NOTES.replace("mean", "median"))
    done = lmm("lmm rag book")
    assert (
        "2 of 2 files annotated by openai/gpt-5.4-mini: 10 requests, 1,000 + 200 tokens, 0 from cache, " in done.stderr
    )
    assert re.search(r"cache, \d+\.\d s\n$", done.stderr)
    assert model.count == 10


# One text under several headings


def test_a_document_that_is_one_section_is_asked_for_once(model):
    write("notes.md", f"---\ntitle: Notes\n---\n\n# Means\n\n{LONG}\n")
    lmm("lmm rag notes.md")
    assert asked(model) == ["Means"]
    assert value("Means", "~summary") and value("Means", "~questions")
    assert "~summary" not in header()
    once = text("notes.md")
    assert "0 of 1 files annotated" in lmm("lmm rag notes.md").stderr
    assert (asked(model), text("notes.md")) == ([], once)


def test_a_chain_of_only_children_is_asked_for_once_and_again_if_its_text_changes(model):
    write("notes.md", f"# One\n\n## Two\n\n### Three\n\n{LONG}\n")
    lmm("lmm rag notes.md")
    assert asked(model) == ["Three"]
    planned = json.loads(lmm("lmm rag --dry-run --json --refresh notes.md").stdout)
    assert [request["titles"][-1] for request in planned] == ["Three"]
    change("\n\nThe mean of", "\n\nA mean of")
    lmm("lmm rag notes.md")
    assert asked(model) == ["Three"]


def test_a_section_that_gets_a_sibling_or_a_text_is_summed_up_above_again(model):
    chain = f"# One\n\n## Two\n\n{LONG}\n"
    write("notes.md", chain)
    lmm("lmm rag notes.md")
    write("notes.md", f"{text('notes.md')}\n## Three\n\n{LONG}\n")
    model.requests.clear()
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ["One", "Three"]
    write(
        "notes.md",
        text("notes.md").rpartition("\n## Three")[0].rpartition("\n:::")[0].rpartition("\n::: {.lmm")[0] + "\n",
    )
    lmm("lmm rag notes.md")
    assert asked(model) == []
    assert "~summary" not in blocks_of("One")[-1] and value("Two", "~summary")


# Who wrote


def test_a_run_without_a_model_says_so_and_what_it_left_out(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write("notes.md", DEFINING.replace(f"Three. {RESIDUAL}", "Three."))
    done = lmm("lmm rag notes.md")
    assert done.stderr == (
        "annotated: notes.md\n"
        "1 of 1 files annotated by extractive/default; no model was asked: set OPENAI_API_KEY, or name a model in config.toml\n"
        "2 of 5 sections: nothing written without a model\n"
    )
    once = text("notes.md")
    assert "0 of 1 files annotated" in lmm("lmm rag notes.md").stderr
    assert text("notes.md") == once


@pytest.mark.parametrize("fault", ["401", "404", "no key"])
def test_a_file_in_which_nothing_could_be_annotated_stays_as_it_was(fault, model):
    before = NOTES.replace("---\ntitle: Notes\n---\n\n", "")
    write("notes.md", before)
    if fault == "401":
        model.key = "sk-another"
    elif fault == "404":
        model.fault = lambda body, number: 404
    name = "mistral/small" if fault == "no key" else "openai/mine"
    done = lmm(f"lmm rag --model {name} notes.md", status=1)
    assert f"\n0 of 1 files annotated by {name}" in done.stderr
    assert "\nannotated: " not in done.stderr
    assert text("notes.md") == before


@pytest.mark.parametrize(
    "notes", ["# Title\n\nShort.\n", "---\ntitle: T\n---\n\n```\ncode\n```\n", "# Only\n\n## headings\n"]
)
def test_a_document_about_which_there_is_nothing_to_write_stays_as_it_is(notes, model):
    write("notes.md", notes)
    lmm("lmm rag notes.md")
    assert text("notes.md") == notes


def test_ids_alone_are_written_where_nothing_else_is_asked_for():
    write("notes.md", "# Title\n\nShort.\n")
    lmm("lmm rag --no-questions --no-summaries notes.md")
    assert text("notes.md").startswith("---\n~title: Title\n~docid: notes.md\n")


# What other documents show

SHOWN = {
    "Quarto": ("{{< include part.md >}}", "part.md"),
    "from the project's folder": ("{{< include /parts/part.qmd >}}", "parts/part.qmd"),
    "a name with a blank": ('{{< include "parts/a part.md" >}}', "parts/a part.md"),
    "as an example": ("````` markdown\n{{< include part.md >}}\n`````", "part.md"),
}


@pytest.mark.parametrize(("page", "name"), SHOWN.values(), ids=SHOWN.keys())
@pytest.mark.parametrize("header", ["", "---\ntitle: Mine\n---\n\n"])
def test_no_header_is_written_into_what_another_document_shows(page, name, header, model):
    write("config.toml", "")
    write("page.md", f"# Page\n\n{LONG}\n\n{page}\n")
    part = f"# Part\n\n{LONG}\n"
    write(name, header + part)
    lmm("lmm rag .")
    assert text("page.md").startswith("---\n~title: Page\n")
    assert text(name).startswith(f"{header}::: {{.lmm .content-hidden}}\n``` yaml\n~questions:")
    assert "~docid" not in text(name)
    lmm(f"lmm rag '{name}'")
    assert "~docid" not in text(name)


# What is asked again


@pytest.mark.parametrize(
    ("before", "after", "again"),
    [
        ("Two. The mean", "Two. A mean", ["Two", "One", "Notes"]),
        ("Four. The mean", "Four. A mean", ["Four", "Notes"]),
        ("Preface. The mean", "Preface. A mean", ["Notes"]),
        ("Two. The mean", "Two.\nThe   mean", []),
        ("## Two\n\n", "## Two {#sec-two}\n\n\n\n", []),
    ],
    ids=["a subsection", "a chapter", "the header's own text", "wrapped again", "an attribute and blank lines"],
)
def test_after_an_edit_only_what_depends_on_it_is_asked(before, after, again, model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    model.requests.clear()
    content = text("notes.md")
    assert content.count(f"\n{before}") == 1
    write("notes.md", content.replace(f"\n{before}", f"\n{after}"))
    lmm("lmm rag notes.md")
    assert asked(model) == again
    lmm("lmm rag notes.md")
    assert asked(model) == []


def test_what_the_stand_in_wrote_is_made_again_once(model, monkeypatch):
    write("notes.md", DEFINING)
    monkeypatch.delenv("OPENAI_API_KEY")
    lmm("lmm rag notes.md")
    assert header()["~~annotator"] == "extractive/default"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    before, heading, after = text("notes.md").partition("## Three")
    by_hand = before.rpartition("What does “residual” mean?")
    write("notes.md", f"{by_hand[0]}By hand?{by_hand[2]}{heading}{after}")
    change("## Two", "::: lmm\n```yaml\nfrozen: true\n```\n:::\n\n## Two")
    change("# Four", "::: lmm\n```yaml\nskip: true\n```\n:::\n\n# Four")
    before = {title: blocks_of(title) for title in ("Two", "Four")}
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ["Notes", "One", "Three"]
    assert header()["~~annotator"] == "openai/gpt-5.4-mini"
    assert value("Three", "~questions") == ["By hand?"]
    assert value("Three", "~summary").startswith("Summary of Three. A residual")
    assert {title: blocks_of(title) for title in before} == before
    lmm("lmm rag notes.md")
    assert asked(model) == []


def test_another_model_makes_nothing_again_unless_asked_to(model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    first = text("notes.md")
    model.requests.clear()
    lmm("lmm rag --model openai/other notes.md")
    assert (asked(model), text("notes.md")) == ([], first)
    lmm("lmm rag --model openai/other --refresh notes.md")
    assert {body["model"] for body in model.requests} == {"other"}
    assert sorted(asked(model)) == ALL
    assert header()["~~annotator"] == "openai/other"


def test_refresh_keeps_what_was_corrected(model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    set_summary("Three", "~summary: By hand.\n")
    model.requests.clear()
    model.reply = lambda body: annotate(body).replace("Summary of", "New summary of")
    lmm("lmm rag --refresh notes.md")
    assert sorted(asked(model)) == ALL
    assert value("Three", "~summary") == "By hand."
    assert value("Two", "~summary").startswith("New summary of Two.")


def test_a_deleted_value_is_asked_anew_and_not_taken_from_the_cache(model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    set_summary("Two", "")
    model.requests.clear()
    model.reply = lambda body: annotate(body).replace("Summary of", "Better summary of")
    lmm("lmm rag notes.md")
    assert asked(model) == ["Two", "One", "Notes"]
    assert value("Two", "~summary").startswith("Better summary of Two.")


def test_a_file_from_before_costs_nothing(model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    first = text("notes.md")
    model.requests.clear()
    write("notes.md", NOTES)
    assert "annotated by openai/gpt-5.4-mini: 0 requests, 0 + 0 tokens, 5 from cache" in lmm("lmm rag notes.md").stderr
    assert (asked(model), text("notes.md")) == ([], first)


def test_without_the_key_nothing_of_the_model_is_lost(model, monkeypatch):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    model.requests.clear()
    change("\nTwo. The mean", "\nTwo. A mean")
    write("notes.md", f"{text('notes.md')}\n# Five\n\nFive. {RESIDUAL} {LONG}\n")
    before = {title: blocks_of(title) for title in ("One", "Two", "Three")}
    monkeypatch.delenv("OPENAI_API_KEY")
    done = lmm("lmm rag notes.md")
    assert (
        "2 sections changed since a model annotated them; their annotations are kept until a model is there"
        in done.stderr
    )
    assert {title: blocks_of(title) for title in before} == before
    assert header()["~~annotator"] == "openai/gpt-5.4-mini"
    assert value("Five", "~~annotator") == "extractive/default"
    once = text("notes.md")
    lmm("lmm rag notes.md")
    assert text("notes.md") == once
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ["Five", "Notes", "One", "Two"]
    assert "extractive" not in text("notes.md")


def test_without_a_header_each_section_says_who_annotated_it(model, monkeypatch):
    """A Pandoc title block leaves no place for a header."""
    write("notes.md", f"% Notes\n\n# One\n\nOne. {LONG}\n")
    lmm("lmm rag notes.md")
    assert value("One", "~~annotator") == "openai/gpt-5.4-mini"
    before = blocks_of("One")
    change("\nOne. The mean", "\nOne. A mean")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "are kept until a model is there" in lmm("lmm rag notes.md").stderr
    assert blocks_of("One") == before


# A model that fails


def test_a_server_that_is_not_there_stops_the_run(model, monkeypatch):
    write("book/notes.md", NOTES)
    write("book/other.md", NOTES)
    write("book/config.toml", NO_PATIENCE)
    monkeypatch.setenv("OPENAI_BASE_URL", closed_port())
    done = lmm("lmm rag book", status=1)
    assert "cannot be reached. Is the server running?" in done.stderr
    assert "questions" not in text("book/notes.md") + text("book/other.md")


def test_a_wrong_key_is_tried_once_in_all(model):
    for number in range(20):
        write(f"book/{number}.md", NOTES)
    model.key = "sk-another"
    done = lmm("lmm rag --jobs 1 book", status=1)
    assert model.count == 1
    assert "the server refuses the key (401): check $OPENAI_API_KEY" in done.stderr
    assert "questions" not in "".join(text(f"book/{number}.md") for number in range(20))
    model.key = KEY
    lmm("lmm rag book")
    assert "questions" in text("book/19.md")


def test_an_address_without_a_model_is_tried_once(model):
    write("notes.md", NOTES)
    model.fault = lambda body, number: 404
    assert "no such model or address" in lmm("lmm rag --jobs 1 notes.md", status=1).stderr
    assert model.count == 1


@pytest.mark.parametrize("status", [429, 500, 503, "drop"])
def test_a_section_that_fails_does_not_stop_the_others(status, model):
    write("config.toml", NO_PATIENCE)
    write("notes.md", NOTES)
    model.fault = failing("Three", status=status)
    done = lmm("lmm rag notes.md", status=1)
    said = "http://127.0.0.1:" if status == "drop" else f"the server reports error {status}"
    assert f"notes.md:{line_of('## Three')}: section not annotated: openai/gpt-5.4-mini: {said}" in done.stderr
    assert "2 sections above wait for those that failed; run again" in done.stderr
    assert "annotated in part: notes.md\n0 of 1 files annotated by openai/gpt-5.4-mini" in done.stderr
    assert sorted(asked(model)) == ["Four", "Three", "Two"]
    assert value("Two", "~questions")
    assert value("Four", "~summary")
    model.fault = None
    lmm("lmm rag notes.md")
    assert asked(model) == ["Three", "One", "Notes"]
    lmm("lmm rag notes.md")
    assert asked(model) == []


def test_what_is_sent_where_is_said_before_it_is_sent(model, monkeypatch):
    write("notes.md", NOTES)
    said = "annotating with openai/gpt-5.4-mini: what is annotated is sent to http://models.example/v1"
    assert "is sent to" not in lmm("lmm rag notes.md --dry-run").stderr
    monkeypatch.setenv("HTTP_PROXY", model.url)  # the proxy answers in place of the server
    monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
    assert lmm("lmm rag notes.md").stderr.startswith(said)
    assert said not in lmm("lmm rag notes.md").stderr


def test_what_fails_at_first_is_tried_again(model):
    write("notes.md", NOTES)
    model.fault = lambda body, number: 429 if number == 0 else None
    lmm("lmm rag notes.md")
    assert sorted(set(asked(model))) == ALL


def test_a_model_that_takes_too_long(model):
    write("config.toml", "[minor]\nmax_retries = 0\ntimeout = 0.5\n")
    write("notes.md", NOTES)
    model.reply = lambda body: time.sleep(1 if section_of(body) == "Two" else 0) or annotate(body)
    done = lmm("lmm rag notes.md", status=1)
    assert "section not annotated: openai/gpt-5.4-mini: the server has not answered within 0.5 s" in done.stderr
    assert value("Three", "~summary")
    model.reply = annotate
    model.requests.clear()
    lmm("lmm rag notes.md")
    assert asked(model) == ["Two", "One", "Notes"]


USELESS = {
    "": "the model's reply was empty",
    " \n": "the model's reply was empty",
    "I am sorry.": "the reply is not JSON: 'I am sorry.'",
    '{"answer": 42}': "the reply's `questions` are not a list of texts",
    '{"questions": 7, "summary": "S."}': "the reply's `questions` are not a list of texts",
    '{"questions": ["What?"], "summary": 7}': "questions: 'What?' is not a question; the reply's `summary` is not a text",
    '{"questions": [], "summary": " "}': "the reply has 0 questions; the reply's `summary` is not a text",
    '{"questions": ["1", "2", "3"], "summary": "summary"}': "questions: '1' is not a question; summary: 'summary' is not "
    "a whole sentence",
}


@pytest.mark.parametrize("reply", USELESS, ids=range(len(USELESS)))
def test_a_reply_of_no_use_is_reported_and_asked_again(reply, model):
    write("notes.md", NOTES)
    model.reply = lambda body: reply if section_of(body) == "Two" else annotate(body)
    done = lmm("lmm rag notes.md", status=1)
    assert f"section not annotated: openai/gpt-5.4-mini: {USELESS[reply]}" in done.stderr
    assert value("Three", "~summary")
    assert squeezed(outside_metadata(text("notes.md"))) == squeezed(outside_metadata(NOTES))
    model.reply = annotate
    model.requests.clear()
    lmm("lmm rag notes.md")
    assert asked(model) == ["Two", "One", "Notes"]


@pytest.mark.parametrize(
    "body", [b"", b"no JSON", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}']
)
def test_what_is_no_reply_of_the_protocol(body, model):
    write("config.toml", NO_PATIENCE)
    write("notes.md", NOTES)
    model.reply = lambda asked: body if section_of(asked) == "Two" else annotate(asked)
    assert "section not annotated: openai/gpt-5.4-mini: " in lmm("lmm rag notes.md", status=1).stderr
    assert value("Three", "~summary")


HOSTILE = ["---\n# A\n---", "...", ":::\n\n# A", "```\n:::", "-->", "<!--", "nul \0 and \x1b[31m", "$$", "`" * 100, "a: b # c",
           "{{< include x >}}", "- a\n- b", "~" * 10, "x" * 500, "\ufeff\u2028\u2029\x85", "a </text>", "'\"`", "\ud800"]  # fmt: skip


@pytest.mark.parametrize("spelling", ["div", "native", "comment"])
def test_no_reply_changes_the_documents_structure(spelling, model):
    notes = "".join(f"# Part {number}\n\n{number}. {LONG}\n\n" for number in range(len(HOSTILE)))
    write("notes.md", notes)
    write("config.toml", f"spelling = '{spelling}'\n")
    said = dict(zip([f"Part {number}" for number in range(len(HOSTILE))], HOSTILE, strict=True))

    def reply(body):
        word = said.get(section_of(body), "") + " x"
        return json.dumps({"questions": [f"{word} is the mean?"], "summary": f"{word} is the mean."})

    model.reply = reply
    lmm("lmm rag notes.md")
    assert squeezed(outside_metadata(text("notes.md"))) == squeezed(notes)
    assert value("Part 3", "~summary") == "``` ::: x is the mean."
    assert value("Part 6", "~questions") == ["nul and x is the mean?"]
    assert not any(sign in text("notes.md") for sign in "\0\x1b\ufeff\u2028\x85")
    model.requests.clear()
    once = text("notes.md")
    lmm("lmm rag notes.md")
    assert (asked(model), text("notes.md")) == ([], once)


def test_failures_of_one_kind_are_one_line(model):
    write("config.toml", NO_PATIENCE)
    write("notes.md", NOTES)
    model.reply = lambda body: f"Sorry, I cannot sum up {section_of(body)}."
    said = lmm("lmm rag notes.md", status=1).stderr
    lines = [line_of(heading) for heading in ("## Two", "## Three", "# Four")]
    assert f"notes.md:{lines[0]}: 3 sections not annotated (lines {lines[0]}, {lines[1]}, {lines[2]}): " in said
    assert said.count("the reply is not JSON: 'Sorry, I cannot sum up Two.'") == said.count("not annotated") == 1


@pytest.mark.parametrize("spelling", ["div", "native", "comment"])
def test_a_filter_hands_on_the_document_whatever_fails(spelling, model, pandoc):
    write("config.toml", NO_PATIENCE)
    write("notes.md", NOTES)
    said = {
        "Three": "no JSON",
        "Four": '{"questions": ["---\\n# A mean?"], "summary": "::: ``` --> \\u0000 is said of the mean."}',
    }
    model.fault = failing("Two")
    model.reply = lambda body: said.get(section_of(body)) or annotate(body)
    done = run(f"pandoc -F lmm-rag -M lmm-spelling={spelling} notes.md -o notes.md", pandoc)
    assert done.returncode == 0
    assert (
        f"notes.md:{line_of('## Two')}: section not annotated: openai/gpt-5.4-mini: the server reports error 500"
        in done.stderr.decode()
    )
    assert value("Four", "~summary") == "::: ``` --> is said of the mean."
    assert squeezed(outside_metadata(text("notes.md"))) == squeezed(outside_metadata(NOTES))
    assert KEY.encode() not in done.stderr


@pytest.mark.parametrize("fault", ["refused connection", "wrong key"])
def test_a_filter_hands_on_the_document_where_no_model_answers(fault, model, pandoc, monkeypatch):
    write("config.toml", NO_PATIENCE)
    write("notes.md", NOTES)
    if fault == "wrong key":
        model.key = "sk-another"
    else:
        monkeypatch.setenv("OPENAI_BASE_URL", closed_port())
    done = run("pandoc -F lmm-rag notes.md -t html -M lmm-save=saved.md", pandoc)
    assert done.returncode == 0
    assert b"5 sections not annotated: openai/gpt-5.4-mini: " in done.stderr
    assert b"Preface" in done.stdout
    assert KEY.encode() not in done.stdout + done.stderr


def test_a_server_without_schemas_is_asked_in_words(model):
    model.schemas = False
    model.reply = lambda body: f"Sure! Here you are:\n```json\n{annotate(body)}\n```\nMore?"
    write("notes.md", NOTES)
    lmm("lmm rag --jobs 1 notes.md")
    assert len(asked(model)) == 6
    assert value("Two", "~summary").startswith("Summary of Two.")


def test_a_key_that_the_server_repeats_is_not_shown(model):
    write("config.toml", NO_PATIENCE)
    write("notes.md", NOTES)
    model.key = "sk-another"
    done = run("lmm rag --json notes.md")
    assert done.returncode == 1
    assert KEY.encode() not in done.stdout + done.stderr


def test_b26_a_failure_at_the_end_loses_nothing_that_was_paid_for(model):
    """The last request, for the document, is the one that fails."""
    write("config.toml", NO_PATIENCE)
    write("notes.md", NOTES)
    model.fault = failing("Notes")
    lmm("lmm rag notes.md", status=1)
    assert [title for title in ("One", "Two", "Three", "Four") if not value(title, "~summary")] == []
    model.fault = None
    model.requests.clear()
    lmm("lmm rag notes.md")
    assert asked(model) == ["Notes"]


def test_b25_a_reply_is_not_garbled(model):
    said = 'Is the mean < 0.05 (Table 2) enough, or is 1) needed? "Yes", it\'s 5. $\\alpha$'
    model.reply = json.dumps({"questions": [said, "2. " + said], "summary": said})
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    assert value("Two", "~questions") == [said, "2. " + said]
    assert value("Two", "~summary") == said


# Interrupted


@pytest.mark.slow
@pytest.mark.parametrize("command", ["lmm rag --jobs 1 notes.md", "lmm rag --jobs 1 --refresh notes.md"])
def test_a_killed_run_leaves_the_old_file_and_is_not_paid_for_twice(command, model):
    write("notes.md", NOTES)
    if "--refresh" in command:
        lmm("lmm rag notes.md")
        model.requests.clear()
    before = text("notes.md")
    model.reply = lambda body: time.sleep(0.1) or annotate(body).replace("Summary of", "New summary of")
    running = subprocess.Popen([BIN / "lmm", *shlex.split(command)[1:]], stderr=subprocess.DEVNULL)
    while model.count < 3 and running.poll() is None:
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert text("notes.md") == before
    answered = asked(model)[:-1]
    assert len(answered) == 2
    done = lmm(command)
    assert "3 requests, 300 + 60 tokens, 2 from cache" in done.stderr
    assert sorted([*answered, *asked(model)]) == ALL
    assert value("Two", "~summary").startswith("New summary of")


def test_the_file_changed_meanwhile_is_not_overwritten_and_the_next_run_is_free(model):
    write("notes.md", NOTES)

    def reply(body):
        if section_of(body) == "Notes":
            write("notes.md", f"{NOTES}\nSaved by an editor.\n")
        return annotate(body)

    model.reply = reply
    assert "notes.md" in lmm("lmm rag notes.md", status=1).stderr
    assert text("notes.md").endswith("Saved by an editor.\n")
    model.reply = annotate
    model.requests.clear()
    lmm("lmm rag notes.md")
    assert asked(model) == ["Four", "Notes"]


def test_a_cache_that_cannot_be_read_is_done_without(model, tmp_path):
    write(tmp_path / "cache" / "lmm" / "cache.sqlite", "no database, but long enough to look like one" * 40)
    write("notes.md", NOTES)
    done = lmm("lmm rag notes.md")
    assert done.stderr.count("warning: The cache is not used: ") == 1
    assert sorted(asked(model)) == ALL


# The order of requests


def test_subsections_are_asked_before_what_is_above_them(model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    titles = [section_of(body) for body in model.requests]
    assert titles.index("One") > max(titles.index("Two"), titles.index("Three"))
    assert titles[-1] == "Notes"
    shown = model.requests[titles.index("One")]["messages"][-1]["content"]
    assert f"<subsections>\n- {value('Two', '~summary')}\n- {value('Three', '~summary')}\n</subsections>" in shown
    assert "Two. The mean of a sample is the sum" not in shown


@pytest.mark.parametrize(("jobs", "files"), [(1, 1), (2, 1), (3, 4)])
def test_no_more_requests_at_once_than_jobs(jobs, files, model):
    for number in range(files):
        write(f"book/{number}.md", NOTES.replace("mean", f"mean {number}"))
    model.delay = 0.02
    lmm(f"lmm rag --jobs {jobs} book")
    assert model.most_at_once == jobs


# Options of the command


def test_quiet_says_nothing(model):
    write("notes.md", NOTES)
    done = lmm("lmm rag --quiet notes.md")
    assert done.output == ""
    assert model.count == 5


def test_a_dry_run_asks_and_writes_nothing_and_says_what_a_run_would_ask(model):
    write("notes.md", NOTES)
    done = lmm("lmm rag --dry-run notes.md")
    assert (model.count, text("notes.md")) == (0, NOTES)
    assert "notes.md: 5 by openai/gpt-5.4-mini" in done.stdout
    assert "5 requests, about " in done.stdout
    planned = json.loads(lmm("lmm rag --dry-run --json notes.md").stdout)
    assert sorted(request["titles"][-1] for request in planned) == ALL
    assert all(
        request["tokens"] > 100 and request["certain"]
        for request in planned
        if request["titles"][-1] in ("Two", "Four")
    )
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == sorted(request["titles"][-1] for request in planned)
    assert json.loads(lmm("lmm rag --dry-run --json notes.md").stdout) == []


def test_a_dry_run_without_a_model_says_that_nothing_would_be_asked():
    write("notes.md", NOTES)
    said = lmm("lmm rag --dry-run notes.md").stdout
    assert said.startswith("Nothing would be asked, because no model is configured") and said.count("\n") == 1


def test_a_dry_run_after_an_edit_says_what_may_follow(model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    change("\nTwo. The mean", "\nTwo. A mean")
    planned = json.loads(lmm("lmm rag --dry-run --json notes.md").stdout)
    assert [(request["titles"][-1], request["certain"]) for request in planned] == [
        ("Two", True), ("One", False), ("Notes", False),
    ]  # fmt: skip


def test_the_cache_is_shown_and_emptied(model, tmp_path):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    path = tmp_path / "cache" / "lmm" / "cache.sqlite"
    assert f"{path}: 5 replies, 0 vectors, 0.0 of 500 MB" in lmm("lmm config cache").stdout
    assert json.loads(lmm("lmm config cache --json").stdout)["replies"] == 5
    assert "removed: 5 replies" in lmm("lmm config cache --clear").stdout
    assert "0 replies" in lmm("lmm config cache").stdout
    model.requests.clear()
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ALL


def test_doctor_says_which_key_is_set_and_not_its_value(model):
    done = lmm("lmm doctor")
    assert "minor       openai/gpt-5.4-mini: OPENAI_API_KEY is set" in done.stdout
    assert model.count == 0


def test_a_model_without_its_key(monkeypatch):
    write("notes.md", NOTES)
    done = lmm("lmm rag --model mistral/small notes.md", status=1)
    assert "MISTRAL_API_KEY is not set" in done.stderr
    assert "questions" not in text("notes.md")
    assert "MISTRAL_API_KEY is not set" in lmm("lmm rag --dry-run --model mistral/small notes.md", status=2).stderr


def test_config_is_begun_once_and_shown(model):
    assert "config.toml" in lmm("lmm config init").stderr
    begun = text("config.toml")
    assert "already exists, and is not overwritten" in lmm("lmm config init", status=1).stderr
    assert text("config.toml") == begun
    write("config.toml", "[minor]\nmodel = 'openai/gpt-4.1'\n")
    shown = lmm("lmm config show").stdout
    assert re.search(r'^minor\.model +"openai/gpt-4\.1" +.*config\.toml:\d+$', shown, re.M)
    assert re.search(r"^minor\.timeout +60\.0 +default", shown, re.M)


# The header


@pytest.mark.parametrize(
    "model_key",
    [
        "model:\n  minor: OpenAI/special\n  RAG: [summary]\n  system: Be rude.\n",
        "model:\n- minor: OpenAI/special\n- RAG: [summary]\n- system: Be rude.\n",
    ],
    ids=["mapping", "list"],
)
def test_the_header_names_model_and_annotations(model_key, model):
    write("notes.md", NOTES.replace("title: Notes\n", f"title: Notes\n{model_key}"))
    lmm("lmm rag notes.md")
    assert {body["model"] for body in model.requests} == {"special"}
    assert "Be rude" not in json.dumps(model.requests)
    assert sorted(asked(model)) == ALL
    assert [key for key in blocks_of("Two")[0] if key != "~~hash"] == ["~summary"]
    assert header()["~~annotator"] == "openai/special"
    assert model_key in text("notes.md")


def test_the_command_line_goes_over_the_header(model):
    write("notes.md", NOTES.replace("title: Notes\n", "title: Notes\nmodel: {minor: openai/special}\n"))
    lmm("lmm rag --model openai/mine notes.md")
    assert {body["model"] for body in model.requests} == {"mine"}


def test_an_unknown_source_in_the_header(model):
    notes = NOTES.replace("title: Notes\n", "title: Notes\nmodel: {minor: opnai/gpt-4o}\n")
    write("notes.md", notes)
    done = lmm("lmm rag notes.md", status=1)
    assert (
        "notes.md:1: `model.minor`: 'opnai/gpt-4o': the source 'opnai' is unknown. The sources are openai, mistral,"
        in done.stderr
    )
    assert (model.count, text("notes.md")) == (0, notes)


def test_a_header_that_is_a_list_is_reported_with_the_fix(model):
    notes = f"---\n- title: Notes\n- author: A\n---\n\n{NOTES.split('---', 2)[2].lstrip()}"
    write("notes.md", notes)
    done = lmm("lmm rag notes.md", status=1)
    assert "put this in its place:\n---\ntitle: Notes\nauthor: A\n---" in done.stderr
    assert (model.count, text("notes.md")) == (0, notes)
