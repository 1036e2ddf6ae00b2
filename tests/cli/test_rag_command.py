"""`lmm rag` with a model, and `lmm clear --annotations`: what is asked, what it costs, and what happens when it fails."""

import json

import pytest

from lmm_core.markdown import MetadataBlock, parse_markdown_text
from tests.commands import change, run, text, write
from tests.model_server import annotate
from tests.strategies import LONG, outside_metadata, squeezed
from tests.talk import lmm

NOTES = f"""---
title: Notes
---

Preface. {LONG}

# One

One. {LONG}

## Two

Two. {LONG}

# Three

Three. {LONG}
"""
RESIDUAL = "A residual is a distance between a point and the line."
ALL = ["Notes", "One", "Three", "Two"]
NO_PATIENCE = "[minor]\nmax_retries = 0\n"


@pytest.fixture
def notes():
    return write("notes.md", NOTES)


def section_of(body):
    """Return the title of the section that a request is about."""
    return body["messages"][1]["content"].split("\n")[0].split(" > ")[-1].removeprefix("Section: ")


def asked(server):
    """Return the titles of the sections that were asked for since the last call, in order."""
    titles = [section_of(body) for body in server.requests]
    server.requests.clear()
    return titles


def values_of(title):
    """Return the values of the nearest block before a heading."""
    values = {}
    for block in parse_markdown_text(text("notes.md")):
        if block.source.strip("# \n") == title:
            return values
        values = block.content if isinstance(block, MetadataBlock) else {}
    raise AssertionError(f"no section {title}")


def header():
    return parse_markdown_text(text("notes.md"))[0].content


def line_of(heading):
    """Return the line of a heading in the notes as they were."""
    return NOTES.split("\n").index(heading) + 1


def prose(source):
    return squeezed(outside_metadata(source))


# What a user gets


def test_a_key_is_all_that_a_model_needs(model, notes):
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ALL
    assert header()["~~annotator"] == "openai/gpt-5.4-mini"
    assert values_of("Two")["~summary"].startswith("Summary of Two. The mean")
    assert values_of("Two")["~questions"][0].startswith("What of Two. The mean")
    assert prose(text("notes.md")) == prose(NOTES)
    first = text("notes.md")
    assert "0 of 1 files annotated" in lmm("lmm rag notes.md").stderr
    assert (asked(model), text("notes.md")) == ([], first)


def test_the_pandoc_filter_asks_and_writes_the_same(model, notes, pandoc):
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert "4 requests, 400 + 80 tokens, 0 from cache" in done.stderr.decode()
    by_filter = text("notes.md")
    model.requests.clear()
    again = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert (again.stderr, asked(model), text("notes.md")) == (b"", [], by_filter)
    write("notes.md", NOTES)
    assert lmm("lmm rag --quiet notes.md").output == ""
    assert text("notes.md") == by_filter


def test_a_check_asks_no_model_and_needs_no_key(model, notes, monkeypatch):
    """Something would change wherever one would be asked: a check costs nothing, and works without a key, as in CI."""
    assert lmm("lmm rag --check notes.md", status=1).stderr.startswith("would be annotated: notes.md\n")
    with monkeypatch.context() as without_key:
        without_key.delenv("OPENAI_API_KEY")
        shown = json.loads(lmm("lmm rag --check --json --model openai/gpt-5.4-mini notes.md", status=1).stdout)
    assert shown == [{"path": "notes.md", "changed": True, "reports": []}]
    assert (asked(model), text("notes.md")) == ([], NOTES)
    # to show the difference, it asks
    assert "+~summary: Summary of Two. The mean" in lmm("lmm rag --check --diff notes.md", status=1).stdout
    assert (sorted(asked(model)), text("notes.md")) == (ALL, NOTES)


def test_a_dry_run_asks_and_writes_nothing_and_says_what_a_run_would_ask(model, notes):
    shown = lmm("lmm rag --dry-run notes.md").stdout
    assert "notes.md: 4 by openai/gpt-5.4-mini" in shown and "4 requests, about " in shown
    planned = json.loads(lmm("lmm rag --dry-run --json notes.md").stdout)
    assert sorted(request["titles"][-1] for request in planned) == ALL
    assert all(request["tokens"] > 100 for request in planned)
    assert (model.count, text("notes.md")) == (0, NOTES)


def test_files_of_a_folder_are_annotated_with_no_more_requests_at_once_than_jobs(model):
    write("book/a.md", NOTES)
    write("book/b.md", NOTES.replace("mean", "median"))
    model.delay = 0.05
    done = lmm("lmm rag --jobs 3 book")
    assert "2 of 2 files annotated by openai/gpt-5.4-mini: 8 requests, 800 + 160 tokens, 0 from cache, " in done.stderr
    assert model.count == 8 and model.most_at_once <= 3


def test_the_header_names_model_and_annotations_and_the_command_line_goes_over_it(model):
    settings = "model:\n  minor: OpenAI/special\n  RAG: [summary]\n  system: Be rude.\n"
    write("notes.md", NOTES.replace("title: Notes\n", f"title: Notes\n{settings}"))
    lmm("lmm rag notes.md")
    assert {body["model"] for body in model.requests} == {"special"}
    assert "Be rude" not in json.dumps(model.requests)
    assert [key for key in values_of("Two") if key != "~~hash"] == ["~summary"]
    assert settings in text("notes.md")
    model.requests.clear()
    lmm("lmm rag --model openai/mine --refresh notes.md")
    assert {body["model"] for body in model.requests} == {"mine"}


def test_no_header_is_written_into_what_another_document_shows(model):
    write("config.toml", "")
    write("page.md", f"# Page\n\n{LONG}\n\n{{{{< include /parts/part.qmd >}}}}\n")
    part = write("parts/part.qmd", f"# Part\n\n{LONG}\n")
    lmm("lmm rag .")
    lmm("lmm rag parts/part.qmd")
    assert text("page.md").startswith("---\n~title: Page\n")
    assert text(part).startswith("::: {.lmm .content-hidden}\n``` yaml\n~questions:")
    assert "~docid" not in text(part)


# Without a model


def test_a_run_without_a_model_says_so_and_what_it_left_out():
    write("notes.md", NOTES.replace("Two. The mean", f"Two. {RESIDUAL} The mean"))
    planned = lmm("lmm rag --dry-run notes.md").stdout
    assert planned.startswith("Nothing would be asked, because no model is configured")
    told = lmm("lmm rag notes.md").stderr
    assert "annotated by extractive/default; no model was asked: set OPENAI_API_KEY, or name a model" in told
    assert told.startswith("annotated: notes.md\n") and " of 4 sections: nothing written without a model\n" in told
    once = text("notes.md")
    assert "0 of 1 files annotated" in lmm("lmm rag notes.md").stderr
    assert text("notes.md") == once


def test_without_the_key_nothing_of_the_model_is_lost(model, notes, monkeypatch):
    lmm("lmm rag notes.md")
    model.requests.clear()
    change("\nTwo. The mean", "\nTwo. A mean")
    write("notes.md", f"{text('notes.md')}\n# Five\n\n{RESIDUAL} {LONG}\n")
    before = values_of("One"), values_of("Two")
    with monkeypatch.context() as without_key:
        without_key.delenv("OPENAI_API_KEY")
        told = lmm("lmm rag notes.md").stderr
    assert "their annotations are kept until a model is there" in told
    assert (values_of("One"), values_of("Two")) == before
    assert values_of("Five")["~~annotator"] == "extractive/default"
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ["Five", "Notes", "One", "Two"]
    assert "extractive" not in text("notes.md")


# What is asked again


def test_another_model_makes_nothing_again_unless_asked_to_and_keeps_what_was_corrected(model, notes):
    lmm("lmm rag notes.md")
    first = text("notes.md")
    model.requests.clear()
    lmm("lmm rag --model openai/other notes.md")
    assert (asked(model), text("notes.md")) == ([], first)
    change(f"~summary: {values_of('Three')['~summary'][:30]}", "~summary: By hand ")
    corrected = values_of("Three")["~summary"]
    model.reply = lambda body: annotate(body).replace("Summary of", "New summary of")
    lmm("lmm rag --model openai/other --refresh notes.md")
    assert {body["model"] for body in model.requests} == {"other"}
    assert sorted(asked(model)) == ALL
    assert header()["~~annotator"] == "openai/other"
    assert values_of("Three")["~summary"] == corrected
    assert values_of("Two")["~summary"].startswith("New summary of Two.")


def test_what_was_asked_before_comes_from_the_cache_until_it_is_emptied(model, notes, tmp_path):
    lmm("lmm rag notes.md")
    first = text("notes.md")
    model.requests.clear()
    write("notes.md", NOTES)
    assert "0 requests, 0 + 0 tokens, 4 from cache" in lmm("lmm rag notes.md").stderr
    assert (asked(model), text("notes.md")) == ([], first)
    path = tmp_path / "cache" / "lmm" / "cache.sqlite"
    assert f"{path}: 4 replies, 0 vectors, 0.0 MB" in lmm("lmm config cache").stdout
    assert json.loads(lmm("lmm config cache --json").stdout)["replies"] == 4
    assert "removed: 4 replies" in lmm("lmm config cache --clear").stdout
    write("notes.md", NOTES)
    lmm("lmm rag notes.md")
    assert sorted(asked(model)) == ALL


# A model that fails


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("wrong key", "the server refuses the key (401): check $OPENAI_API_KEY"),
        ("no server", "cannot be reached. Is the server running?"),
    ],
)
def test_what_all_requests_would_meet_stops_the_run_and_files_stay_as_they_were(fault, message, model, monkeypatch):
    before = NOTES.replace("---\ntitle: Notes\n---\n\n", "")
    for name in "abc":
        write(f"book/{name}.md", before)
    write("book/config.toml", NO_PATIENCE)
    if fault == "wrong key":
        model.key = "sk-another"
    else:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    done = lmm("lmm rag --jobs 1 book", status=1)
    assert message in done.stderr and "\n0 of 3 files annotated" in done.stderr
    assert model.count == (0 if fault == "no server" else 1)
    assert [text(f"book/{name}.md") for name in "abc"] == [before] * 3


def test_a_section_that_fails_does_not_stop_the_others(model, notes):
    write("config.toml", NO_PATIENCE)
    model.fault = lambda body, number: 500 if section_of(body) == "Two" else None
    told = lmm("lmm rag notes.md", status=1).stderr
    assert f"notes.md:{line_of('## Two')}: section not annotated: openai/gpt-5.4-mini: the server reports" in told
    assert "2 sections above wait for those that failed; run again" in told
    assert "annotated in part: notes.md\n0 of 1 files annotated by openai/gpt-5.4-mini" in told
    assert sorted(asked(model)) == ["Three", "Two"]
    model.fault = None
    lmm("lmm rag notes.md")
    assert asked(model) == ["Two", "One", "Notes"]


def test_a_filter_hands_on_the_document_whatever_fails(model, notes, pandoc):
    write("config.toml", NO_PATIENCE)
    hostile = '{"questions": ["---\\n# A mean?"], "summary": "::: ``` --> \\u0000 is said of the mean."}'
    model.fault = lambda body, number: 500 if section_of(body) == "Two" else None
    model.reply = lambda body: hostile if section_of(body) == "Three" else annotate(body)
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode == 0
    assert f"notes.md:{line_of('## Two')}: section not annotated" in done.stderr.decode()
    assert values_of("Three")["~summary"] == "::: ``` --> is said of the mean."
    assert prose(text("notes.md")) == prose(NOTES)


def test_what_is_sent_where_is_said_before_it_is_sent(model, notes, monkeypatch):
    said = "annotating with openai/gpt-5.4-mini: what is annotated is sent to http://models.example/v1"
    assert "is sent to" not in lmm("lmm rag notes.md --dry-run").stderr
    monkeypatch.setenv("HTTP_PROXY", model.url)  # the proxy answers in place of the server
    monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
    assert lmm("lmm rag notes.md").stderr.startswith(said)
    assert said not in lmm("lmm rag notes.md").stderr


def test_the_file_changed_meanwhile_is_not_overwritten_and_the_next_run_is_free(model, notes):
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
    assert asked(model) == ["Three", "Notes"]


# `lmm clear --annotations`: what it takes out is in tests/scan/test_removal.py


@pytest.fixture
def annotated(model, notes):
    write("config.toml", "")
    lmm("lmm rag notes.md")
    return text("notes.md")


def test_what_was_corrected_is_kept_unless_all_is_to_go(annotated):
    write("notes.md", annotated.replace("~summary: ", "~summary: My own ", 1))
    assert "~summary was corrected by hand and is kept" in lmm("lmm clear --annotations notes.md").stderr
    assert text("notes.md").count("~summary") == 1
    lmm("lmm clear --annotations --all notes.md")
    assert text("notes.md") == NOTES


def test_cleared_the_file_is_what_it_was(annotated):
    assert "would be cleared: notes.md" in lmm("lmm clear --annotations --check notes.md", status=1).stderr
    assert "-~docid: notes.md\n" in lmm("lmm clear --annotations --diff notes.md").stdout
    assert text("notes.md") == annotated
    (said,) = json.loads(lmm("lmm clear --annotations --json notes.md").stdout)
    assert said["changed"] is True
    assert text("notes.md") == NOTES
    assert lmm("lmm clear --annotations notes.md").stderr == "0 of 1 files cleared\n"


@pytest.mark.parametrize("command", ["rag", "chat"])
def test_an_unknown_model_is_refused_once(command):
    write("a.md", NOTES)
    write("b.md", NOTES)
    refusal = lmm(f"lmm {command} . --model gpt-4", status=2)
    assert refusal.output.count("did you mean openai/gpt-4?") == 1
