"""`lmm chat`, `lmm chat` and `lmm llmd chat` with a real model, which says what a grammar lets it say, or what it likes."""

import re
from pathlib import Path

import pytest

from lmm_core.llmd.document import parse_llmd
from tests.commands import text, write
from tests.llama.courses import NOTES, QUESTION, WISH, configure, let_say
from tests.strategies import outside_metadata
from tests.talk import chat_in, lmm

pytestmark = pytest.mark.model
ROOT = Path(__file__).parents[2]
LONG = f"{NOTES}\n---\n?: What is all this?\n---\n\n## More\n" + "\nMore of residuals, fits and models.\n" * 400
SAID = "The difference between an observed value and the value that the model predicts."


@pytest.mark.parametrize("asked", [QUESTION, WISH], ids=["question", "wish"])
def test_what_the_model_says_without_a_grammar_changes_nothing(server, asked):
    """It goes on until its limit, or repeats itself, or writes marks of its template."""
    configure(server)
    write("notes.md", asked)
    done = lmm("lmm chat notes.md", status=1)
    assert text("notes.md") == asked
    assert re.search(r"^notes\.md:\d+: (question not answered|edit not made): llamacpp/", done.stderr, re.M)


def test_a_text_that_the_context_has_no_room_for(server, monkeypatch):
    """The error names a setting; with that, the question is answered from what fits."""
    configure(server)
    config = text("config.toml")
    write("config.toml", config.replace("context_tokens = 1500", "context_tokens = 100000"))
    write("notes.md", LONG)
    [line] = [line for line in lmm("lmm chat notes.md", status=1).stderr.splitlines() if line.startswith("notes.md:")]
    assert "exceeds the available context size (2048 tokens)" in line
    assert "context_tokens under [major] in config.toml" in line
    assert text("notes.md") == LONG
    write("config.toml", config)
    let_say(monkeypatch, SAID)
    lmm("lmm chat notes.md")
    assert ("model", SAID) in chat_in()


def test_the_configuration_of_the_docs(server, monkeypatch):
    [shown] = re.findall(r"```toml\n(\[major\]\nmodel = \"llamacpp/.*?)```", text(ROOT / "docs" / "models.md"), re.S)
    write("config.toml", f'{shown}\n[sources.llamacpp]\nbase_url = "{server.url}"\n')
    let_say(monkeypatch, SAID)
    write("notes.md", QUESTION)
    done = lmm("lmm chat notes.md")
    assert chat_in()[-1][1] == SAID
    assert outside_metadata(text("notes.md")) == outside_metadata(NOTES)
    assert re.search(r"1 request, \d+ \+ \d+ tokens", done.stderr)


def test_a_document_of_a_project_is_answered(server, monkeypatch):
    configure(server, max_tokens=100)
    let_say(monkeypatch, "It adds the lines.\n\n<<<<<< CHANGELOG\nNothing has changed yet.\n>>>>>> CHANGELOG")
    write("src/billing.py", "def total(lines):\n    return sum(lines)\n")
    lmm("lmm llmd new PROJECT.md --name Billing --code src/*.py")
    document = write("PROJECT.md", text("PROJECT.md").rstrip() + " What does total do?\n")
    lmm("lmm llmd chat PROJECT.md")
    assert "It adds the lines." in parse_llmd(text(document)).entries[0].assistant
    assert text("src/billing.py") == "def total(lines):\n    return sum(lines)\n"
