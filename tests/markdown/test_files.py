"""Files are read whole, and written whole or not at all."""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from pydantic import ValidationError

from lmm_core.api import knit
from lmm_core.errors import MarkdownError, ReportedError
from lmm_core.logging import ExceptionLogger, ListLogger
from lmm_core.markdown import find_markdown, load_markdown, project_root, read_markdown, save_markdown, write_markdown
from lmm_core.markdown.blocks import header_content
from lmm_core.markdown.files import MarkdownDocument, MarkdownFile
from lmm_core.scan.documents.document import docid_of
from lmm_core.scan.documents.passes import markdown_rag, markdown_scan
from tests.strategies import PROSE, markdown

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and permissions of POSIX")
NOTES = f"# A\n\n{PROSE}\n"


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.md"
    path.write_bytes(NOTES.encode())
    return path


@pytest.mark.parametrize("data", [b"", b"a\r\nb\rc\n", b"\xef\xbb\xbf# a", b"nul \0", "ü🙂\x0c\u2028".encode()])
def test_bytes_are_written_as_they_were_read(tmp_path, data):
    path = tmp_path / "a.md"
    path.write_bytes(data)
    write_markdown(path, read_markdown(path).text)
    assert path.read_bytes() == data


def test_a_file_that_is_no_utf8_is_named_with_line_and_byte(tmp_path):
    path = tmp_path / "latin.md"
    path.write_bytes(b"one\ntwo " + "ü".encode("latin-1") + b"\n")
    with pytest.raises(MarkdownError) as error:
        read_markdown(path)
    assert f"{path}:2" in str(error.value)
    assert "byte 8" in str(error.value)


def test_a_file_that_is_no_utf8_is_left_alone(tmp_path):
    path = tmp_path / "latin.md"
    path.write_bytes(b"# \xfc\n")
    logger = ListLogger()
    assert markdown_rag(path, logger=logger) is None
    assert f"{path}:1: not UTF-8" in str(logger.reports[0])
    assert path.read_bytes() == b"# \xfc\n"


def test_a_file_that_is_not_there_is_reported(tmp_path):
    logger = ListLogger()
    assert markdown_scan(tmp_path / "no.md", logger=logger) is None
    assert logger.count("error") == 1
    with pytest.raises(ReportedError):
        markdown_scan(tmp_path / "no.md", logger=ExceptionLogger())


@pytest.mark.parametrize("wrong", [{"path": 3}, {"opts": "all"}, {"save": 2.5}, {"logger": print}, {"tile": True}])
def test_wrong_arguments_crash_at_once(notes, wrong):
    before = notes.read_bytes()
    with pytest.raises(ValidationError):
        markdown_rag(**{"path": notes, **wrong})
    assert notes.read_bytes() == before


def test_a_new_file_is_written(tmp_path):
    write_markdown(tmp_path / "new.md", "x")
    assert (tmp_path / "new.md").read_text() == "x"


def test_a_file_is_replaced_and_not_written_over(notes, tmp_path):
    os.link(notes, tmp_path / "before.md")
    write_markdown(notes, "new")
    assert notes.read_text() == "new"
    assert (tmp_path / "before.md").read_text() == NOTES


def test_the_new_file_is_made_in_the_same_folder(notes, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    write_markdown(notes, "new")
    assert notes.read_text() == "new"


def test_nothing_else_is_left_in_the_folder(notes, tmp_path):
    write_markdown(notes, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


def test_nothing_is_left_where_writing_fails(tmp_path):
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(OSError) as error:
        write_markdown(tmp_path / "folder.md", "x")
    assert error.value.filename == str(tmp_path / "folder.md")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.md"]


@posix
def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    with ThreadPoolExecutor() as other:
        read = other.submit((tmp_path / "pipe.md").read_bytes)
        write_markdown(tmp_path / "pipe.md", "x")
        assert read.result(10) == b"x"
    write_markdown(Path(os.devnull), "x")
    assert (tmp_path / "pipe.md").is_fifo() and Path(os.devnull).is_char_device()


def test_a_text_that_utf8_cannot_hold_leaves_the_file_alone(notes, tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_markdown(notes, "\ud800")
    assert notes.read_text() == NOTES
    assert len(list(tmp_path.iterdir())) == 1


@posix
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_permissions_stay(notes, mode):
    notes.chmod(mode)
    write_markdown(notes, "new")
    assert notes.stat().st_mode & 0o777 == mode


@posix
def test_a_new_file_gets_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write_markdown(tmp_path / "new.md", "x")
    assert (tmp_path / "new.md").stat().st_mode == (tmp_path / "usual").stat().st_mode


@posix
def test_the_target_of_a_link_is_written(notes, tmp_path):
    link = tmp_path / "link.md"
    link.symlink_to("notes.md")
    write_markdown(link, "new")
    assert link.is_symlink()
    assert notes.read_text() == "new"


def test_a_file_that_has_changed_since_is_not_written(notes):
    read = read_markdown(notes)
    notes.write_text("edited meanwhile")
    with pytest.raises(MarkdownError, match="changed on disk"):
        write_markdown(notes, "new", read)
    assert notes.read_text() == "edited meanwhile"


def test_a_file_that_has_gone_since_is_not_written(notes, tmp_path):
    read = read_markdown(notes)
    notes.unlink()
    with pytest.raises(MarkdownError, match="changed on disk"):
        write_markdown(notes, "new", read)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_only_touched_is_written(notes):
    read = read_markdown(notes)
    os.utime(notes, (1, 1))
    write_markdown(notes, "new", read)
    assert notes.read_text() == "new"


# Finding files


def test_files_in_folders_are_found_sorted(tmp_path):
    for name in ("b.md", "a.qmd", "c.Rmd", "x.txt", ".hidden.md", "sub/d.markdown", "_book/e.md", ".git/f.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in find_markdown([tmp_path])] == ["a.qmd", "b.md", "c.Rmd", "d.markdown"]


def test_a_named_file_is_taken_whatever_its_ending_and_once(tmp_path):
    path = tmp_path / "x.txt"
    path.touch()
    assert find_markdown([path, path]) == [path]


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.md"):
        find_markdown([tmp_path / "nothing.md"])


# Identity


def test_docid_is_the_path_from_the_projects_root(tmp_path):
    (tmp_path / "_quarto.yml").touch()
    (tmp_path / "part" / "one").mkdir(parents=True)
    assert docid_of(tmp_path / "part" / "one" / "a.qmd") == "part/one/a.qmd"


def test_docid_without_a_project_is_the_files_name(tmp_path):
    assert docid_of(tmp_path / "a.md") == "a.md"


def test_docid_does_not_depend_on_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "config.toml").touch()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert docid_of(tmp_path / "sub" / "a.md") == "sub/a.md"


def test_a_configuration_marks_the_root_before_anything_else(tmp_path):
    (tmp_path / "config.toml").touch()
    (tmp_path / "book" / ".git").mkdir(parents=True)
    assert project_root(tmp_path / "book" / "a.md") == tmp_path.resolve()


def test_the_nearest_mark_is_the_root(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "_quarto.yml").touch()
    assert project_root(tmp_path / "book" / "a.md") == (tmp_path / "book").resolve()


# Passes on files


def test_scan_completes_the_header_in_the_file(notes):
    markdown_scan(notes)
    text = notes.read_text()
    assert text.startswith("---\n~title: A\n~docid: notes.md\n")
    assert text.endswith("---\n\n" + NOTES)


def test_save_false_writes_nothing(notes, tmp_path):
    assert len(markdown_scan(notes, save=False)) == 3
    assert notes.read_text() == NOTES
    assert len(list(tmp_path.iterdir())) == 1


def test_save_to_another_path(notes, tmp_path):
    markdown_rag(notes, save=tmp_path / "other.md")
    assert notes.read_text() == NOTES
    assert "~questions" in (tmp_path / "other.md").read_text()


def test_a_second_run_does_not_touch_the_file(notes):
    markdown_rag(notes)
    os.utime(notes, (1, 1))
    markdown_rag(notes)
    assert notes.stat().st_mtime == 1


def test_an_empty_file_stays_empty(tmp_path):
    path = tmp_path / "empty.md"
    path.touch()
    assert markdown_rag(path) == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize("lead", ["", "\ufeff"])
def test_mark_and_line_ends_are_kept_in_the_file(tmp_path, lead):
    path = tmp_path / "windows.md"
    path.write_bytes((lead + NOTES).replace("\n", "\r\n").encode())
    markdown_rag(path)
    text = path.read_bytes().decode()
    assert text.startswith(lead + "---\r\n~title: A\r\n")
    assert "\n" not in text.replace("\r\n", "")
    assert text.endswith(NOTES.replace("\n", "\r\n"))


def test_knitting_does_not_write_its_source(notes):
    markdown_rag(notes)
    annotated = notes.read_text()
    assert knit(notes).startswith("# A")
    assert notes.read_text() == annotated


def test_errors_are_reported_with_file_and_line(tmp_path):
    path = tmp_path / "broken.md"
    path.write_text(f"# A\n\n---\nkey: [a\n---\n\n{PROSE}\n")
    logger = ListLogger()
    markdown_scan(path, logger=logger)
    errors = [report for report in logger.reports if report.level == "error"]
    assert [(report.path, report.line in (4, 5)) for report in errors] == [(str(path), True)]
    assert str(errors[0]).startswith(f"{path}:")


def test_a_logger_can_raise(tmp_path):
    path = tmp_path / "broken.md"
    path.write_text("# A\n\n---\nkey: [a\n---\n\ntext\n")
    with pytest.raises(ReportedError):
        markdown_scan(path, logger=ExceptionLogger())


def test_a_configuration_decides_the_spelling(notes, tmp_path):
    (tmp_path / "config.toml").write_text('spelling = "native"\n')
    markdown_rag(notes)
    assert "\n---\n~questions:" in notes.read_text()
    assert ":::" not in notes.read_text()


def test_a_file_is_loaded_and_saved_by_its_name_and_what_fails_is_reported(tmp_path: Path) -> None:
    logger, name = ListLogger(), str(tmp_path / "notes.md")
    assert save_markdown(name, "# Means\r\n", logger)
    assert load_markdown(name, logger) == "# Means\r\n"
    assert load_markdown(tmp_path / "none.md", logger) is None
    assert not save_markdown(tmp_path / "notebook.ipynb", "# Means\n", logger)
    assert [str(report).partition(": ")[2][:12] for report in logger.reports] == ["No such file", "notebooks ar"]
    with pytest.raises(ReportedError, match="No such file"):
        load_markdown(tmp_path / "none.md", ExceptionLogger())


@given(markdown())
def test_the_header_alone_is_the_header_of_the_whole(text):
    document = MarkdownDocument(MarkdownFile(Path("a.md"), text, b""))
    assert document.header == header_content(document.blocks)


@pytest.mark.parametrize(
    "text", ["", "\ufeff", "\ufeff---\na: 1\n---\n\nText.\n", "\n\n---\na: 1\n---\n", "---\na: [\n---\n"]
)
def test_the_header_of_an_unusual_text(text):
    document = MarkdownDocument(MarkdownFile(Path("a.md"), text, b""))
    assert document.header == header_content(document.blocks)
