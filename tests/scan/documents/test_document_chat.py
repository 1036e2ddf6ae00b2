"""Chats and edits in files, by the command and from Python, with a model server of the tests."""

import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from lmm_core.errors import ChangedError
from lmm_core.logging import ListLogger
from lmm_core.markdown import serialize_blocks
from lmm_core.scan.documents.talk import markdown_messages
from tests.commands import BIN, change, text, write
from tests.effort import PATIENCE, wait_for
from tests.strategies import LONG
from tests.talk import asked_text, block, chat_in, chats, lmm, question_of
from tests.terminal import Terminal

QUESTION = "Is the second paragraph clear to a first-year student?"
ASKING = block("?: " + QUESTION) + "\n\n"
NOTES = f"---\ntitle: T\n---\n\n# One\n\nFirst.\n\n{ASKING}Second.\n\n# Two\n\nThird.\n"
ANSWERED = [("user", QUESTION), ("model", "Mostly.")]


def spoken(body):
    """What a request says after the system message: role and text."""
    return [(message["role"], message["content"]) for message in body["messages"][1:]]


def place_of(body):
    """Where the text stands."""
    return body["messages"][1]["content"].split("\n", 1)[0].removeprefix("Place in the document: ")


@pytest.fixture
def model(model):
    model.reply = "Mostly."
    return model


# What a user gets


def test_the_answer_stands_in_the_block_and_nothing_else_changes(model):
    write("notes.md", NOTES)
    assert "1 of 1 files answered: 1 request, 100 + 20 tokens" in lmm("lmm chat notes.md").stderr
    answered = f"?: {QUESTION}\n~chat:\n  - user: {QUESTION}\n  - model: Mostly.\n"
    assert text("notes.md") == NOTES.replace(f"?: {QUESTION}\n", answered)
    lmm("lmm chat notes.md")
    assert model.count == 1


@pytest.mark.parametrize(
    ("where", "shown", "titles"),
    [
        ("---\n?: Q\ntitle: T\n---\n\nIntro.\n\n# A\n\nText.\n", "Intro.\n\n# A\n\nText.", "T"),
        (f"---\ntitle: T\n---\n\n{block('?: Q')}\n\n# A\n\nText.\n\n## B\n\nMore.\n\n# C\n\nNo.\n", "# A\n\nText.\n\n## B\n\nMore.", "T > A"),
        (f"# A\n\nNo.\n\n{block('?: Q')}\n\nText.\n\nNo.\n", "Text.", "A"),
    ],
    ids=["header", "heading", "paragraph"],
)  # fmt: skip
def test_what_the_model_is_told(where, shown, titles, model):
    write("notes.md", where)
    lmm("lmm chat notes.md")
    (body,) = model.requests
    assert (asked_text(body), place_of(body), question_of(body)) == (shown, titles, "Q")
    assert chat_in() == [("user", "Q"), ("model", "Mostly.")]


def test_the_whole_chat_goes_with_each_message(model):
    model.reply = lambda body: f"Answer to {question_of(body)}"
    write("notes.md", f"# A\n\n{block('query: Q' + chr(10) + 'message: M' + chr(10) + '+: N')}\n\nText.\n")
    lmm("lmm chat notes.md")
    first = ("user", "Place in the document: A\n\n<text>\nText.\n</text>\n\nQ")
    assert [spoken(body) for body in model.requests] == [
        [first],
        [first, ("assistant", "Answer to Q"), ("user", "M")],
        [first, ("assistant", "Answer to Q"), ("user", "M"), ("assistant", "Answer to M"), ("user", "N")],
    ]
    change("+: N\n", "+: N, really\n")
    lmm("lmm chat notes.md")
    assert len(spoken(model.requests[-1])) == 7
    assert [said for speaker, said in chat_in() if speaker == "user"] == ["Q", "M", "N", "N, really"]


def test_the_header_chooses_model_and_system_message(model):
    options = "model:\n  major: openai/big\n  minor: openai/small\n  system: Be a pirate.\n"
    write("notes.md", NOTES.replace("title: T\n", f"title: T\n{options}"))
    lmm("lmm chat notes.md")
    write("notes.md", NOTES)
    lmm("lmm chat --model openai/third notes.md")
    assert [body["model"] for body in model.requests] == ["big", "third"]
    assert model.requests[0]["messages"][0]["content"].startswith("Be a pirate.")


def test_a_long_text_is_cut_by_sections_and_that_is_said(model):
    write("config.toml", "[major]\ncontext_tokens = 1000\n")
    sections = "".join(f"# Section {at}\n\n{LONG}\n\nEnd {at}.\n\n" for at in range(12))
    write("notes.md", f"---\ntitle: T\n?: Q\n---\n\n{sections}")
    lmm("lmm chat notes.md")
    shown = asked_text(model.requests[0])
    assert shown.startswith(f"# Section 0\n\n{LONG}\n\nEnd 0.")
    assert shown.endswith("# Section 11")
    speaker, note = chat_in()[2]
    assert speaker == "note"
    assert note.startswith("the text was too long for the model, which has seen it without (parts of): Section ")
    change("?: Q\n", "?: Q\n+: M\n")
    lmm("lmm chat notes.md")
    assert "too long" not in json.dumps(model.requests[1])


def test_without_a_model_it_says_what_to_do_and_only_where_something_is_asked(monkeypatch, model):
    monkeypatch.delenv("OPENAI_API_KEY")
    write("notes.md", NOTES)
    assert "set OPENAI_API_KEY" in lmm("lmm chat notes.md", 1).stderr
    assert "extractive/default cannot chat" in lmm("lmm chat --model extractive/default notes.md", 1).stderr
    assert text("notes.md") == NOTES
    write("notes.md", NOTES.replace(ASKING, ""))
    assert "There is no new question" in lmm("lmm chat notes.md").stderr


# Edits by the command


EDITABLE = f"# A\n\n{block('=: Shorter.')}\n\nThe text.  \n\nThe rest."


def test_an_edit_is_proposed_accepted_or_rejected(model):
    write("notes.md", EDITABLE)
    assert "1 of 1 files answered" in lmm("lmm chat notes.md").stderr
    proposed = text("notes.md")
    assert "###### new text {#lmm-new-" in proposed
    assert "rejected: notes.md\n1 of 1 files rejected\n" in lmm("lmm reject notes.md").stderr
    assert re.sub("~~edit: .*\n", "", text("notes.md")) == EDITABLE
    write("notes.md", proposed)
    at = proposed.split("\n").index("Mostly.") + 1
    lmm(f"lmm accept --at {at} notes.md")
    assert text("notes.md") == "# A\n\nMostly.  \n\nThe rest."
    assert "no edit waits at line 2" in lmm("lmm accept --at 2 notes.md", 1).stderr
    write("notes.md", proposed)
    lmm("lmm clear --edits notes.md")
    assert text("notes.md") == "# A\n\nThe text.  \n\nThe rest."
    assert model.count == 1


def test_metadata_without_a_place_is_kept_beside_the_file(model):
    write("notes.md", f"Start.\n\n{block('=: x')}\n\n# A\n\n{block('type: mine')}\n\nText.\n")
    lmm("lmm chat notes.md")
    done = lmm("lmm accept notes.md", 1)
    assert "found no place in the new text" in done.stderr and "notes.md.lmm-unmerged.md" in done.stderr
    assert "type: mine" in text("notes.md.lmm-unmerged.md")
    assert text("notes.md").endswith("Mostly.\n")
    assert [report["path"] for report in json.loads(lmm("lmm scan --json .").stdout)] == ["notes.md"]


@pytest.mark.parametrize("command", ["rag", "convert --to div", "knit", "accept", "chat"])
def test_markers_that_do_not_fit_are_an_error_and_nothing_changes(command, model):
    edit = "###### {0} text {{#lmm-{0}-k3x9}}\n\nThe text.\n\n"
    broken = EDITABLE.replace("The text.  \n\n", edit.format("old") + edit.format("new")) + f"\n\n{block('?: Q')}\n"
    write("notes.md", broken)
    done = lmm(f"lmm {command} notes.md", 1)
    line = broken.split("\n").index("The text.") - 1
    assert re.findall(r"notes\.md:(\d+): .*once each", done.stderr) == [str(line)]
    assert text("notes.md") == broken
    assert model.count == 0


# While the model thinks


def during(server, work, status=0):
    """Ask, and do some work while the server answers the first request."""
    server.delay = 0.4
    timer = threading.Thread(target=lambda: (wait_for(lambda: server.count), work()))
    timer.start()
    done = lmm("lmm chat notes.md", status)
    timer.join()
    server.delay = 0
    return done


def test_what_an_editor_saves_is_kept_and_the_block_gets_its_answer(model):
    write("notes.md", NOTES)
    moved = NOTES.replace(ASKING, "").replace("Third.", ASKING.replace("?\n", "?\n+: And?\n") + "Third.")
    during(model, lambda: write("notes.md", moved))
    assert chat_in() == ANSWERED
    assert "# Two" in text("notes.md").partition("~chat")[0]
    lmm("lmm chat notes.md")
    assert chat_in() == [*ANSWERED, ("user", "And?"), ("model", "Mostly.")]


@pytest.mark.parametrize("data", [NOTES.replace(ASKING, "").encode(), None], ids=["removed", "deleted"])
def test_an_answer_without_its_block_is_kept_beside_the_file(data, model):
    write("notes.md", NOTES)
    done = during(model, lambda: os.unlink("notes.md") if data is None else write("notes.md", data), 1)
    assert "is kept in notes.md.lmm-unmerged.md" in done.stderr
    assert text("notes.md.lmm-unmerged.md") == f"**user:** {QUESTION}\n\n**model:** Mostly.\n\n"
    assert data is None or open("notes.md", "rb").read() == data


def test_an_edit_is_proposed_beside_what_has_changed(model):
    write("notes.md", EDITABLE)
    during(model, lambda: change("The rest.", "Another rest."))
    assert "Mostly." in text("notes.md") and text("notes.md").endswith("Another rest.")


@pytest.mark.parametrize(
    ("before", "after"), [("The text.", "The text, changed."), ("=: Shorter.", "=: Shorter.\n{a: 1}")]
)
def test_an_edit_of_what_has_changed_is_kept_beside_the_file(before, after, model):
    write("notes.md", EDITABLE)
    changed = EDITABLE.replace(before, after)
    during(model, lambda: write("notes.md", changed), 1)
    assert text("notes.md") == changed
    assert "**user:** Shorter.\n\nMostly." in text("notes.md.lmm-unmerged.md")


def test_a_file_that_others_keep_writing_is_given_up(model, monkeypatch):
    def find_changed(*_):
        raise ChangedError("changed")

    monkeypatch.setattr("lmm_core.scan.documents.talk.write_markdown", find_changed)
    write("notes.md", NOTES)
    assert "other programs keep writing this file" in lmm("lmm chat notes.md", 1).stderr


# Many, some, none


def test_questions_and_files_are_asked_at_the_same_time(model):
    model.delay = 0.1
    for name in "abc":
        write(f"book/{name}.md", NOTES + f"\n{block('?: Q')}\n\nA.\n\n{block('=: E')}\n\nB.\n")
    assert "3 of 3 files answered: 9 requests, 900 + 180 tokens" in lmm("lmm chat book").stderr
    assert model.most_at_once > 4


def test_what_fails_is_asked_again_and_the_rest_is_written(model):
    write("config.toml", "[major]\nmax_retries = 0\n")
    write("notes.md", NOTES + f"\n{block('?: Bad')}\n\nA.\n\n{block('=: Bad, too')}\n\nB.\n")
    model.fault = lambda body, number: 500 if "Bad" in question_of(body) else None
    done = lmm("lmm chat notes.md", 1)
    assert re.search(r"notes.md:19: question not answered: .*error 500", done.stderr)
    assert re.search(r"notes.md:25: edit not made: .*error 500", done.stderr)
    assert chat_in() == ANSWERED
    model.fault = None
    lmm("lmm chat notes.md")
    assert len(chats(text("notes.md"))) == 2 and "###### new text" in text("notes.md")


# On a terminal


@pytest.mark.slow
def test_ctrl_c_writes_what_was_answered(model):
    model.delay = lambda body: 20 if "Slow" in question_of(body) else 0
    write("notes.md", f"{NOTES}\n{block('?: Slow')}\n\nA.\n")
    started = subprocess.Popen([BIN / "lmm", "chat", "notes.md"], stderr=subprocess.PIPE)
    wait_for(lambda: model.count == 2)
    time.sleep(0.4)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=PATIENCE)
    assert started.returncode == 130
    assert b"Traceback" not in said
    assert chats(text("notes.md")) == [ANSWERED]


@pytest.mark.slow
def test_on_a_terminal_the_answer_is_shown_as_it_comes_and_written_once(model):
    model.reply, model.pause = "One two three four five \x1b[31m six.", 0.15
    write("notes.md", NOTES)
    terminal = Terminal("lmm chat notes.md")
    wait_for(lambda: "two" in terminal.read())
    assert "six" not in terminal.seen
    assert text("notes.md") == NOTES
    assert terminal.end() == 0
    assert QUESTION in terminal.seen
    assert "<text>" not in terminal.seen
    assert "five [31m six." in terminal.seen
    assert chat_in()[1] == ("model", model.reply)


@pytest.mark.slow
def test_watch_answers_at_every_save(model):
    write("notes.md", "# A\n\nText.\n")
    terminal = Terminal("lmm chat --watch notes.md")
    wait_for(lambda: "Waiting" in terminal.read())
    for question in ("One?", "Two?"):
        write("notes.md", f"# A\n\n{block('?: ' + question)}\n\nText.\n")
        wait_for(lambda: "~chat" in text("notes.md") or terminal.read(0) is None)
        assert chat_in() == [("user", question), ("model", "Mostly.")]
    os.rename("notes.md", "away.md")  # as editors do for a moment
    time.sleep(0.4)
    os.rename("away.md", "notes.md")
    time.sleep(0.4)
    terminal.press_ctrl_c()
    assert terminal.end() == 0, terminal.seen
    assert model.count == 2
    assert terminal.seen.count("answered: notes.md") == 2


# From Python


def test_the_function_does_what_the_command_does(model):
    write("notes.md", NOTES + f"\n{block('=: Shorter.')}\n\nLast.\n")
    before = text("notes.md")
    markdown_messages("notes.md", save="out.md", model="openai/other")
    assert "new text" in text("out.md") and text("notes.md") == before
    assert model.requests[-1]["model"] == "other"
    blocks = markdown_messages("notes.md")
    assert serialize_blocks(blocks) == text("notes.md")
    assert ("model", "Mostly.") in chats(text("notes.md"))[0] and "new text" in text("notes.md")


def test_what_cannot_be_read_is_reported():
    logger = ListLogger()
    write("latin.md", b"\xff")
    for path in ("missing.md", "latin.md", "."):
        assert markdown_messages(path, logger=logger) is None
    assert [report.level for report in logger.reports] == ["error"] * 3
    with pytest.raises(Exception, match="save"):
        markdown_messages("missing.md", save=3.5)
