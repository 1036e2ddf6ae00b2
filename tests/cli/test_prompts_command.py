"""`lmm config prompts`, and the prompts of a project from their files to what a model is told and what is made again."""

import json
import os

from lmm_core.models.prompts import KNOWN
from tests.commands import text, write
from tests.strategies import LONG
from tests.talk import lmm

NOTES = f"---\ntitle: Notes\n---\n\n# One\n\nOne. {LONG}\n\n---\n?: Why?\n---\n\n# Two\n\nTwo. {LONG}\n"
OWN = "two questions that a beginner would ask, in {language}"


def asked(model):
    """The texts of the requests since the last call."""
    texts = ["\n".join(message["content"] for message in body["messages"]) for body in model.requests]
    model.requests.clear()
    return texts


def test_a_prompt_is_begun_changed_and_shown():
    write("config.toml", "")
    ours = lmm("lmm config prompts questions").stdout
    assert ours == KNOWN["questions"].text + "\n"
    begun = lmm("lmm config prompts questions --init")
    assert '[prompts]  questions = "_prompts/questions.md"' in begun.stderr
    assert text("_prompts/questions.md") == ours
    assert "already exists" in lmm("lmm config prompts questions --init", 1).stderr
    write("config.toml", '[prompts]\nquestions = "_prompts/questions.md"\n')
    write("_prompts/questions.md", OWN)
    assert lmm("lmm config prompts questions").stdout == OWN + "\n"
    rows = {row["name"]: row for row in json.loads(lmm("lmm config prompts --json").stdout)}
    assert [name for name, row in rows.items() if row["own"]] == ["questions"] and rows.keys() == KNOWN.keys()
    assert "questions  own   which questions" in lmm("lmm config prompts").stdout
    assert "there is no prompt 'poem'; there are questions," in lmm("lmm config prompts poem", 2).stderr


def test_own_prompts_are_no_documents():
    write("notes.md", NOTES)
    write("words/questions.md", OWN)
    write("config.toml", '[prompts]\nquestions = "./words/questions.md"\n')
    lmm("lmm config prompts summary --init")
    assert "1 document," in lmm("lmm index .").output


def test_a_file_outside_of_the_project_is_not_read():
    write("notes.md", NOTES)
    write("../outside.md", "Secret.")
    os.symlink("..", "link")
    write("config.toml", '[prompts]\nquestions = "link/outside.md"\n')
    error = lmm("lmm rag --dry-run .", 2).stderr
    assert "should be a file inside" in error and "Secret" not in error


def test_a_changed_prompt_is_asked_where_something_is_asked_anew(model):
    write("config.toml", '[prompts]\nquestions = "questions.md"\n')
    write("questions.md", "three questions, in {language}")
    write("notes.md", NOTES)
    lmm("lmm rag -q notes.md")
    before = text("notes.md")
    asked(model)
    write("questions.md", OWN)
    lmm("lmm rag -q notes.md")
    assert asked(model) == [] and text("notes.md") == before
    lmm("lmm rag -q --refresh notes.md")
    assert any("two questions that a beginner would ask" in request for request in asked(model))


def test_answers_and_chats_are_asked_for_in_own_words(model, monkeypatch):
    monkeypatch.setenv("LMM_ASK__QUERIES", "keywords")
    write("notes.md", NOTES)
    write("chat.md", "Speak like a pirate. {system}")
    write("answer.md", "Speak like a sailor.\n\n{rules}{type}{tools}{teacher}")
    write("config.toml", '[prompts]\nchat = "chat.md"\nanswer = "answer.md"\n')
    lmm("lmm index -q notes.md")
    lmm("lmm ask 'What is One?'")
    assert "Speak like a sailor.\n\nPassages of the notes" in asked(model)[0]
    lmm("lmm chat -q notes.md")
    assert asked(model)[0].startswith("Speak like a pirate. You help the writer")
