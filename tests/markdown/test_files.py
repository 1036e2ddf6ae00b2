"""Files are read whole, and written whole or not at all."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from lmm_core.errors import MarkdownError, ReportedError
from lmm_core.logging import ExceptionLogger, ListLogger
from lmm_core.markdown import load_markdown, project_root, read_markdown, save_markdown, write_markdown
from lmm_core.scan.documents.document import docid_of
from lmm_core.scan.documents.passes import markdown_rag, markdown_scan
from tests.commands import text, write
from tests.strategies import PROSE

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and permissions of POSIX")
NOTES = f"# A\n\n{PROSE}\n"


@pytest.fixture
def notes(tmp_path):
    return write(tmp_path / "notes.md", NOTES)


# Reading and writing


@pytest.mark.parametrize("data", [b"", b"a\r\nb\rc\n", b"\xef\xbb\xbf# a", "nul \0 ü🙂\x0c\u2028".encode()])
def test_bytes_are_written_as_they_were_read(data):
    path = write("a.md", data)
    write_markdown(path, read_markdown(path).text)
    assert path.read_bytes() == data


def test_a_file_that_is_no_utf8_is_reported_with_line_and_byte_and_left_alone(tmp_path):
    data = b"a" * 5000 + b"\ntwo \xfc\n"
    path = write(tmp_path / "latin.md", data)
    with pytest.raises(MarkdownError, match="byte 5005"):
        read_markdown(path)
    logger = ListLogger()
    assert markdown_rag(path, logger=logger) is None
    assert f"{path}:2: not UTF-8" in str(logger.reports[0])
    assert path.read_bytes() == data


def test_a_file_is_replaced_and_not_written_over(notes, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))  # made beside it
    os.link(notes, tmp_path / "before.md")
    write_markdown(notes, "new")
    assert text(notes) == "new"
    assert text("before.md") == NOTES
    assert sorted(os.listdir()) == ["before.md", "notes.md"]


def test_nothing_is_left_where_writing_fails(notes, tmp_path):
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(OSError) as error:
        write_markdown(tmp_path / "folder.md", "x")
    assert error.value.filename == str(tmp_path / "folder.md")
    with pytest.raises(UnicodeEncodeError):
        write_markdown(notes, "\ud800")
    assert text(notes) == NOTES
    assert sorted(os.listdir()) == ["folder.md", "notes.md"]


@posix
def test_permissions_stay_and_a_new_file_gets_the_usual_ones(notes):
    notes.chmod(0o600)
    write_markdown(notes, "new")
    assert notes.stat().st_mode & 0o777 == 0o600
    Path("usual").touch()
    write_markdown(Path("new.md"), "x")
    assert Path("new.md").stat().st_mode == Path("usual").stat().st_mode


@pytest.mark.parametrize("edited", [True, False], ids=["edited", "removed"])
def test_a_file_that_has_changed_since_is_not_written(notes, edited):
    read = read_markdown(notes)
    notes.unlink()
    if edited:
        write(notes, "edited meanwhile")
    with pytest.raises(MarkdownError, match="changed on disk"):
        write_markdown(notes, "new", read)
    assert (text(notes) == "edited meanwhile") if edited else os.listdir() == []


def test_a_file_is_loaded_and_saved_by_its_name_and_what_fails_is_reported(tmp_path):
    logger, name = ListLogger(), str(tmp_path / "notes.md")
    assert save_markdown(name, "# Means\r\n", logger)
    assert load_markdown(name, logger) == "# Means\r\n"
    assert load_markdown(tmp_path / "none.md", logger) is None
    assert not save_markdown(tmp_path / "notebook.ipynb", "# Means\n", logger)
    assert [str(report).partition(": ")[2][:12] for report in logger.reports] == ["No such file", "notebooks ar"]
    with pytest.raises(ReportedError, match="No such file"):
        load_markdown(tmp_path / "none.md", ExceptionLogger())


@pytest.mark.parametrize(
    ("marks", "path", "root", "docid"),
    [
        (["_quarto.yml"], "part/one/a.qmd", "", "part/one/a.qmd"),
        (["config.toml", "book/.git"], "book/a.md", "", "book/a.md"),
        ([".git", "book/_quarto.yml"], "book/a.md", "book", "a.md"),
    ],
    ids=["Quarto", "a configuration before all else", "the nearest mark"],
)
def test_a_docid_is_the_path_from_the_projects_root(marks, path, root, docid, tmp_path, monkeypatch):
    for mark in [*marks, path]:
        write(mark, "")
    monkeypatch.chdir((tmp_path / path).parent)  # it does not depend on the working folder
    assert docid_of(tmp_path / path) == docid
    assert project_root(tmp_path / path) == (tmp_path / root).resolve()


# Passes on files


def test_scan_completes_the_header_in_the_file(notes, tmp_path):
    assert len(markdown_scan(notes, save=False)) == 3
    assert text(notes) == NOTES and os.listdir() == ["notes.md"]
    markdown_scan(notes)
    assert text(notes) == f"---\n~title: A\n~docid: notes.md\n{text(notes).splitlines()[3]}\n---\n\n{NOTES}"


def test_annotations_are_saved_to_another_path_and_spelled_as_configured(notes, tmp_path):
    write("config.toml", 'spelling = "native"\n')
    markdown_rag(notes, save=tmp_path / "other.md")
    assert text(notes) == NOTES
    assert "\n---\n~questions:" in text("other.md")


def test_errors_are_reported_with_file_and_line_or_raised(tmp_path):
    path = write(tmp_path / "broken.md", f"# A\n\n---\nkey: [a\n---\n\n{PROSE}\n")
    logger = ListLogger()
    markdown_scan(path, logger=logger)
    (error,) = [report for report in logger.reports if report.level == "error"]
    assert str(error).startswith(f"{path}:{error.line}: ") and error.line in (4, 5)
    with pytest.raises(ReportedError):
        markdown_scan(path, logger=ExceptionLogger())
