"""Texts that are put aside before pandoc writes over its input."""

import os
from pathlib import Path

import pytest

from lmm_core.errors import MarkdownError, RecoveryError
from lmm_core.files.recovery import MOST, WRITING, find_record, put_aside, torn_by
from lmm_core.markdown.files import read_markdown
from tests.commands import write
from tests.talk import lmm

BEFORE = "# Ä\n\nThe text, as the writer has it.\n\n## B\n\nMore.\n"
AFTER = f"---\n~title: Ä\n---\n\n{BEFORE}"


def put(before=BEFORE, after=AFTER, path="notes.md"):
    write(path, before)
    put_aside(Path(path), Path(), None if after is None else after.encode())


def torn(data, path="notes.md"):
    """Whether the file is torn when it holds these bytes, written in place as pandoc does."""
    with open(path, "wb") as file:
        file.write(data)
    return torn_by(Path(path), data) is not None


def test_every_beginning_of_the_text_is_torn():
    put()
    after = AFTER.encode()
    ends = len(AFTER.rstrip().encode())
    assert [torn(after[:size]) for size in range(len(after) + 1)] == [True] * ends + [False] * (len(after) + 1 - ends)


def test_nuls_that_a_power_cut_leaves():
    put()
    assert torn(b"\0")
    assert torn(AFTER.encode()[:20] + b"\0" * 4096)


def test_line_ends_that_pandoc_makes():
    put(after=AFTER.replace("\n", "\r\n"))
    assert torn(AFTER.encode()[:20])
    assert not torn(AFTER.replace("\n", "\r\n").encode())


def test_an_edit_and_the_text_before_are_whole():
    put(before=AFTER[:30])
    assert not torn(AFTER.replace("More", "Less").encode())
    assert not torn(AFTER[:30].encode())


def test_a_beginning_that_was_cut_long_after_is_the_writers():
    put()
    torn(AFTER.encode()[:40])
    record = find_record(Path("notes.md"))
    assert torn_by(Path("notes.md"), AFTER.encode()[:40]) is not None
    os.utime("notes.md", ns=(0, record.time + WRITING + 1))
    assert torn_by(Path("notes.md"), AFTER.encode()[:40]) is None


def test_where_only_pandoc_knows_the_text_an_empty_file_is_torn():
    put(after=None)
    assert torn(b"")
    assert not torn(BEFORE[:10].encode())


def test_a_file_that_was_replaced_is_whole():
    """As editors and git do: it is another file of the same name."""
    put()
    write("other.md", AFTER[:30])
    os.replace("other.md", "notes.md")
    assert torn_by(Path("notes.md"), AFTER[:30].encode()) is None


def test_records_that_come_with_a_folder_say_nothing():
    """A clone holds them under other numbers of files."""
    put()
    write("clone/notes.md", "")
    Path("clone/.lmm").symlink_to(Path(".lmm").resolve())
    assert torn_by(Path("clone/notes.md"), b"") is None


def test_the_last_ten_are_kept_and_the_newest_counts():
    for number in range(MOST + 5):
        put(after=f"{number}\n")
    assert len(list(Path(".lmm/recover").glob("*.rec"))) == MOST
    assert find_record(Path("notes.md")).after == b"14\n"


def test_records_are_found_from_any_working_folder(monkeypatch):
    write("config.toml", "")
    put(path="part/notes.md")
    torn(b"", "part/notes.md")
    monkeypatch.chdir("part")
    assert torn_by(Path("notes.md"), b"") is not None
    with pytest.raises(MarkdownError, match=r"notes\.md: torn: .* 0 of .* bytes; .*lmm recover notes\.md"):
        read_markdown(Path("notes.md"))


def test_a_record_that_is_not_whole_says_nothing():
    put()
    place = find_record(Path("notes.md")).place
    data = place.read_bytes()
    torn(b"")
    for broken in (b"", data[:-1], data.replace(b"writer", b"wr_ter", 1), b"[1]\n", b"\xff"):
        place.write_bytes(broken)
        assert torn_by(Path("notes.md"), b"") is None


@pytest.mark.parametrize("make", [Path.mkdir, lambda place: place.symlink_to("/dev/zero"), os.mkfifo])
def test_what_comes_with_a_folder_neither_breaks_nor_switches_off(make):
    """A clone may bring something under the name of a record that is newer than all."""
    Path(".lmm/recover").mkdir(parents=True)
    make(Path(".lmm/recover") / f"{'9' * 20}-ffffffff.rec")
    put()
    assert torn(AFTER.encode()[:25])
    with pytest.raises(MarkdownError, match=r"^notes\.md: torn"):
        read_markdown(Path("notes.md"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a file to another user")
def test_another_users_record_says_nothing():
    """In a shared folder anybody could make one, with whatever text."""
    put()
    os.chown(find_record(Path("notes.md")).place, 65534, 65534)
    assert not torn(b"")


def test_private_texts_stay_private():
    put()
    assert Path(".lmm/recover").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", [".lmm", ".lmm/recover"])
def test_no_link_leads_the_texts_elsewhere(name):
    Path("elsewhere").mkdir()
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).symlink_to(Path("elsewhere").resolve())
    with pytest.raises(RecoveryError, match="is a link"):
        put()
    assert list(Path("elsewhere").iterdir()) == []


# The command


@pytest.mark.parametrize(("option", "text"), [("", AFTER), ("--before ", BEFORE)])
def test_recover_writes_the_text_back(option, text):
    put()
    torn(AFTER.encode()[:25])
    lmm("lmm scan notes.md", 1)
    lmm(f"lmm recover {option}notes.md")
    assert Path("notes.md").read_text() == text


def test_recover_leaves_alone_what_is_whole_and_what_was_edited():
    put()
    torn(AFTER.encode())
    assert "is complete" in lmm("lmm recover notes.md").stderr
    edited = AFTER.replace("More", "Less")
    torn(edited.encode())
    assert "was edited" in lmm("lmm recover --before notes.md", 1).stderr
    assert Path("notes.md").read_text() == edited
    write("plain.md", BEFORE)
    assert "there is nothing to recover" in lmm("lmm recover plain.md").stderr


def test_a_file_that_the_writer_has_cut_is_kept():
    put()
    torn(AFTER.encode()[:30])
    lmm("lmm recover --keep notes.md")
    lmm("lmm scan notes.md")
    assert Path("notes.md").read_bytes() == AFTER.encode()[:30]
