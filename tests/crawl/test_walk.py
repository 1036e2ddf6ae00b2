"""Which files of a folder are indexed, and what is said of the others."""

import pytest

from lmm_core.crawl.reader import LARGEST, Skipped, WalkedFile, crawl, read
from lmm_core.errors import CrawlError


def write(root, *names, **texts):
    """Write files: some with any text, some with their text or bytes."""
    for name, text in (dict.fromkeys(names, "x") | texts).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def found(root, **options):
    return [file.name for file in crawl(root, **options) if isinstance(file, WalkedFile)]


def skipped(root):
    return {file.doc_path: file.reason for file in crawl(root) if isinstance(file, Skipped)}


def test_markdown_files_at_any_depth_by_name(tmp_path):
    write(tmp_path, "b.markdown", "a.md", "C.MD", "c/d/e.mdown", "c/d/x.Rmd", "c/f.qmd", "notes.txt", "md", "a.md.bak")
    assert found(tmp_path) == ["C.MD", "a.md", "b.markdown", "c/f.qmd", "c/d/e.mdown", "c/d/x.Rmd"]
    with pytest.raises(CrawlError, match="no such folder"):
        list(crawl(tmp_path / "a.md"))


def test_the_database_is_never_crawled(tmp_path):
    write(tmp_path, "a.md", ".md_index/docs/snippets/1.md", "base/docs/snippets/1.md", ".gitignore")
    assert found(tmp_path, without=[tmp_path / "base"]) == ["a.md"]


def test_what_tools_make_is_left_out_where_no_gitignore_speaks(tmp_path):
    of_tools = ["node_modules/a.md", "_build/a.md", ".venv/a.md", "x/.hidden/a.md", "build/a.md"]
    write(tmp_path, "a.md", "builder/a.md", *of_tools)
    assert found(tmp_path) == ["a.md", "builder/a.md"]
    write(tmp_path, **{".gitignore": "*.tmp\n"})
    assert set(found(tmp_path)) == {"a.md", "builder/a.md", *of_tools}


def test_more_patterns_come_last(tmp_path):
    write(tmp_path, "a.md", "b.md", "old/c.md", **{".gitignore": "b.md\n"})
    assert found(tmp_path, ignore=["old/", "!b.md"]) == ["a.md", "b.md"]


def test_what_cannot_be_read_is_said_of_each_file(tmp_path):
    write(tmp_path, "gone.md", **{
        "blank.md": " \n\n", "huge.md": b"x" * (LARGEST + 1), "mark.md": "\ufeff# Ä\r\n",
        "latin.md": "a\nb caf\xe9".encode("latin-1"), "wide.md": "Text".encode("utf-16"),
    })  # fmt: skip
    files = list(crawl(tmp_path))
    (tmp_path / "gone.md").unlink()
    texts = {file.name: read(file) for file in files}
    assert texts.pop("mark.md") == "# Ä\r\n"
    assert {name: text.reason for name, text in texts.items()} == {
        "blank.md": "empty",
        "gone.md": "gone since it was found",
        "huge.md": "the file has 10.0 MiB, and at most 10 are read: split it",
        "latin.md": "line 2 is not UTF-8 (byte 7, 0xe9): save the file as UTF-8",
        "wide.md": "line 1 is not UTF-8 (byte 0, 0xff): save the file as UTF-8",
    }
