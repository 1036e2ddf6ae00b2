"""`lmm llmd`: a project in one document, from the first entry to the undo, with a model server of the tests."""

import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from lmm_core.cli import cli
from lmm_core.cli.reports import diff_lines
from lmm_core.errors import ModelError
from lmm_core.llmd.chat import make_request
from lmm_core.llmd.document import parse_llmd
from lmm_core.llmd.journal import Journal
from lmm_core.llmd.project import root_of
from tests.commands import BIN, run, text, write
from tests.model_server import ModelServer
from tests.talk import lmm

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
def model(monkeypatch):
    with ModelServer(REPLY) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


@pytest.fixture
def project():
    write("src/billing.py", CODE)
    lmm("lmm llmd new PROJECT.md --name Billing --code src/*.py")
    change("## Mission\n\n", "## Mission\n\nInvoices.\n\n")


def change(before, after, path="PROJECT.md"):
    """Change a text in a file, as a writer does in an editor."""
    content = text(path)
    assert content.count(before) == 1, content
    write(path, content.replace(before, after))


def wish(said=WISH):
    """Write into the entry at the end."""
    content = text("PROJECT.md")
    assert content.endswith("**Human:** \n")
    write("PROJECT.md", content[:-1] + said + "\n")


def replied(reply, said=WISH):
    """Make a document with a reply, as if a model had given it."""
    wish(said)
    write("PROJECT.md", text("PROJECT.md") + f"\n**Assistant:**\n\n{reply}")


def tree():
    return {
        str(path): path.read_bytes()
        for path in Path().rglob("*")
        if path.is_file() and path.parts[0] not in (".lmm", "cache")
    }


def document(path="PROJECT.md"):
    return parse_llmd(text(path))


# New


def test_a_new_document(project):
    llmd = document()
    assert (llmd.name, llmd.problems, list(llmd.files)) == ("Billing", (), ["src/billing.py"])
    assert llmd.files["src/billing.py"].content == CODE
    assert "SEARCH_MISSION" in llmd.tools.text and "CHANGELOG" in llmd.tools.text and llmd.instructions.text
    assert [(entry.number, entry.human, entry.assistant) for entry in llmd.entries] == [(1, "", None)]


def test_nothing_is_written_over(project):
    before = text("PROJECT.md")
    assert "PROJECT.md: already exists" in lmm("lmm llmd new PROJECT.md", 2).stderr
    os.symlink("nowhere", "link.md")
    assert "already exists" in lmm("lmm llmd new link.md", 2).stderr
    assert text("PROJECT.md") == before and not Path("nowhere").exists()


def test_the_shell_may_expand_the_pattern():
    for name in ("a.py", "b.py", "c.py"):
        write(f"src/{name}", name)
    lmm("lmm llmd new PROJECT.md --code src/a.py src/b.py src/c.py --name X")
    assert list(document().files) == ["src/a.py", "src/b.py", "src/c.py"]
    lmm("lmm llmd new sub.md --code 'src/**/*.py'")
    assert (document("sub.md").files.keys(), document("sub.md").name) == (document().files.keys(), "sub")


def test_what_cannot_be_shown_is_left_out(tmp_path_factory):
    write("a.py", "a\n")
    write(".gitignore", "*.key\n")
    write("x.key", "k\n")
    Path("x.bin").write_bytes(b"\0")
    outside = write(tmp_path_factory.mktemp("outside") / "y.py", "y\n")
    said = lmm(f"lmm llmd new PROJECT.md --code '*.*' {outside} gone.py").stderr
    assert list(document().files) == ["a.py"]
    for reason in (
        "x.key: git ignores the file",
        "x.bin: the file is binary",
        "y.py: the file is not in the project",
        "gone.py: the file is missing",
    ):
        assert reason in said
    assert "no file matches 'no/*.py'" in lmm("lmm llmd new other.md --code 'no/*.py'", 2).stderr
    for folder in (".", "--code ."):
        assert "is a folder" in lmm(f"lmm llmd new other.md {folder}", 2).stderr


def test_what_no_new_document_can_be():
    assert "the folder none does not exist; nothing was written" in lmm("lmm llmd new none/PROJECT.md", 2).stderr
    assert "the name 'x {#y}' cannot be used in a heading" in lmm("lmm llmd new PROJECT.md --name 'x {#y}'", 1).stderr
    assert not list(Path().iterdir())


def test_paths_start_from_the_projects_folder(monkeypatch):
    os.mkdir(".git")
    write("src/a.py", "a\n")
    os.mkdir("docs")
    monkeypatch.chdir("src")
    lmm("lmm llmd new ../docs/PROJECT.md --code '*.py'")
    assert list(document("../docs/PROJECT.md").files) == ["src/a.py"]
    lmm("lmm llmd check ../docs/PROJECT.md")


def test_the_root_is_the_same_from_wherever_one_works(project, monkeypatch, tmp_path):
    assert root_of(Path("PROJECT.md")) == tmp_path
    monkeypatch.chdir("..")
    assert root_of(tmp_path / "PROJECT.md") == tmp_path


# Chat


def test_the_reply_stands_in_the_document(project, model):
    wish()
    before = text("PROJECT.md")
    done = lmm("lmm llmd chat PROJECT.md --allow tests")
    assert text("PROJECT.md").startswith(before)
    entries = document().entries
    assert [(one.number, one.human, one.assistant) for one in entries] == [(1, WISH, REPLY.strip()), (2, "", None)]
    assert "+        raise ValueError" in done.stdout and "--- /dev/null\n+++ tests/test_billing.py" in done.stdout
    assert text("src/billing.py") == CODE
    assert "lmm llmd apply PROJECT.md --allow tests makes these changes" in done.stderr
    assert "No entry needs an answer" in lmm("lmm llmd chat PROJECT.md").stderr
    assert model.count == 1


def test_the_command_that_is_named_can_be_typed(project, model):
    os.rename("PROJECT.md", "my plan #1.md")
    change("**Human:** ", f"**Human:** {WISH}", "my plan #1.md")
    said = lmm("lmm llmd chat 'my plan #1.md' --allow 'tests/*'").stderr
    named = said.split("\n")[-2].removesuffix(" makes these changes")
    assert "(lmm llmd undo 'my plan #1.md' takes it back)" in lmm(f"{named} -y").stderr


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


def test_a_document_without_tools_gets_ours(model):
    write("PROJECT.md", f"# Project: X\n\n## Conversation Thread\n\n### Entry 1\n\n**Human:** {WISH}\n")
    said = lmm("lmm llmd chat PROJECT.md").stderr
    assert "PROJECT.md:1: warning: " in said
    assert "SEARCH_MISSION" in model.requests[0]["messages"][0]["content"]
    assert document().entries[0].assistant == REPLY.strip()


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


def test_a_document_that_is_too_long(project):
    wish()
    llmd = document()
    with pytest.raises(ModelError, match="tokens too long for the model"):
        make_request(llmd, llmd.entries[0], 100)
    assert make_request(llmd, llmd.entries[0], 100_000)[1] == []


@pytest.mark.parametrize(("reply", "why"), [("", "no text|empty"), (" \n", "empty")])
def test_a_reply_of_no_use(project, model, reply, why):
    model.reply = reply
    wish()
    before = text("PROJECT.md")
    assert re.search(rf"PROJECT.md:\d+: entry 1 was not answered: .*({why})", lmm("lmm llmd chat PROJECT.md", 1).stderr)
    assert text("PROJECT.md") == before


def test_without_a_model(project):
    wish()
    before = text("PROJECT.md")
    assert "set OPENAI_API_KEY" in lmm("lmm llmd chat PROJECT.md", 1).stderr
    assert text("PROJECT.md") == before


@pytest.mark.parametrize(
    "reply",
    [
        "### Entry 7\n\n**Human:** mine",
        "```\nopen",
        "<!-- open",
        "## Conversation Thread",
        "---\nx: [\n---",
        "\ufeff\x1b[31m",
    ],
)
def test_any_reply_is_stored_and_changes_nothing_else(project, model, reply):
    model.reply = reply
    wish()
    lmm("lmm llmd chat PROJECT.md")
    assert [(one.number, one.human, one.assistant) for one in document().entries] == [(1, WISH, reply), (2, "", None)]
    assert document().files["src/billing.py"].content == CODE


@pytest.mark.parametrize("fault", [401, "drop", "break", "end", ""])
def test_a_model_that_does_not_answer(project, model, fault):
    """The document stays as it is or holds the reply; the files stay as they are in any case."""
    model.fault = lambda body, number: fault or None
    model.reply = REPLY if fault else "  \n"
    wish()
    before = tree()
    done = lmm("lmm llmd chat PROJECT.md", 1)
    assert "entry 1 was not answered: " in done.stderr and "Traceback" not in done.stderr
    assert tree() == before


def test_edited_while_the_model_answers(project, model):
    """What the writer saves meanwhile stays."""

    def answer(body):
        change("## Mission\n\nInvoices.", "## Mission\n\nInvoices and more.")
        write("PROJECT.md", text("PROJECT.md") + "\n### Entry 2\n\n**Human:** And this?\n")
        return "Yes."

    model.reply = answer
    wish()
    lmm("lmm llmd chat PROJECT.md")
    llmd = document()
    assert llmd.mission.text == "Invoices and more."
    assert [(one.human, one.assistant) for one in llmd.entries] == [(WISH, "Yes."), ("And this?", None)]


@pytest.mark.parametrize("what", ["entry", "file"])
def test_what_finds_no_place_is_kept_beside(project, model, what):
    def answer(body):
        change(WISH, "Something else.") if what == "entry" else os.remove("PROJECT.md")
        return "Yes."

    model.reply = answer
    wish()
    assert "PROJECT.md.lmm-unmerged.md" in lmm("lmm llmd chat PROJECT.md", 1).stderr
    assert f"**Human:** {WISH}\n\n**Assistant:** Yes." in text("PROJECT.md.lmm-unmerged.md")
    assert what == "file" or document().entries[0].assistant is None


def test_two_entries_with_one_number(project, model):
    """The reply goes to the entry that was asked."""
    wish("First.")
    write("PROJECT.md", text("PROJECT.md") + f"\n### Entry 1\n\n**Human:** {WISH}\n")
    assert "entry 1 comes after entry 1" in lmm("lmm llmd chat PROJECT.md").stderr
    assert [one.assistant for one in document().entries][:2] == [None, REPLY.strip()]


def test_a_fence_that_the_writer_leaves_open(project, model):
    wish("Look at this:\n\n```\nopen")
    assert "is not closed" in lmm("lmm llmd chat PROJECT.md").stderr
    assert document().entries[0].assistant == REPLY.strip()


# Apply and undo


def test_apply_and_undo(project):
    replied(f"{REPLY}\n{MISSION}")
    before = tree()
    done = lmm("lmm llmd apply PROJECT.md --allow tests --yes")
    assert "applied: 2 files and the document" in done.stderr
    assert (
        "--- PROJECT.md (mission)\n+++ PROJECT.md (mission)\n@@ -1 +1 @@\n-Invoices.\n+Invoices, without mistakes.\n"
        in done.stdout
    )
    llmd = document()
    assert text("tests/test_billing.py").startswith("from billing import total\n") and "ValueError" in text(
        "src/billing.py"
    )
    assert {path: file.content for path, file in llmd.files.items()} == {path: text(path) for path in llmd.files}
    assert (llmd.mission.text, [item.text for item in llmd.changelog]) == (
        "Invoices, without mistakes.",
        ["`total` refuses negative lines."],
    )
    assert [one.human for one in llmd.entries] == [WISH]
    lmm("lmm llmd check PROJECT.md")
    assert "has been applied already" in lmm("lmm llmd apply PROJECT.md --allow tests --yes").stderr
    assert "undone: entry 1: src/billing.py" in lmm("lmm llmd undo PROJECT.md").stderr
    assert tree() == before
    assert "there is nothing to undo" in lmm("lmm llmd undo PROJECT.md", 1).stderr
    lmm("lmm llmd apply PROJECT.md --allow tests --yes")


def test_a_file_is_deleted_and_comes_back_with_its_mode(project):
    os.chmod("src/billing.py", 0o755)
    replied(f"src/billing.py\n<<<<<< SEARCH\n{CODE}=======\n>>>>>> REPLACE\n\n{LOG}")
    done = lmm("lmm llmd apply PROJECT.md -y")
    assert "+++ /dev/null" in done.stdout
    assert not Path("src/billing.py").exists() and not document().files
    lmm("lmm llmd undo PROJECT.md")
    assert (text("src/billing.py"), os.stat("src/billing.py").st_mode & 0o777) == (CODE, 0o755)


def test_line_ends_of_files_and_document_stay(project):
    write("src/billing.py", CODE.replace("\n", "\r\n"))
    replied(f"{CHANGE}\n{LOG}")
    write("PROJECT.md", text("PROJECT.md").replace("\n", "\r\n"))
    lmm("lmm llmd apply PROJECT.md -y")
    for path in ("src/billing.py", "PROJECT.md"):
        assert text(path).count("\n") == text(path).count("\r\n") > 3, path


@pytest.mark.parametrize(("answer", "applied"), [("y\n", True), ("n\n", False), ("\n", False), ("", False)])
def test_it_asks(project, answer, applied):
    replied(f"{CHANGE}\n{LOG}")
    before = tree()
    done = CliRunner().invoke(cli, ["llmd", "apply", "PROJECT.md"], input=answer)
    assert "Change 1 file and the document? [y/N]" in done.stderr
    assert (tree() != before) == applied
    assert (done.exit_code == 0) == bool(answer)


PATHS = {
    "../x.py": "leads out", "/etc/x.py": "absolute", "other.py": "the file is not in the code context",
    ".git/hooks/pre-commit": "belongs to git", ".GIT/x": "belongs to git", ".lmm/x": "belongs to lmm", "out/x.py": "this is a link out",
    "PROJECT.md": "the document itself", "local.key": "git ignores the file", "CON": "device", "src": "a folder",
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_hostile_path_is_refused_and_nothing_is_applied(project, path, tmp_path_factory):
    os.symlink(tmp_path_factory.mktemp("outside"), "out")
    write(".gitignore", "*.key\n")
    replied(f"{CHANGE}\n{path}\n<<<<<< SEARCH\n=======\nbad\n>>>>>> REPLACE\n\n{LOG}")
    before = tree()
    allow = "" if path == "other.py" else "--allow '*'"
    done = lmm(f"lmm llmd apply PROJECT.md -y {allow}", 1)
    line = text("PROJECT.md").split("\n").index(path) + 2
    assert f"PROJECT.md:{line}: {path}: " in done.stderr and "entry 1 cannot be applied" in done.stderr
    assert PATHS[path] in done.stderr
    assert tree() == before


REPLIES = {
    "not there": ("src/billing.py\n<<<<<< SEARCH\ndef totals(lines):\n=======\nx\n>>>>>> REPLACE\n", "src/billing.py: .*SEARCH"),
    "not closed": ("src/billing.py\n<<<<<< SEARCH\ndef total(lines):\n=======\nx\n", "has no end"),
    "nearly a mark": (CHANGE.replace("SEARCH", "SEARCH>"), r"PROJECT.md:\d+: `<<<<<< SEARCH>` is not a mark"),
    "no path": ("\n<<<<<< SEARCH\na\n=======\nb\n>>>>>> REPLACE\n", "path"),
    "not the mission": (MISSION.replace("Invoices.\n==", "Invoice\n=="), "mission"),
    "there already": ("src/billing.py\n<<<<<< SEARCH\n=======\nb\n>>>>>> REPLACE\n", "already exists"),
    "binary": ("src/billing.py\n<<<<<< SEARCH\ndef total(lines):\n=======\n\0\n>>>>>> REPLACE\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_that_does_not_fit_changes_nothing(project, name):
    reply, why = REPLIES[name]
    replied(f"{LOG}\n{reply}\n")
    before = tree()
    assert re.search(why, lmm("lmm llmd apply PROJECT.md -y", 1).stderr)
    assert tree() == before


def test_without_a_changelog_entry_it_warns(project):
    replied(CHANGE)
    assert re.search(r"PROJECT.md:\d+: warning: .*[Cc]hangelog|CHANGELOG", lmm("lmm llmd apply PROJECT.md -y").stderr)
    assert "ValueError" in text("src/billing.py")


def test_nothing_to_apply(project):
    assert "no reply to apply" in lmm("lmm llmd apply PROJECT.md", 1).stderr
    replied("I would leave it as it is.\n")
    assert "entry 1 proposes no changes" in lmm("lmm llmd apply PROJECT.md").stderr
    assert not Journal(Path.cwd()).folder.exists()


def test_a_draft_in_the_thoughts_is_not_applied(project, model):
    """Neither one that a model sends, nor one that stands in the document."""
    thoughts = f"<think>\n{CHANGE}\n{LOG}</think>\n\nNothing needs to change."
    model.reply = thoughts
    wish()
    assert "entry 1 proposes no changes" in lmm("lmm llmd chat PROJECT.md").stderr
    assert document().entries[0].assistant == "Nothing needs to change."
    write("PROJECT.md", text("PROJECT.md").replace("Nothing needs to change.", thoughts))
    before = tree()
    assert "entry 1 proposes no changes" in lmm("lmm llmd apply PROJECT.md -y").stderr
    assert tree() == before


def test_two_paths_of_one_file(project):
    os.symlink("src", "link")
    other = CHANGE.replace("src/", "link/").replace("negative line", "bad line")
    replied(f"{CHANGE}\n{other}\n{LOG}")
    before = tree()
    assert "names this file by two paths" in lmm("lmm llmd apply PROJECT.md -y --allow link", 1).stderr
    assert tree() == before


@pytest.mark.parametrize(
    "reply", [LOG, CHANGE.replace("\ndef total(lines):\n    if", "\ndef total(lines):\n    # :\n    if") + LOG]
)
def test_a_reply_is_applied_once(project, reply):
    """Its text would be found again, and something else was done in between."""
    replied(reply)
    lmm("lmm llmd apply PROJECT.md -y")
    write("src/billing.py", text("src/billing.py") + "\n")
    lmm("lmm llmd sync PROJECT.md")
    before = tree()
    assert "entry 1 has been applied already" in lmm("lmm llmd apply PROJECT.md -y").stderr
    assert tree() == before


def test_a_mission_where_there_was_none(project):
    change("## Mission\n\nInvoices.\n", "## Mission\n")
    replied(MISSION.replace("\nInvoices.\n=", "\n="))
    shown = lmm("lmm llmd apply PROJECT.md -y").stdout
    assert shown.endswith("@@ -0,0 +1 @@\n+Invoices, without mistakes.\n")
    assert document().mission.text == "Invoices, without mistakes."


def test_a_name_in_another_spelling(project):
    """`ö` is two characters on disk, and one in the reply."""
    write("src/lo\u0308s.py", "a\n")
    change("### src/billing.py", "### src/lo\u0308s.py\n\n```\na\n```\n\n### src/billing.py")
    replied(f"src/l\u00f6s.py\n<<<<<< SEARCH\na\n=======\nb\n>>>>>> REPLACE\n\n{LOG}")
    lmm("lmm llmd apply PROJECT.md -y")
    assert text("src/lo\u0308s.py") == "b\n" and len(list(Path("src").iterdir())) == 2
    lmm("lmm llmd check PROJECT.md")


def test_nobody_reads_the_diff(project):
    """As with `| head`: changes that were not seen are not made."""
    replied(f"{CHANGE}\n{LOG}")
    before = tree()
    read, written = os.pipe()
    os.close(read)
    command = [BIN / "lmm", "llmd", "apply", "PROJECT.md", "-y"]
    done = subprocess.run(command, stdout=written, stderr=subprocess.PIPE, text=True)
    os.close(written)
    assert (done.returncode, done.stderr) == (1, "stopped, since the output was not read to its end\n")
    assert tree() == before


def test_the_document_by_another_name(project):
    """As on a disk that ignores case."""
    os.link("PROJECT.md", "other.md")
    replied("other.md\n<<<<<< SEARCH\nInvoices.\n=======\nx\n>>>>>> REPLACE\n")
    assert "the document itself" in lmm("lmm llmd apply PROJECT.md -y --allow '*'", 1).stderr


@pytest.mark.long
def test_two_at_once(project):
    replied(f"{CHANGE}\n{LOG}")
    command = [BIN / "lmm", "llmd", "apply", "PROJECT.md", "-y"]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert 0 in [process.wait() for process in both]
    assert (
        text("src/billing.py").count("ValueError")
        == text("PROJECT.md").split("## Changelog")[1].count("- `total`")
        == 1
    )
    lmm("lmm llmd check PROJECT.md")
    lmm("lmm llmd undo PROJECT.md")
    assert text("src/billing.py") == CODE


def test_undo_leaves_what_was_said_since(project):
    replied(f"{CHANGE}\n{LOG}")
    before = tree()
    lmm("lmm llmd apply PROJECT.md -y")
    complaint = "\nThat broke a test.\n"
    write("PROJECT.md", text("PROJECT.md") + complaint)
    assert "undone: entry 1" in lmm("lmm llmd undo PROJECT.md").stderr
    assert tree() == before | {"PROJECT.md": before["PROJECT.md"] + complaint.encode()}
    assert "applied: 1 file" in lmm("lmm llmd apply PROJECT.md -y").stderr


def test_undo_shows_what_has_changed_since(project):
    replied(f"{CHANGE}\n{LOG}")
    lmm("lmm llmd apply PROJECT.md -y")
    write("src/billing.py", text("src/billing.py") + "mine\n")
    before = tree()
    done = lmm("lmm llmd undo PROJECT.md", 1)
    assert (
        "+mine\n" in done.stdout
        and "nothing was undone, since these files have changed, as shown: src/billing.py" in done.stderr
    )
    assert tree() == before


def test_another_run_has_the_journal(project):
    replied(f"{CHANGE}\n{LOG}")
    before = tree()
    with Journal(Path.cwd()).lock():
        assert "another run is changing files here" in lmm("lmm llmd apply PROJECT.md -y", 1).stderr
    assert tree() == before
    lmm("lmm llmd apply PROJECT.md -y")


@pytest.mark.long
def test_killed_while_it_applies(project):
    """The command kills itself; the next one, whichever it is, makes all changes or none."""
    for number in range(60):
        write(f"many/{number}.txt", "old\n")
    blocks = [f"many/{number}.txt\n<<<<<< SEARCH\nold\n=======\nnew\n>>>>>> REPLACE\n" for number in range(60)]
    replied("\n".join([*blocks, LOG]))
    before = tree()
    command = [BIN / "lmm", "llmd", "apply", "PROJECT.md", "-y", "--allow", "many"]
    for moment in range(6):
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and not Journal(Path.cwd()).open.exists():
            time.sleep(0.0005)
        time.sleep(0.002 * moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        lmm("lmm llmd check PROJECT.md", 0)
        texts = {text(f"many/{number}.txt") for number in range(60)}
        assert len(texts) == 1
        if tree() != before:
            lmm("lmm llmd undo PROJECT.md")
        assert tree() == before


# Check and sync


def test_check_says_what_is_not_as_it_should_be(project):
    write("src/gone.py", "x\n")
    lmm("lmm llmd new OTHER.md --code src/*.py")
    write("src/billing.py", "other\n")
    os.remove("src/gone.py")
    change("## Changelog\n", "## Changes\n", "OTHER.md")
    said = lmm("lmm llmd check OTHER.md", 1).stderr
    lines = text("OTHER.md").split("\n")
    assert (
        f"OTHER.md:{lines.index('### src/billing.py') + 1}: src/billing.py: the code context differs from the file"
        in said
    )
    assert f"OTHER.md:{lines.index('### src/gone.py') + 1}: src/gone.py: the file is missing" in said
    assert "Changelog" in said


def test_a_document_with_hostile_files_shows_none(project, tmp_path_factory):
    secret = write(tmp_path_factory.mktemp("outside") / "secret", "secret\n")
    change("### src/billing.py", f"### {secret}\n\n```\n```\n\n### src/billing.py")
    before = text("PROJECT.md")
    assert "the path is absolute" in lmm("lmm llmd check PROJECT.md", 1).stderr
    assert "the path is absolute" in lmm("lmm llmd sync PROJECT.md", 1).stderr
    assert text("PROJECT.md") == before


def test_sync(project):
    write("src/new.py", "new\n```\n")
    change("### src/billing.py", "### src/new.py\n\n```\n```\n\n### src/gone.py\n\n```\nx\n```\n\n### src/billing.py")
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


@pytest.mark.parametrize("command", ["chat", "apply", "check", "sync", "undo"])
def test_no_document(command):
    assert "No such file" in lmm(f"lmm llmd {command} none.md", 1).stderr or command == "undo"
    Path("x.md").write_bytes(b"\xff")
    assert lmm(f"lmm llmd {command} x.md", 1).stderr


# On a terminal


def on_terminal(command, typed=b""):
    """Return what a command shows on a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(shlex.split(command), stdin=follower, stdout=follower, stderr=follower,
                               env=os.environ | {"TERM": "xterm"})  # fmt: skip
    os.close(follower)
    shown = b""
    while process.poll() is None or select.select([leader], [], [], 0.05)[0]:
        if select.select([leader], [], [], 0.05)[0]:
            try:
                shown += os.read(leader, 65536)
            except OSError:
                break
        if typed and b"[y/N]" in shown:
            os.write(leader, typed)
            typed = b""
    os.close(leader)
    assert process.wait() == 0, shown
    return shown.decode()


def test_on_a_terminal(project, model, monkeypatch):
    """The reply streams, diffs are coloured, and invisible characters are shown."""
    hidden = CHANGE.replace("ValueError", "Value\u202eError\x1b[2J")
    model.reply = f"On it.\n\n{hidden}\n{LOG}"
    wish()
    shown = on_terminal("lmm llmd chat PROJECT.md")
    assert "On it." in shown.split("answered:")[0]
    assert "\x1b[32m+        raise Value\\u202eError\\x1b[2J" in shown and "\x1b[2J" not in shown
    assert "\x1b[36m@@" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    shown = on_terminal("lmm llmd apply PROJECT.md", b"y\n")
    assert "Change 1 file and the document? [y/N]" in shown and "applied: 1 file" in shown
    assert "+        raise" in shown and "\x1b[3" not in shown
    assert "Value\u202eError" in text("src/billing.py")


def test_messages_steer_no_terminal(project):
    replied("src/billing.py\n<<<<<< SEARCH\ndef total(lines)\x1b[2J:\n=======\nx\n>>>>>> REPLACE\n")
    said = lmm("lmm llmd apply PROJECT.md -y", 1).stderr
    assert "-def total(lines):\n+def total(lines)\\x1b[2J:\n" in said


def test_a_name_that_the_system_cannot_write(project):
    change("### src/billing.py", "### src/größe.py\n\n```\n```\n\n### src/billing.py")
    done = run("lmm llmd check PROJECT.md", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert done.returncode == 1 and "größe.py: this system cannot write the name (ascii)".encode() in done.stderr


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, "a\n", ["--- /dev/null", "+++ x", "@@ -0,0 +1 @@", "+a"]),
        (
            "a",
            "b",
            [
                "--- x",
                "+++ x",
                "@@ -1 +1 @@",
                "-a",
                "\\ No newline at end of file",
                "+b",
                "\\ No newline at end of file",
            ],
        ),
        ("a\n", None, ["--- x", "+++ /dev/null", "@@ -1 +0,0 @@", "-a"]),
        ("a\x0cb\u2028c\n", "a\x0cb\u2028d\n", ["--- x", "+++ x", "@@ -1 +1 @@", "-a\x0cb\u2028c", "+a\x0cb\u2028d"]),
        ("a\n", "a\n", []),
    ],
)
def test_diffs(before, after, shown):
    assert list(diff_lines("x", before, after)) == shown


def test_a_diff_is_one_that_patch_takes(project):
    if not shutil.which("patch"):
        pytest.skip("no patch")
    replied(f"{CHANGE}\n{LOG}")
    shown = lmm("lmm llmd apply PROJECT.md -y").stdout.split("--- PROJECT.md")[0]
    after = text("src/billing.py")
    write("src/billing.py", CODE)
    assert run("patch -p0", stdin=shown).returncode == 0
    assert text("src/billing.py") == after
