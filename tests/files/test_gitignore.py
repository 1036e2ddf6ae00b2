"""What a repository's own list ignores; the rest is compared with git in tests/crawl."""

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
