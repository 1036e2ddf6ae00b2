"""What a reply proposes is applied to the files and the document, all or nothing."""

from pathlib import Path

import pytest

from lmm_core.errors import LlmdError
from lmm_core.llmd.project import check, is_applied, last_applied, new_document, open_document, propose, sync
from lmm_core.logging import ListLogger
from tests.commands import text, write

CHANGE = "a.py\n<<<<<< SEARCH\none\n=======\ntwo\n>>>>>> REPLACE\n"


def opened():
    return open_document(Path("P.md"), ListLogger())


def proposed(reply, allow=()):
    """Return what a reply in a document about `a.py` proposes."""
    write("a.py", "one\n")
    new_document(Path("P.md"), "Project", [Path("a.py")], ListLogger())
    write("P.md", text("P.md") + f"Please.\n\n**Assistant:**\n\n{reply}")
    return propose(opened(), allow)


def test_a_reply_is_applied_to_files_and_document_and_taken_back():
    proposal = proposed(CHANGE)
    before = text("P.md")
    assert not proposal.problems and not proposal.empty and not is_applied(proposal)
    proposal.apply()
    assert text("a.py") == opened().llmd.files["a.py"].content == "two\n"
    assert is_applied(propose(opened()))
    journal, applied = last_applied(Path("P.md"), ListLogger())
    journal.undo(applied)
    assert (text("a.py"), text("P.md")) == ("one\n", before)


def test_without_a_reply_nothing_is_proposed_and_a_reply_without_changes_is_empty():
    assert proposed("All is well.").empty
    write("P.md", text("P.md").partition("**Assistant:**")[0])
    assert propose(opened()) is None


def test_one_path_that_is_not_allowed_refuses_the_whole_reply_with_its_line():
    reply = CHANGE + "new.py\n<<<<<< SEARCH\n=======\nnew\n>>>>>> REPLACE\n"
    (problem,) = proposed(reply).problems
    assert text("P.md").split("\n")[problem.line - 2] == "new.py" and "not in the code context" in problem.message
    assert propose(opened(), ["new.py"]).problems == ()


def test_a_file_that_is_named_by_two_paths_is_not_changed():
    write("b.py", "one\n")
    Path("link").symlink_to(".")
    proposal = proposed(CHANGE + CHANGE.replace("a.py", "link/a.py"), ["*"])
    with pytest.raises(LlmdError, match="names this file by two paths"):
        proposal.apply()
    assert text("a.py") == "one\n"


def test_a_document_that_differs_from_its_files_is_told_and_brought_up_to_date():
    proposed("So.")
    write("a.py", "three\n")
    (problem,) = check(opened())
    assert "differs from the file" in problem.message and problem.line == opened().llmd.files["a.py"].line
    assert sync(opened(), ListLogger()).files["a.py"].content == "three\n"
    Path("a.py").unlink()
    assert "the file is missing" in check(opened())[0].message
    assert sync(opened(), ListLogger()).files == {}
