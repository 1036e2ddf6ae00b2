"""Annotations by a language model, from the command line to the file, and back: what is
asked, what it costs, and what happens when it fails."""

import json
import socket

import pytest

from lmm_core.markdown import MetadataBlock, parse_markdown_text
from tests.commands import run, text, write
from tests.model_server import ModelServer, annotate
from tests.strategies import LONG, outside_metadata, squeezed
from tests.talk import lmm

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
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ALL
    assert set(model.keys) == {f"Bearer {KEY}"}
    assert header()["~~annotator"] == "openai/gpt-5.4-mini"
    assert value("Two", "~summary").startswith("Summary of Two. The mean")
    assert value("Two", "~questions")[0].startswith("What of Two. The mean")
    assert squeezed(outside_metadata(text("notes.md"))) == squeezed(outside_metadata(NOTES))
    first = text("notes.md")
    assert "0 of 1 files annotated" in lmm("lmm rag notes.md").stderr
    assert (asked(model), text("notes.md")) == ([], first)


def test_the_pandoc_filter_asks_and_writes_the_same(model, pandoc):
    write("notes.md", NOTES)
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert "5 requests, 500 + 100 tokens, 0 from cache" in done.stderr.decode()
    assert sorted(asked(model)) == ALL
    by_filter = text("notes.md")
    again = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert (again.stderr, asked(model), text("notes.md")) == (b"", [], by_filter)
    write("notes.md", NOTES)
    assert lmm("lmm rag --quiet notes.md").output == ""
    assert text("notes.md") == by_filter


def test_a_check_asks_no_model_and_needs_no_key(model, monkeypatch):
    """Something would change wherever one would be asked: a check costs nothing, and works without a key, as in CI."""
    write("notes.md", NOTES)
    checked = lmm("lmm rag --check notes.md", status=1).stderr
    assert checked == "would be annotated: notes.md\n1 of 1 files would be annotated by openai/gpt-5.4-mini\n"
    monkeypatch.delenv("OPENAI_API_KEY")
    shown = json.loads(lmm("lmm rag --check --json --model openai/gpt-5.4-mini notes.md", status=1).stdout)
    assert shown == [{"path": "notes.md", "changed": True, "reports": []}]
    assert (asked(model), text("notes.md")) == ([], NOTES)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)  # to show the difference, it asks
    assert "+~summary: Summary of Two. The mean" in lmm("lmm rag --check --diff notes.md", status=1).stdout
    assert (sorted(asked(model)), text("notes.md")) == (ALL, NOTES)


def test_files_of_a_folder_are_annotated_with_no_more_requests_at_once_than_jobs(model):
    write("book/a.md", NOTES)
    write("book/b.md", NOTES.replace("mean", "median"))
    model.delay = 0.05
    done = lmm("lmm rag --jobs 3 book")
    summary = "2 of 2 files annotated by openai/gpt-5.4-mini: 10 requests, 1,000 + 200 tokens, 0 from cache, "
    assert summary in done.stderr
    assert model.count == 10 and model.most_at_once <= 3


# One text under several headings


def test_a_section_that_gets_a_sibling_or_a_text_is_summed_up_above_again(model):
    write("notes.md", f"# One\n\n## Two\n\n{LONG}\n")
    lmm("lmm rag notes.md")
    alone = text("notes.md")
    write("notes.md", f"{alone}\n## Three\n\n{LONG}\n")
    model.requests.clear()
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ["One", "Three"]
    write("notes.md", text("notes.md").rpartition("\n## Three")[0].rpartition("\n::: {.lmm")[0])
    lmm("lmm rag notes.md")
    assert asked(model) == []
    assert "~summary" not in blocks_of("One")[-1] and value("Two", "~summary")


# Who wrote


def test_a_run_without_a_model_says_so_and_what_it_left_out(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write("notes.md", DEFINING.replace(f"Three. {RESIDUAL}", "Three."))
    planned = lmm("lmm rag --dry-run notes.md").stdout
    assert planned.startswith("Nothing would be asked, because no model is configured") and planned.count("\n") == 1
    assert lmm("lmm rag notes.md").stderr == (
        "annotated: notes.md\n"
        "1 of 1 files annotated by extractive/default; no model was asked: set OPENAI_API_KEY, or name a model in config.toml\n"
        "2 of 5 sections: nothing written without a model\n"
    )
    once = text("notes.md")
    assert "0 of 1 files annotated" in lmm("lmm rag notes.md").stderr
    assert text("notes.md") == once


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("wrong key", "the server refuses the key (401): check $OPENAI_API_KEY"),
        ("no model", "no such model or address"),
        ("no server", "cannot be reached. Is the server running?"),
    ],
)
def test_what_all_requests_would_meet_stops_the_run_and_files_stay_as_they_were(fault, message, model, monkeypatch):
    before = NOTES.replace("---\ntitle: Notes\n---\n\n", "")
    for number in range(3):
        write(f"book/{number}.md", before)
    write("book/config.toml", NO_PATIENCE)
    if fault == "wrong key":
        model.key = "sk-another"
    elif fault == "no model":
        model.fault = lambda body, number: 404
    else:
        monkeypatch.setenv("OPENAI_BASE_URL", closed_port())
    done = lmm("lmm rag --jobs 1 book", status=1)
    assert message in done.stderr and "\n0 of 3 files annotated" in done.stderr
    assert model.count == (0 if fault == "no server" else 1)
    assert [text(f"book/{number}.md") for number in range(3)] == [before] * 3


# What other documents show

SHOWN = {
    "Quarto": ("{{< include part.md >}}", "part.md"),
    "from the project's folder": ("{{< include /parts/part.qmd >}}", "parts/part.qmd"),
    "a name with a blank": ('{{< include "parts/a part.md" >}}', "parts/a part.md"),
    "as an example": ("````` markdown\n{{< include part.md >}}\n`````", "part.md"),
}


@pytest.mark.parametrize(("page", "name"), SHOWN.values(), ids=SHOWN.keys())
def test_no_header_is_written_into_what_another_document_shows(page, name, model):
    write("config.toml", "")
    write("page.md", f"# Page\n\n{LONG}\n\n{page}\n")
    write(name, f"# Part\n\n{LONG}\n")
    lmm("lmm rag .")
    assert text("page.md").startswith("---\n~title: Page\n")
    assert text(name).startswith("::: {.lmm .content-hidden}\n``` yaml\n~questions:")
    lmm(f"lmm rag '{name}'")
    assert "~docid" not in text(name)


# What is asked again


@pytest.mark.parametrize(
    ("before", "after", "again"),
    [("Two. The mean", "Two. A mean", ["Two", "One", "Notes"]), ("Two. The mean", "Two.\nThe   mean", [])],
    ids=["a subsection", "wrapped again"],
)
def test_after_an_edit_only_what_depends_on_it_is_asked(before, after, again, model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    model.requests.clear()
    change(f"\n{before}", f"\n{after}")
    planned = json.loads(lmm("lmm rag --dry-run --json notes.md").stdout)
    assert [(request["titles"][-1], request["certain"]) for request in planned] == [
        (title, title == "Two") for title in again
    ]
    lmm("lmm rag notes.md")
    assert asked(model) == again


def test_what_the_stand_in_wrote_is_made_again_once(model, monkeypatch):
    write("notes.md", DEFINING)
    monkeypatch.delenv("OPENAI_API_KEY")
    lmm("lmm rag notes.md")
    assert header()["~~annotator"] == "extractive/default"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    change("## Two", "::: lmm\n```yaml\nfrozen: true\n```\n:::\n\n## Two")
    change("# Four", "::: lmm\n```yaml\nskip: true\n```\n:::\n\n# Four")
    before = {title: blocks_of(title) for title in ("Two", "Four")}
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ["Notes", "One", "Three"]
    assert header()["~~annotator"] == "openai/gpt-5.4-mini"
    assert value("Three", "~summary").startswith("Summary of Three. A residual")
    assert {title: blocks_of(title) for title in before} == before
    lmm("lmm rag notes.md")
    assert asked(model) == []


def test_another_model_makes_nothing_again_unless_asked_to_and_keeps_what_was_corrected(model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    first = text("notes.md")
    model.requests.clear()
    lmm("lmm rag --model openai/other notes.md")
    assert (asked(model), text("notes.md")) == ([], first)
    set_summary("Three", "~summary: By hand.\n")
    model.reply = lambda body: annotate(body).replace("Summary of", "New summary of")
    lmm("lmm rag --model openai/other --refresh notes.md")
    assert {body["model"] for body in model.requests} == {"other"}
    assert sorted(asked(model)) == ALL
    assert header()["~~annotator"] == "openai/other"
    assert value("Three", "~summary") == "By hand."
    assert value("Two", "~summary").startswith("New summary of Two.")


def test_a_deleted_value_is_asked_anew_and_not_taken_from_the_cache(model):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    first = text("notes.md")
    write("notes.md", NOTES)
    model.requests.clear()
    assert "annotated by openai/gpt-5.4-mini: 0 requests, 0 + 0 tokens, 5 from cache" in lmm("lmm rag notes.md").stderr
    assert (asked(model), text("notes.md")) == ([], first)
    set_summary("Two", "")
    model.reply = lambda body: annotate(body).replace("Summary of", "Better summary of")
    lmm("lmm rag notes.md")
    assert asked(model) == ["Two", "One", "Notes"]
    assert value("Two", "~summary").startswith("Better summary of Two.")


def test_without_the_key_nothing_of_the_model_is_lost(model, monkeypatch):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    model.requests.clear()
    change("\nTwo. The mean", "\nTwo. A mean")
    write("notes.md", f"{text('notes.md')}\n# Five\n\nFive. {RESIDUAL} {LONG}\n")
    before = {title: blocks_of(title) for title in ("One", "Two", "Three")}
    monkeypatch.delenv("OPENAI_API_KEY")
    told = lmm("lmm rag notes.md").stderr
    assert "2 sections changed since a model annotated them; their annotations are kept until a model is there" in told
    assert {title: blocks_of(title) for title in before} == before
    assert header()["~~annotator"] == "openai/gpt-5.4-mini"
    assert value("Five", "~~annotator") == "extractive/default"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ["Five", "Notes", "One", "Two"]
    assert "extractive" not in text("notes.md")


# A model that fails


@pytest.mark.parametrize("status", [500, "drop"])
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
    assert value("Two", "~questions") and value("Four", "~summary")
    model.fault = None
    lmm("lmm rag notes.md")
    assert asked(model) == ["Three", "One", "Notes"]


def test_what_is_sent_where_is_said_before_it_is_sent(model, monkeypatch):
    write("notes.md", NOTES)
    said = "annotating with openai/gpt-5.4-mini: what is annotated is sent to http://models.example/v1"
    assert "is sent to" not in lmm("lmm rag notes.md --dry-run").stderr
    monkeypatch.setenv("HTTP_PROXY", model.url)  # the proxy answers in place of the server
    monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
    assert lmm("lmm rag notes.md").stderr.startswith(said)
    assert said not in lmm("lmm rag notes.md").stderr


@pytest.mark.parametrize(
    ("reply", "message"), [("", "the model's reply was empty"), ("I am sorry.", "the reply is not JSON: 'I am sorry.'")]
)
def test_a_reply_of_no_use_is_reported_and_asked_again(reply, message, model):
    write("notes.md", NOTES)
    model.reply = lambda body: reply if section_of(body) == "Two" else annotate(body)
    assert f"section not annotated: openai/gpt-5.4-mini: {message}" in lmm("lmm rag notes.md", status=1).stderr
    model.reply = annotate
    model.requests.clear()
    lmm("lmm rag notes.md")
    assert asked(model) == ["Two", "One", "Notes"]


def test_a_filter_hands_on_the_document_whatever_fails(model, pandoc):
    write("config.toml", NO_PATIENCE)
    write("notes.md", NOTES)
    replies = {
        "Three": "no JSON",
        "Four": '{"questions": ["---\\n# A mean?"], "summary": "::: ``` --> \\u0000 is said of the mean."}',
    }
    model.fault = failing("Two")
    model.reply = lambda body: replies.get(section_of(body)) or annotate(body)
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode == 0
    assert f"notes.md:{line_of('## Two')}: section not annotated: openai/gpt-5.4-mini: " in done.stderr.decode()
    assert value("Four", "~summary") == "::: ``` --> is said of the mean."
    assert squeezed(outside_metadata(text("notes.md"))) == squeezed(outside_metadata(NOTES))
    assert KEY.encode() not in done.stderr


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


# Options of the command


def test_a_dry_run_asks_and_writes_nothing_and_says_what_a_run_would_ask(model):
    write("notes.md", NOTES)
    shown = lmm("lmm rag --dry-run notes.md").stdout
    assert "notes.md: 5 by openai/gpt-5.4-mini" in shown and "5 requests, about " in shown
    planned = json.loads(lmm("lmm rag --dry-run --json notes.md").stdout)
    assert sorted(request["titles"][-1] for request in planned) == ALL
    assert all(request["tokens"] > 100 for request in planned)
    assert (model.count, text("notes.md")) == (0, NOTES)


def test_the_cache_is_shown_and_emptied(model, tmp_path):
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    path = tmp_path / "cache" / "lmm" / "cache.sqlite"
    assert f"{path}: 5 replies, 0 vectors, 0.0 MB" in lmm("lmm config cache").stdout
    assert json.loads(lmm("lmm config cache --json").stdout)["replies"] == 5
    assert "removed: 5 replies" in lmm("lmm config cache --clear").stdout
    assert "0 replies" in lmm("lmm config cache").stdout
    model.requests.clear()
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ALL


def test_a_model_without_its_key():
    write("notes.md", NOTES)
    for options, status in (("", 1), ("--dry-run", 2)):
        done = lmm(f"lmm rag {options} --model mistral/small notes.md", status)
        assert "MISTRAL_API_KEY is not set" in done.stderr
    assert "questions" not in text("notes.md")


# The header


def test_the_header_names_model_and_annotations_and_the_command_line_goes_over_it(model):
    settings = "model:\n  minor: OpenAI/special\n  RAG: [summary]\n  system: Be rude.\n"
    write("notes.md", NOTES.replace("title: Notes\n", f"title: Notes\n{settings}"))
    lmm("lmm rag notes.md")
    assert {body["model"] for body in model.requests} == {"special"}
    assert "Be rude" not in json.dumps(model.requests)
    assert sorted(asked(model)) == ALL
    assert [key for key in blocks_of("Two")[0] if key != "~~hash"] == ["~summary"]
    assert settings in text("notes.md")
    lmm("lmm rag --model openai/mine --refresh notes.md")
    assert {body["model"] for body in model.requests} == {"mine"}
