"""`lmm llmd`: a project in one document, from the first entry to the undo, with a model server of the tests."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from lmm_core.llmd.document import parse_llmd
from lmm_core.llmd.journal import Journal
from tests.commands import BIN, change, in_process, text, tree, write
from tests.talk import lmm
from tests.terminal import Terminal

CODE = "def total(lines):\n    return sum(lines)\n"
WISH = "Refuse negative lines, and test that."
CHANGE = """\
src/billing.py
<<<<<< SEARCH
def total(lines):
=======
def total(lines):
    if any(line < 0 for line in lines):
        raise ValueError("a negative line")
>>>>>> REPLACE
"""
TEST = """\
tests/test_billing.py
<<<<<< SEARCH
=======
from billing import total


def test_total():
    assert total([1, 2]) == 3
>>>>>> REPLACE
"""
LOG = "<<<<<< CHANGELOG\n`total` refuses negative lines.\n>>>>>> CHANGELOG\n"
MISSION = "<<<<<< SEARCH_MISSION\nInvoices.\n=======\nInvoices, without mistakes.\n>>>>>> REPLACE_MISSION\n"
REPLY = f"Negative lines are let through.\n\n{CHANGE}\n{TEST}\n{LOG}"


@pytest.fixture
def model(model):
    model.reply = REPLY
    return model


@pytest.fixture
def project():
    write("src/billing.py", CODE)
    lmm("lmm llmd new PROJECT.md --name Billing --code src/*.py")
    change("## Mission\n\n", "## Mission\n\nInvoices.\n\n", "PROJECT.md")


def wish(said=WISH):
    """Write into the entry at the end."""
    content = text("PROJECT.md")
    assert content.endswith("**Human:** \n")
    write("PROJECT.md", content[:-1] + said + "\n")


def replied(reply, said=WISH):
    """Make a document with a reply, as if a model had given it."""
    wish(said)
    write("PROJECT.md", text("PROJECT.md") + f"\n**Assistant:**\n\n{reply}")


def files():
    return {name: data for name, data in tree(without=(".lmm", "cache")).items() if data is not None}


def document(path="PROJECT.md"):
    return parse_llmd(text(path))


# New


def test_a_new_document(project):
    llmd = document()
    assert (llmd.name, llmd.problems, list(llmd.files)) == ("Billing", (), ["src/billing.py"])
    assert llmd.files["src/billing.py"].content == CODE
    assert [(entry.number, entry.human, entry.assistant) for entry in llmd.entries] == [(1, "", None)]
    before = files()
    assert "PROJECT.md: already exists" in lmm("lmm llmd new PROJECT.md", 2).stderr
    assert "the folder none does not exist; nothing was written" in lmm("lmm llmd new none/PROJECT.md", 2).stderr
    assert files() == before


def test_files_are_named_by_pattern_from_where_one_is(monkeypatch):
    os.mkdir(".git")
    for name in ("a.py", "b.py"):
        write(f"src/{name}", name)
    lmm("lmm llmd new PROJECT.md --code src/a.py src/b.py --name X")  # expanded by the shell
    monkeypatch.chdir("src")
    assert "2 files in its code context" in lmm("lmm llmd new ../other.md --code '*.py'").stderr
    assert list(document("../PROJECT.md").files) == list(document("../other.md").files) == ["src/a.py", "src/b.py"]
    lmm("lmm llmd check ../other.md")


def test_what_cannot_be_shown_is_left_out(tmp_path_factory):
    write("a.py", "a\n")
    write(".gitignore", "*.key\n")
    write("x.key", "k\n")
    outside = write(tmp_path_factory.mktemp("outside") / "y.py", "y\n")
    told = lmm(f"lmm llmd new PROJECT.md --code '*.*' {outside} gone.py").stderr
    assert list(document().files) == ["a.py"]
    assert "x.key: git ignores the file" in told
    assert "y.py: the file is not in the project" in told
    assert "gone.py: the file is missing" in told
    assert "no file matches 'no/*.py'" in lmm("lmm llmd new other.md --code 'no/*.py'", 2).stderr


# Chat


def test_the_reply_stands_in_the_document(project, model):
    wish()
    before = text("PROJECT.md")
    done = lmm("lmm llmd chat PROJECT.md --allow 'tests/*'")
    assert text("PROJECT.md").startswith(before)
    entries = [(entry.number, entry.human, entry.assistant) for entry in document().entries]
    assert entries == [(1, WISH, REPLY.strip()), (2, "", None)]
    assert "+        raise ValueError" in done.stdout and "--- /dev/null\n+++ tests/test_billing.py" in done.stdout
    assert text("src/billing.py") == CODE
    command, _, promise = done.stderr.split("\n")[-2].rpartition(" makes ")
    assert (command, promise) == ("lmm llmd apply PROJECT.md --allow 'tests/*'", "these changes")
    assert "(lmm llmd undo PROJECT.md takes it back)" in lmm(f"{command} -y").stderr
    assert "No entry needs an answer" in lmm("lmm llmd chat PROJECT.md").stderr
    assert model.count == 1


def test_what_the_model_is_told(project, model):
    model.reply = "First."
    wish("One?")
    lmm("lmm llmd chat PROJECT.md")
    wish("Two?")
    lmm("lmm llmd chat PROJECT.md")
    system, first, *rest = [(message["role"], message["content"]) for message in model.requests[-1]["messages"]]
    head = text("PROJECT.md").split("### Entry 1")[0].strip()
    assert first == ("user", f"<document>\n{head}\n</document>\n\nOne?")
    assert rest == [("assistant", "First."), ("user", "Two?")]
    assert "Instructions and Tools" in system[1]


def test_the_oldest_entries_go_first(project, model):
    model.reply = " ".join(f"word{number}" for number in range(200))
    for number in range(4):
        wish(f"{number}: " + "wish " * 300)
        done = lmm("lmm llmd chat PROJECT.md")
    assert "was not shown" not in done.stderr
    write("config.toml", "[major]\ncontext_tokens = 4000\n")
    wish("Last?")
    assert "(context_tokens): entries 1 to 2 not sent" in lmm("lmm llmd chat PROJECT.md").stderr
    asked = [message["content"] for message in model.requests[-1]["messages"]]
    assert "</document>\n\n(Left out: entries 1 to 2.)\n\n2: wish" in asked[1]
    assert asked[-1] == "Last?" and len(asked) == 6


def test_a_model_that_does_not_answer(project, model):
    model.fault = lambda body, number: 401
    wish()
    before = files()
    assert re.search(r"PROJECT.md:\d+: entry 1 was not answered: ", lmm("lmm llmd chat PROJECT.md", 1).stderr)
    assert files() == before


def test_edited_while_the_model_answers(project, model):
    """What the writer saves meanwhile stays."""

    def answer(body):
        change("## Mission\n\nInvoices.", "## Mission\n\nInvoices and more.", "PROJECT.md")
        write("PROJECT.md", text("PROJECT.md") + "\n### Entry 2\n\n**Human:** And this?\n")
        return "Yes."

    model.reply = answer
    wish()
    lmm("lmm llmd chat PROJECT.md")
    llmd = document()
    assert llmd.parts["Mission"].text == "Invoices and more."
    assert [(one.human, one.assistant) for one in llmd.entries] == [(WISH, "Yes."), ("And this?", None)]


def test_what_finds_no_place_is_kept_beside(project, model):
    model.reply = lambda body: os.remove("PROJECT.md") or "Yes."
    wish()
    assert "PROJECT.md.lmm-unmerged.md" in lmm("lmm llmd chat PROJECT.md", 1).stderr
    assert f"**Human:** {WISH}\n\n**Assistant:** Yes." in text("PROJECT.md.lmm-unmerged.md")


# Apply and undo


def test_apply_and_undo(project):
    replied(f"{REPLY}\n{MISSION}")
    before = files()
    done = lmm("lmm llmd apply PROJECT.md --allow tests --yes")
    assert "applied: 2 files and the document" in done.stderr
    assert "--- PROJECT.md (mission)\n" in done.stdout and "-Invoices.\n+Invoices, without mistakes.\n" in done.stdout
    llmd = document()
    assert text("tests/test_billing.py").startswith("from billing import total\n")
    assert "ValueError" in text("src/billing.py")
    assert {path: file.content for path, file in llmd.files.items()} == {path: text(path) for path in llmd.files}
    assert llmd.parts["Mission"].text == "Invoices, without mistakes."
    assert [item.text for item in llmd.changelog] == ["`total` refuses negative lines."]
    lmm("lmm llmd check PROJECT.md")
    assert "undone: entry 1: src/billing.py" in lmm("lmm llmd undo PROJECT.md").stderr
    assert files() == before
    assert "there is nothing to undo" in lmm("lmm llmd undo PROJECT.md", 1).stderr


@pytest.mark.parametrize(("answer", "applied"), [("y\n", True), ("n\n", False)])
def test_it_asks(project, answer, applied):
    replied(f"{CHANGE}\n{LOG}")
    before = files()
    done = in_process("llmd apply PROJECT.md", input=answer)
    assert "Change 1 file and the document? [y/N]" in done.stderr
    assert (files() != before) == applied


def test_a_hostile_path_is_refused_and_nothing_is_applied(project):
    replied(f"{CHANGE}\n../x.py\n<<<<<< SEARCH\n=======\nbad\n>>>>>> REPLACE\n\n{LOG}")
    before = files()
    line = text("PROJECT.md").split("\n").index("../x.py") + 2
    assert f"PROJECT.md:{line}: ../x.py: " in lmm("lmm llmd apply PROJECT.md -y --allow '*'", 1).stderr
    assert files() == before


def test_a_file_that_is_named_by_two_paths_is_not_changed(project):
    os.symlink("src", "link")
    replied(f"{CHANGE}\n{CHANGE.replace('src/', 'link/')}\n{LOG}")
    assert "names this file by two paths" in lmm("lmm llmd apply PROJECT.md -y --allow '*'", 1).stderr
    assert text("src/billing.py") == CODE


def test_nothing_to_apply(project):
    assert "no reply to apply" in lmm("lmm llmd apply PROJECT.md", 1).stderr
    replied(f"<think>\n{CHANGE}\n{LOG}</think>\n\nI would leave it as it is.\n")
    assert "entry 1 proposes no changes" in lmm("lmm llmd apply PROJECT.md -y").stderr
    assert text("src/billing.py") == CODE and not Journal(Path.cwd()).folder.exists()


def test_nobody_reads_the_diff(project):
    """As with `| head`: changes that were not seen are not made."""
    replied(f"{CHANGE}\n{LOG}")
    before = files()
    read, written = os.pipe()
    os.close(read)
    command = [BIN / "lmm", "llmd", "apply", "PROJECT.md", "-y"]
    done = subprocess.run(command, stdout=written, stderr=subprocess.PIPE, text=True)
    os.close(written)
    assert (done.returncode, done.stderr) == (1, "stopped, since the output was not read to its end\n")
    assert files() == before


def test_a_reply_is_applied_once_and_undo_leaves_what_was_said_since(project):
    replied(f"{CHANGE}\n{LOG}")
    before = files()
    lmm("lmm llmd apply PROJECT.md -y")
    applied = files()
    assert "entry 1 has been applied already" in lmm("lmm llmd apply PROJECT.md -y").stderr
    assert files() == applied
    complaint = "\nThat broke a test.\n"
    write("PROJECT.md", text("PROJECT.md") + complaint)
    assert "undone: entry 1" in lmm("lmm llmd undo PROJECT.md").stderr
    assert files() == before | {"PROJECT.md": before["PROJECT.md"] + complaint.encode()}


def test_undo_shows_what_has_changed_since(project):
    replied(f"{CHANGE}\n{LOG}")
    lmm("lmm llmd apply PROJECT.md -y")
    write("src/billing.py", text("src/billing.py") + "mine\n")
    before = files()
    done = lmm("lmm llmd undo PROJECT.md", 1)
    assert "+mine\n" in done.stdout and "since these files have changed, as shown: src/billing.py" in done.stderr
    assert files() == before


# Check and sync


def test_check_names_what_differs_with_its_line(project):
    for name in ("gone", "odd"):
        write(f"src/{name}.py", "x\n")
    lmm("lmm llmd new OTHER.md --code src/*.py")
    write("src/billing.py", "other\n")
    write("src/odd.py", b"\0")
    os.remove("src/gone.py")
    reported = lmm("lmm llmd check OTHER.md", 1).stderr
    lines = text("OTHER.md").split("\n")
    differing, missing, odd = (lines.index(f"### src/{name}.py") + 1 for name in ("billing", "gone", "odd"))
    assert f"OTHER.md:{differing}: src/billing.py: the code context differs from the file" in reported
    assert f"OTHER.md:{missing}: src/gone.py: the file is missing" in reported
    assert f"OTHER.md:{odd}: src/odd.py: the file is binary" in reported


def test_sync(project):
    write("src/new.py", "new\n```\n")
    change(
        "### src/billing.py",
        "### src/new.py\n\n```\n```\n\n### src/gone.py\n\n```\nx\n```\n\n### src/billing.py",
        "PROJECT.md",
    )
    write("src/billing.py", "b")
    done = lmm("lmm llmd sync PROJECT.md")
    assert "src/gone.py: the file is missing, and was taken out" in done.stderr
    assert {path: file.content for path, file in document().files.items()} == {
        "src/new.py": "new\n```\n",
        "src/billing.py": "b\n",
    }
    assert "+b\n" in done.stdout
    lmm("lmm llmd check PROJECT.md")
    assert "nothing to refresh" in lmm("lmm llmd sync PROJECT.md").stderr


def test_no_document():
    for command in ("chat", "apply", "check", "sync"):
        assert "No such file" in lmm(f"lmm llmd {command} none.md", 1).stderr


# On a terminal


@pytest.mark.slow
def test_on_a_terminal(project, model):
    """The reply streams, diffs are coloured, and invisible characters are shown."""
    model.reply = "On it.\n\n" + CHANGE.replace("ValueError", "Value\u202eError\x1b[2J") + f"\n{LOG}"
    wish()
    terminal = Terminal("lmm llmd chat PROJECT.md")
    assert terminal.end() == 0, terminal.seen
    assert "On it." in terminal.seen.split("answered:")[0]
    assert "\x1b[32m+        raise Value\\u202eError\\x1b[2J" in terminal.seen and "\x1b[2J" not in terminal.seen
    assert "\x1b[36m@@" in terminal.seen
