import os
import random
import shutil
import subprocess

import pytest

from lmm_core.crawl.walk import LARGEST, MIB, Skipped, WalkedFile, crawl, read
from lmm_core.errors import CrawlError


def write(root, files):
    """Write files by their paths; a path that ends with `/` is a folder."""
    for path, text in files.items():
        target = root / path
        (target if path.endswith("/") else target.parent).mkdir(parents=True, exist_ok=True)
        if not path.endswith("/"):
            target.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def found(root, **options):
    return [one.name for one in crawl(root, **options) if isinstance(one, WalkedFile)]


def skipped(root, **options):
    return {one.doc_path: one.reason for one in crawl(root, **options) if isinstance(one, Skipped)}


def texts(root):
    return [(one.name, read(one)) for one in crawl(root) if isinstance(one, WalkedFile)]


# What is found


def test_markdown_files_at_any_depth_by_name(tmp_path):
    names = ["b.markdown", "a.md", "C.MD", "c/d/e.mdown", "c/d/x.Rmd", "c/f.qmd", "notes.txt", "md", "a.md.bak"]
    write(tmp_path, dict.fromkeys(names, "x"))
    assert found(tmp_path) == ["C.MD", "a.md", "b.markdown", "c/d/e.mdown", "c/d/x.Rmd", "c/f.qmd"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(CrawlError, match="no such folder"):
        crawl(tmp_path / "none")
    with pytest.raises(CrawlError, match="no such folder"):
        crawl(write(tmp_path, {"a.md": "x"}) / "a.md")


def test_the_database_is_never_crawled(tmp_path):
    write(tmp_path, dict.fromkeys(["a.md", ".md_index/docs/snippets/1.md", "base/docs/snippets/1.md"], "x"))
    write(tmp_path, {".gitignore": ""})
    assert found(tmp_path, without=[tmp_path / "base"]) == ["a.md"]


# What is ignored


def test_what_tools_make_where_no_gitignore_speaks(tmp_path):
    made = ["node_modules/a.md", "_build/a.md", ".venv/a.md", "x/.hidden/a.md", "build/a.md"]
    write(tmp_path, dict.fromkeys(["a.md", "builder/a.md", *made], "x"))
    assert found(tmp_path) == ["a.md", "builder/a.md"]
    write(tmp_path, {".gitignore": "*.tmp\n"})
    assert set(found(tmp_path)) == {"a.md", "builder/a.md", *made}


def test_more_patterns_come_last(tmp_path):
    write(tmp_path, dict.fromkeys(["a.md", "b.md", "old/c.md"], "x"))
    write(tmp_path, {".gitignore": "b.md\n"})
    assert found(tmp_path, ignore=["old/", "!b.md"]) == ["a.md", "b.md"]


PATTERNS = r"""*
*.md
!*.md
foo
foo/
/foo
!foo
!foo/
!/foo/
a/*
!a/x.md
a/**
**/foo
**/foo/
a/**/x.md
**/
*/
!*/
/*
!/docs
!/docs/
docs/*
!docs/a/
\#h.md
#h.md
\!n.md
!n.md
z[12].md
z[!1].md
z[^1].md
z[0-9].md
[a-z].md
[[:upper:]].md
[z-a].md
z[]1].md
x.md   
x.md\ 
s\ .md
a b
a b/
?.md
\[z].md
[
foo/**/
**
/**
a/b
a/b/
/b/x.md
!b/
keep.md
!keep.md
/a/*/x.md
a*b
**a
foo**bar
\x.md
x.md\
!
/
//
foo/*
!foo/**
!**/keep.md
a?b
docs/**/a/x.md""".split("\n")  # noqa: W291
FOLDERS = ["a", "b", "foo", "bar", "docs", "a b"]
FILES = ["x.md", "y.md", "keep.md", "#h.md", "!n.md", "z1.md", "z2.md", "A.md", "a b.md", "[z].md", "s .md", "-.md"]


def make_tree(folder, rnd, depth=0):
    lines = rnd.choices(PATTERNS, k=rnd.randint(1, 4))
    if depth == 0 or rnd.random() < 0.5:
        write(folder, {".gitignore": rnd.choice(["\n", "\r\n"]).join(lines)})
    write(folder, dict.fromkeys(rnd.sample(FILES, rnd.randint(2, 7)), "x"))
    for name in rnd.sample(FOLDERS, rnd.randint(1, 3)) if depth < 3 else []:
        make_tree(folder / name, rnd, depth + 1)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not on this machine")
@pytest.mark.parametrize("seed", range(0, 100, 10))
def test_what_is_ignored_is_what_git_ignores(tmp_path, seed):
    for number in range(seed, seed + 10):
        root = tmp_path / str(number)
        make_tree(write(root, {"x.md": ""}), random.Random(number))
        (root / "x.md").write_text("x")
        subprocess.run(["git", "init", "-q", root], check=True)
        command = ["git", "ls-files", "-coz", "--exclude-per-directory=.gitignore"]
        listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode().split("\0")
        assert found(root) == in_order(name for name in listed if name.endswith(".md"))


def in_order(paths):
    return sorted(paths, key=lambda path: path.split("/"))


# Links


def test_links_are_not_followed_and_listed(tmp_path):
    outside = write(tmp_path / "outside", {"secret.md": "x"})
    root = write(tmp_path / "root", {"a.md": "x", "sub/b.md": "x"})
    os.symlink(root, root / "sub/loop")
    os.symlink(outside, root / "out")
    os.symlink(outside / "secret.md", root / "out.md")
    os.symlink(root / "a.md", root / "sub/same.md")
    os.symlink("nowhere", root / "dead.md")
    assert found(root) == ["a.md", "sub/b.md"]
    reasons = skipped(root)
    assert reasons["sub/loop"] == "a link to a folder around it: not followed"
    assert reasons["out"] == f"a link out of the folder, to {outside}: not followed"
    assert reasons["out.md"] == f"a link out of the folder, to {outside / 'secret.md'}: not followed"
    assert reasons["sub/same.md"] == "a link to a.md: not followed"
    assert reasons["dead.md"] == "a link that leads nowhere"


# What cannot be read


def test_sizes(tmp_path):
    write(
        tmp_path, {"empty.md": "", "blank.md": " \n\n", "large.md": b"x" * (MIB + 1), "huge.md": b"x" * (LARGEST + 1)}
    )
    read_ones = dict(texts(tmp_path))
    assert read_ones["large.md"] == "x" * (MIB + 1)
    assert {name: text.reason for name, text in read_ones.items() if isinstance(text, Skipped)} == {
        "blank.md": "empty",
        "empty.md": "empty",
        "huge.md": "the file has 10.0 MiB, and at most 10 are read: split it",
    }


def test_encodings(tmp_path):
    latin, wide = "a\nb caf\xe9".encode("latin-1"), "Text".encode("utf-16")
    write(tmp_path, {"latin.md": latin, "utf-16.md": wide, "mark.md": "\ufeff# Ä\r\n".encode()})
    read_ones = dict(texts(tmp_path))
    assert read_ones["mark.md"] == "# Ä\r\n"
    assert read_ones["latin.md"].reason == "line 2 is not UTF-8 (byte 7, 0xe9): save the file as UTF-8"
    assert read_ones["utf-16.md"].reason == "line 1 is not UTF-8 (byte 0, 0xff): save the file as UTF-8"


def test_a_file_that_is_gone_or_has_grown_when_it_is_read(tmp_path):
    write(tmp_path, {"a.md": "x", "b.md": "x", "c.md": "x"})
    gone, grown, kept = crawl(tmp_path)
    gone.path.unlink()
    with grown.path.open("wb") as file:
        file.truncate(LARGEST + 1)
    assert read(gone) == Skipped("a.md", "gone since it was found")
    assert read(grown).reason.startswith("the file has 10.0 MiB")
    assert read(kept) == "x"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path):
    write(tmp_path, {"a.md": "x", "closed/b.md": "x", "c.md": "x"})
    for name in ("closed", "c.md"):
        os.chmod(tmp_path / name, 0)
    try:
        assert skipped(tmp_path) == {"closed/": "may not be read: permission denied"}
        assert dict(texts(tmp_path))["c.md"].reason == "may not be read: permission denied"
    finally:
        os.chmod(tmp_path / "closed", 0o755)


def test_a_folder_that_the_system_refuses(tmp_path, monkeypatch):
    write(tmp_path, {"a.md": "x", "closed/b.md": "x", "d/e.md": "x"})
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert found(tmp_path) == ["a.md", "d/e.md"]
    assert skipped(tmp_path) == {"closed/": "may not be read: permission denied"}
