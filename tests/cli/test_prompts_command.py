"""`lmm config prompts`, and the prompts of a project from their files to what a model is told and what is made again."""

import json
import os

import pytest

from lmm_core.models.prompts import KNOWN
from tests.commands import text, write
from tests.model_server import ModelServer
from tests.strategies import LONG
from tests.talk import lmm

NOTES = f"---\ntitle: Notes\n---\n\n# One\n\nOne. {LONG}\n\n# Two\n\nTwo. {LONG}\n"
OWN = "two questions that a beginner would ask, in {language}"


@pytest.fixture
def model(monkeypatch):
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def say_otherwise(name, words):
    """Let a project say a prompt in its own words."""
    write(f"_prompts/{name}.md", words)
    write("config.toml", f'[prompts]\n{name} = "_prompts/{name}.md"\n')


# The command


def test_own_prompts_are_no_documents():
    write("notes.md", "# What is a mean?\n\nA mean is a sum that is divided by the number of its parts.\n")
    write("words/questions.md", OWN)
    write("config.toml", '[prompts]\nquestions = "./words/questions.md"\n')
    lmm("lmm config prompts summary --init")
    assert "of 1 files" in lmm("lmm rag .").stderr
    assert "1 document," in lmm("lmm index .").output
    assert text("words/questions.md") == OWN


def test_a_prompt_is_begun_changed_and_shown():
    write("config.toml", "")
    ours = lmm("lmm config prompts questions").stdout
    assert ours == KNOWN["questions"].text + "\n"
    begun = lmm("lmm config prompts questions --init")
    assert '[prompts]  questions = "_prompts/questions.md"' in begun.stderr
    assert text("_prompts/questions.md") == ours and "{titles}" in begun.stderr
    assert "already exists" in lmm("lmm config prompts questions --init", 1).stderr
    write("config.toml", '[prompts]\nquestions = "_prompts/questions.md"\n')
    assert lmm("lmm config prompts questions").stdout == ours
    write("_prompts/questions.md", OWN)
    assert lmm("lmm config prompts questions").stdout == OWN + "\n"
    rows = {row["name"]: row for row in json.loads(lmm("lmm config prompts --json").stdout)}
    assert [name for name, row in rows.items() if row["own"]] == ["questions"] and rows.keys() == KNOWN.keys()
    assert "questions  own   which questions" in lmm("lmm config prompts").stdout
    assert "there is no prompt 'poem'; there are questions," in lmm("lmm config prompts poem", 2).stderr


# The configuration


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('questions = "_prompts/none.md"', "none.md: should be a text file"),
        ('questions = "../outside.md"', "config.toml: `prompts.questions`: should be a file inside"),
        ('questions = "link/outside.md"', "should be a file inside"),
        ('questions = "_prompts/wrong.md"', "_prompts/wrong.md: cannot be read"),
        ('question = "x.md"', "unknown key `prompts.question`"),
    ],
)
def test_a_file_that_cannot_be_used_stops_every_command_at_its_start(setting, message):
    write("notes.md", NOTES)
    write("../outside.md", "Secret.")
    os.symlink("..", "link")
    write("_prompts/wrong.md", b"Fragen \xfcber")
    write("config.toml", f"[prompts]\n{setting}\n")
    for command in ("config prompts", "rag --dry-run ."):
        error = lmm(f"lmm {command}", 2).stderr
        assert message in error and "Secret" not in error


# What a changed prompt makes again


def asked(model):
    """The texts of the requests since the last call."""
    said = ["\n".join(message["content"] for message in body["messages"]) for body in model.requests]
    model.requests.clear()
    return said


def test_a_changed_prompt_is_asked_where_something_is_asked_anew(model):
    write("config.toml", "")
    write("notes.md", NOTES)
    lmm("lmm rag -q notes.md")
    before = text("notes.md")
    asked(model)
    say_otherwise("questions", OWN)
    lmm("lmm rag -q notes.md")
    assert asked(model) == [] and text("notes.md") == before
    lmm("lmm rag -q --refresh notes.md")
    assert any("two questions that a beginner would ask" in said for said in asked(model))


# What else models are told


def test_answers_and_chats_are_asked_for_in_own_words(model, monkeypatch):
    write("notes.md", NOTES.replace("# Two", "---\n?: Why?\n---\n\n# Two"))
    say_otherwise("chat", "Speak like a pirate. {system}")
    write("_prompts/answer.md", "Speak like a sailor.\n\n{rules}{type}{tools}{teacher}")
    write(
        "config.toml",
        text("config.toml")
        + 'answer = "_prompts/answer.md"\n[ask]\nqueries = "keywords"\n[embeddings]\nencoding = "bm25"\n',
    )
    lmm("lmm index -q notes.md")
    model.requests.clear()
    lmm("lmm ask 'What is One?'")
    assert "Speak like a sailor.\n\nPassages of the notes" in asked(model)[0]
    lmm("lmm chat -q notes.md")
    assert asked(model)[0].startswith("Speak like a pirate. You help the writer")
