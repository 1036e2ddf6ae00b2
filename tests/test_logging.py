"""Loggers that write reports down."""

from datetime import datetime

import pytest

from lmm_core.logging import FileLogger, in_file


def noon():
    return datetime(2026, 1, 2, 12, 0)


def test_reports_are_added_to_a_file_one_a_line(tmp_path):
    path = tmp_path / "reports.log"
    path.write_text("before\n")
    in_file(FileLogger(path, noon), "notes.md").warning("a résumé\nin \x1b[31mtwo lines", 3)
    FileLogger(str(path), noon).error("no network")
    assert path.read_bytes().decode() == (
        "before\n"
        "2026-01-02 12:00:00 warning: notes.md:3: a résumé in [31mtwo lines\n"
        "2026-01-02 12:00:00 error: no network\n"
    )


def test_a_file_that_cannot_be_written_is_an_error_at_once(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        FileLogger(tmp_path / "missing" / "reports.log")


def test_a_report_that_cannot_be_written_later_is_printed(tmp_path, capsys):
    path = tmp_path / "reports.log"
    logger = FileLogger(path, noon)
    path.unlink()
    path.mkdir()
    logger.error("no network")
    assert capsys.readouterr().err == f"{path}: Is a directory; this report could not be written there: no network\n"
