"""The command `lmm ask`, over the sample book."""

import json
import os
import subprocess

import pytest

from tests.commands import in_process, write
from tests.effort import wait_for
from tests.model_server import ModelServer
from tests.terminal import Terminal


def answering(body):
    """Answer as a model that makes queries of a question, and an answer of notes."""
    if "`queries`" in body["messages"][0]["content"]:
        return json.dumps({"queries": ["mean median outlier", "robust summary"]})
    question = body["messages"][-1]["content"].rpartition("</notes>")[2]
    if "*exercise*" in question:
        return f"Take the nap study, and let one student sleep for 15 hours [{number(body, 'had slept 15 hours')}]."
    return "NO_ANSWER" if "cup" in question else f"When a few wild values carry it away [{number(body, 'robust')}]."


def number(body, words):
    """Return the number of the first source with some words."""
    sources = body["messages"][-1]["content"].split("<source n=")[1:]
    return next((at for at, source in enumerate(sources, 1) if words in source), 2)


def ask(command, server=None, stdin="", status=0, **env):
    """Return standard output and standard error of `lmm ask …`."""
    keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.url} if server else {}
    done = in_process(f"ask {command}", input=stdin, env=keys | env)
    assert done.exit_code == status, done.output
    return done.stdout, done.stderr


def test_a_session_goes_on_from_what_was_asked(indexed_book):
    with ModelServer(reply=answering) as server:
        out, said = ask("", server, stdin="When does the mean mislead?\n\nAnd the median?\n")
        last = [message["content"] for message in server.requests[-1]["messages"]]
        queries = [body for body in server.requests if "`queries`" in body["messages"][0]["content"]]
    assert out.count("\n[1] Describing distributions") == 2
    assert last[1:3] == ["When does the mean mislead?", "When a few wild values carry it away [1]."]
    assert len(queries) == 1  # the words of the first question are enough
    assert "When does the mean mislead?" in queries[0]["messages"][-1]["content"]
    assert "*definition* *exercise* *summary* *topic*" in said


def test_a_question_is_expanded_by_the_model_and_answered_once(indexed_book):
    with ModelServer(reply=answering) as server:
        ask("'When does the mean deceive an audience?'", server)
        assert server.count == 2
        ask("'When does the mean deceive an audience?'", server)
        assert server.count == 2  # from the cache
        context, _ = ask("--no-model 'When does the mean mislead?'", server)
        assert server.count == 2
    assert context.startswith('<source n="1">')


def test_answers_for_programs(indexed_book):
    answer = json.loads(ask("--json 'What is the standard error?'")[0])
    assert (answer["answered"], answer["by"]) == (True, "extractive/default")
    assert answer["sources"][0]["place"] == "04-estimation.md:50-60"
    assert json.loads(ask("--json 'How do I bake bread without yeast?'")[0])["answered"] is False
    exercises = json.loads(ask("--no-model --json --budget 300 --type exercise mean")[0])
    assert {type for source in exercises["sources"] for type in source["types"]} == {"exercise"}
    assert exercises["tokens"] <= 300


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("mean", 1, "Nothing is indexed here yet. To index the notes, run: lmm index ."),
        ("''", 2, "The question is empty"),
        ("--budget 3 x", 2, "200"),
    ],
)
def test_what_cannot_be_asked(command, status, said):
    assert said in ask(command, status=status)[1]


def test_the_sources_of_an_answer_that_broke_off_are_shown(indexed_book, monkeypatch):
    choice = {"index": 0, "delta": {"content": "Far [2] away"}, "finish_reason": "length"}
    part = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    monkeypatch.setattr("tests.model_server.parts_of", lambda body, text: [json.dumps(part).encode(), b"[DONE]"])
    monkeypatch.setenv("LMM_ASK__QUERIES", "keywords")
    with ModelServer() as server:
        out, said = ask("'When does the mean mislead?'", server, status=1)
        answer = json.loads(ask("--json 'When does the mean mislead?'", server, status=1)[0])
    assert out.startswith("Far [1] away\n\n[1] Describing distributions")
    assert "openai/gpt-5.4-mini: the reply was cut off after 5 tokens" in said
    assert (answer["answer"], answer["notes"]) == ("Far [1] away", [said.splitlines()[-1].removeprefix("Error: ")])


@pytest.mark.slow
def test_others_can_index_while_a_session_waits_for_a_question_and_ctrl_c_ends_it(indexed_book, monkeypatch):
    write("config.toml", "[ask]\nqueries = 'keywords'\n")
    with ModelServer(reply="Stripes confuse flies [1].") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        terminal = Terminal("lmm ask")
        wait_for(lambda: "? " in terminal.read())
        os.write(terminal.screen, b"When does the mean mislead?\r")
        wait_for(lambda: terminal.read().count("? \x1b") == 2)
        write("zebras.md", "# Zebras\n\nZebras have stripes, and stripes confuse the flies that bite.\n")
        assert subprocess.run(["lmm", "index", "-q", ".", "zebras.md"]).returncode == 0
        os.write(terminal.screen, b"And the zebras?\r")
        wait_for(lambda: terminal.read().count("? \x1b") == 3)
        terminal.press_ctrl_c()
        assert terminal.end() == 0, terminal.seen
        asked = [message["content"] for message in server.requests[-1]["messages"]]
    assert "Zebras have stripes" in asked[-1]
    assert asked[1:3] == ["When does the mean mislead?", "Stripes confuse flies [1]."]
