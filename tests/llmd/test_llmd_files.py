"""Which files a reply may touch: a table of hostile paths, and what .gitignore says."""

import os
import socket
from pathlib import Path

import pytest

from lmm_core.errors import LlmdError
from lmm_core.llmd.files import Files, name_problem
from tests.commands import write


def files(known=(), allow=("*",), root="."):
    root = Path(root).resolve()
    return Files(root, root / "PROJECT.md", known, allow)


def refusal(path, **options):
    """Why a path is refused; the path itself is named."""
    with pytest.raises(LlmdError) as error:
        files(**options).locate(path)
    shown = path if path.isprintable() else ascii(path)[1:-1]
    assert str(error.value).startswith(f"{shown}: ")
    return str(error.value).removeprefix(f"{shown}: ")


NAMES = {
    "": "the path is empty",
    "/etc/passwd": "absolute",
    "src/../../x": "out of the project",
    "src\\x": "separate folders by `/`",
    "src//x": "the path has `.` or `//`",
    "git~1/config": "belongs to git",
    ".g\u200cit/config": "invisible character (U+200C)",
    ".lmm/llmd/0001.open/journal.json": "belongs to lmm",
    "\u202eyp.a": "invisible character (U+202E)",
    "nul.txt": "device on Windows",
}


@pytest.mark.parametrize(("path", "why"), NAMES.items(), ids=ascii)
def test_refused_by_name(path, why):
    assert why in name_problem(path)
    assert why in refusal(path)


@pytest.mark.parametrize("path", ["ä b/é.md", ".github/workflows/ci.yml", "console.py"])
def test_not_refused_by_name(path):
    assert name_problem(path) == ""
    assert files().locate(path) == Path(path).absolute()


@pytest.fixture
def outside(tmp_path_factory):
    return write(tmp_path_factory.mktemp("outside") / "secret.txt", "secret\n")


def test_links_and_what_is_no_file(outside):
    write("src/a.py", "a\n")
    os.symlink(outside, "out.txt")
    os.symlink(outside.parent, "folder")
    os.symlink("/", "top")
    os.symlink("nowhere", "nowhere.py")
    os.symlink("circle", "circle")
    os.symlink("src", "link")
    os.mkdir(".git")
    os.symlink(".git/config", "config")
    os.mkfifo("pipe")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("sock")
    listener.close()
    for path in ("out.txt", "folder/secret.txt", "folder/new/x", "top/etc/passwd"):
        assert "this is a link out of the project" in refusal(path)
    assert refusal("nowhere.py") == "this is a broken link"
    assert "a link" in refusal("circle") or "symbolic" in refusal("circle")
    assert "belongs to git" in refusal("config")
    assert refusal("src") == "this is a folder"
    assert refusal("pipe") == refusal("sock") == "this is not a regular file"
    assert "Not a directory" in refusal("src/a.py/b")
    assert files().locate("link/a.py") == Path("src/a.py").absolute()


def test_only_the_code_context_and_what_is_allowed():
    write("a.py", "a\n")
    assert files({"a.py"}, ()).read("a.py") == "a\n"
    assert "the file is not in the code context" in refusal("b.py", known={"a.py"}, allow=())
    assert "the file is not in the code context" in refusal("src/b.txt", allow=("src/*.py",))
    assert files((), ("src/*.py",)).read("src/b.py") is None
    assert files((), ("src",)).read("src/deep/b.py") is None
    assert "belongs to git" in refusal(".git/config", known={".git/config"}, allow=(".git/**", "*"))


def test_ignored_by_git():
    write(".gitignore", "*.log\nsecrets.*\n!keep.log\n")
    write("secrets.toml", "key\n")
    os.symlink("secrets.toml", "plain.toml")
    for path in ("src/a.log", "secrets.toml", "plain.toml"):
        assert refusal(path) == "git ignores the file"
    assert files().read("keep.log") is None


@pytest.mark.parametrize(
    ("data", "why"), [(b"PNG\0\1", "the file is binary"), (b"one\ntw\xf6\n", "line 2 is not UTF-8")]
)
def test_what_is_no_text(data, why):
    Path("x.dat").write_bytes(data)
    with pytest.raises(LlmdError, match=r"x.dat: ") as error:
        files().read("x.dat")
    assert why in str(error.value)
