"""Files that git ignores: git itself is the judge."""

import random
import subprocess
from pathlib import Path

from lmm_core.files.gitignore import is_ignored
from tests.commands import write


def test_the_repositorys_own_list_counts():
    write(".git/info/exclude", "secret*\n/build/\n")
    write("book/.gitignore", "!secret.md\n")
    root = Path.cwd()
    assert is_ignored(root, "secrets.md")
    assert is_ignored(root, "build/a.md")
    assert not is_ignored(root, "book/build/a.md")
    assert not is_ignored(root, "book/secret.md")  # a .gitignore has the last word
    assert is_ignored(root / "book", "secrets.md")
    assert not is_ignored(root / "book", "notes.md")


def test_ignored_files_are_those_of_git(tmp_path):
    """Random rules and trees; git itself is the judge."""
    chance = random.Random(7)
    names = ["a", "b", "foo", "x.py", "y.log", "keep.log", "#h.log", "!n.log", "s .log"]
    patterns = (
        "*.log !keep.log foo/ /foo a/* !a/x.py **/foo a/** b !b/ * !*/ [xy].* ? [!x].log [z-a].py foo**bar [".split()
    )
    patterns += [r"\#h.log", "#h.log", r"\!n.log", r"s\ .log", "x.py   ", "x.py\\", "!", "//", "!**/keep.log"]
    for number in range(20):
        root = tmp_path / str(number)
        paths = {"/".join(chance.choices(names, k=chance.randint(1, 3))) for _ in range(12)}
        paths = {path for path in paths if not any(other.startswith(f"{path}/") for other in paths)}
        folders = {"", *(path.rpartition("/")[0] for path in paths)}
        for folder in sorted(folders)[: chance.randint(1, 3)]:
            write(root / folder / ".gitignore", "\n".join(chance.choices(patterns, k=3)) + "\n")
        subprocess.run(["git", "init", "-q", root], check=True)
        done = subprocess.run(["git", "-C", root, "check-ignore", "--no-index", "--stdin"], input="\n".join(paths).encode(),
                              capture_output=True)  # fmt: skip
        assert {path for path in paths if is_ignored(root, path)} == set(done.stdout.decode().splitlines())
