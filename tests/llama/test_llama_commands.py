"""Commands with a real model, which says what a grammar lets it say, or what it likes: answers with their sources,
nothing poor in a file, and an end to each."""

import re
import signal
import time
from pathlib import Path

import pytest

from lmm_core.markdown import blocks_to_tree, parse_markdown_text
from lmm_core.markdown.tree import sections
from tests.commands import text, write
from tests.effort import PATIENCE, wait_for
from tests.indexing import lmm
from tests.llama.courses import NOTES, QUESTION, configure, let_go_on, let_say, start
from tests.llama_server import SOON
from tests.real_files import SAMPLE
from tests.serving import Served
from tests.strategies import outside_metadata
from tests.talk import chat_in

pytestmark = pytest.mark.model
ROOT = Path(__file__).parents[2]
ANSWER = "A residual is the difference between an observed value and the value that the model predicts [1]."
ASKED = {"question": "What is a residual?"}
MARKS = re.compile(r"</?(text|source|notes|question)\b|<\|?(im_|start_of|end_of)|\[/?INST\]|[{}\\]\s*\"|^\W*$")


@pytest.fixture
def notes(server, tmp_path):
    """An indexed course whose model is the server's."""
    return indexed(server, tmp_path)


def indexed(server, folder, max_tokens=1200):
    configure(server, max_tokens=max_tokens)
    write("notes.md", NOTES)
    lmm("index notes.md -q")
    return folder


# Answers


def test_an_answer_without_a_grammar_ends(notes, server):
    """Whatever it says: it is cut off at its limit, or stopped, and that is said."""
    configure(server)
    _, err = lmm("ask 'What is a residual?'", status=1)
    assert "the answer was stopped" in err or "the reply was cut off" in err


def test_an_answer_that_nobody_waits_for_or_takes_too_long_is_ended(notes, server, monkeypatch):
    let_go_on(monkeypatch)
    with Served(notes, timeout=4.0) as served:
        with served.client.stream("POST", "/ask", json=ASKED) as response:
            heard, parts = "", response.iter_text()
            while "event: part" not in heard:
                heard += next(parts)
            assert server.is_busy
        assert server.is_idle_within(SOON)
        assert served.events(ASKED)[-1][0] == "error"
    assert server.is_idle_within(SOON)


# Work on files


def test_the_configuration_of_the_docs(server, monkeypatch):
    [shown] = re.findall(r"```toml\n(\[major\]\nmodel = \"llamacpp/.*?)```", text(ROOT / "docs" / "models.md"), re.S)
    write("config.toml", f'{shown}\n[sources.llamacpp]\nbase_url = "{server.url}"\n')
    let_say(monkeypatch, ANSWER)
    write("notes.md", QUESTION)
    _, stderr = lmm("chat notes.md")
    assert chat_in()[-1][1] == ANSWER
    assert outside_metadata(text("notes.md")) == outside_metadata(NOTES)
    assert re.search(r"1 request, \d+ \+ \d+ tokens", stderr)


def test_what_the_model_says_without_a_grammar_changes_nothing(server):
    """It goes on until its limit, or repeats itself, or writes marks of its template."""
    configure(server)
    write("notes.md", QUESTION)
    _, stderr = lmm("chat notes.md", status=1)
    assert text("notes.md") == QUESTION
    assert re.search(r"^notes\.md:\d+: question not answered: llamacpp/", stderr, re.M)


def assert_fit_for_students(document):
    """No annotation of a document is a number, a label or an echo of marks."""
    for node in sections(blocks_to_tree(parse_markdown_text(document))):
        questions, summary = node.properties.get("~questions", []), node.properties.get("~summary", "")
        assert len({question.casefold() for question in questions}) == len(questions)
        assert all(re.search(r"[?？;]\W*$", question) for question in questions), questions
        assert not summary or re.search(r"[.!?…。]\W*$", summary), summary
        for annotation in [*questions, *([summary] if summary else [])]:
            assert len(re.findall(r"[^\W\d_]{2,}", annotation)) >= 3 and not MARKS.search(annotation), annotation


def test_no_poor_annotation_is_written_and_what_fails_is_said_with_its_place(server):
    configure(server)
    before = text(SAMPLE / "rust-book/ch03-04-comments.md")
    write("notes.md", before)
    _, stderr = lmm("rag notes.md", status=1)
    assert outside_metadata(text("notes.md")) == outside_metadata(before)
    assert_fit_for_students(text("notes.md"))
    assert re.search(r"^notes\.md:\d+: .*not annotated", stderr, re.M)


# Ends


def test_ctrl_c_in_the_middle_of_work_on_a_file(server):
    configure(server, max_tokens=500)
    write("notes.md", NOTES)
    process = start("rag", "notes.md")
    wait_for(lambda: server.is_busy)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - began < SOON
    assert process.returncode == 130 and b"Traceback" not in err
    assert outside_metadata(text("notes.md")) == outside_metadata(NOTES)
    assert server.is_idle_within(SOON)


def test_the_server_dies_in_the_middle_of_an_answer(own_server, tmp_path, monkeypatch):
    let_go_on(monkeypatch)
    indexed(own_server, tmp_path)
    process = start("ask", "What is a residual?")
    first = process.stdout.read(1)
    own_server.kill()
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and first
    assert b"the connection broke off in the middle of the answer" in err and b"Traceback" not in err
