"""A file that has not changed is not read again; whatever may have changed is."""

import hashlib
import os
from pathlib import Path

import pytest

from lmm_core.workflows.known import digests
from lmm_core.workflows.known.digests import FileDigests, digest_of
from tests.commands import write
from tests.workflows.known.test_known_findings import counting

PLACE = b"a site"
PAGE = Path("page.html")


@pytest.fixture
def rested(monkeypatch):
    """All files count as files that have rested for long, on every system."""
    monkeypatch.setattr(digests, "RESTED", -(10**15))
    monkeypatch.setattr(digests, "HAS_CHANGE_TIMES", True)


@pytest.fixture
def reads(monkeypatch):
    """The contents that are read."""
    return counting(monkeypatch, digests, "digest_of")


def look(place=PLACE):
    """Return the digest of the page, as a run does."""
    with FileDigests(place) as known:
        return known.of(PAGE)


def test_a_digest_is_that_of_the_content():
    write(PAGE, "a text")
    assert look() == digest_of(b"a text") == hashlib.sha256(b"a text").digest()[:20]


def test_what_has_not_changed_is_read_once(rested, reads):
    write(PAGE, "a text")
    assert [look(), look(), look()] == [digest_of(b"a text")] * 3
    assert reads == [(b"a text",)]


def test_what_has_just_changed_is_read_again_since_it_may_change_once_more_without_a_trace(reads):
    write(PAGE, "one")
    look()
    state = PAGE.stat()
    write(PAGE, "two")
    os.utime(PAGE, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert look() == look() == digest_of(b"two")
    assert reads == [(b"one",), (b"two",), (b"two",)]


@pytest.mark.parametrize("name", ["st_size", "st_mtime_ns", "st_ctime_ns", "st_ino"])
def test_each_part_of_a_stamp_counts(name, rested, reads, monkeypatch):
    write(PAGE, "a text")
    look()

    def other(path):
        found = path.stat()
        stamp = [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
        return [value + (value == getattr(found, name)) for value in stamp]

    monkeypatch.setattr(digests, "_stamp", other)
    look()
    assert len(reads) == 2


def test_a_text_of_the_same_length_and_time_in_the_place_of_another_is_seen(rested):
    write(PAGE, "one")
    look()
    state = PAGE.stat()
    write(PAGE.with_name("new"), "two")
    os.utime(PAGE.with_name("new"), ns=(state.st_atime_ns, state.st_mtime_ns))
    os.replace(PAGE.with_name("new"), PAGE)
    assert look() == digest_of(b"two")


def test_each_site_has_its_own(rested, reads):
    write(PAGE, "a text")
    for place in (PLACE, b"another site", PLACE, b"another site"):
        look(place)
    assert len(reads) == 2


def test_where_files_have_no_times_of_change_each_is_read(rested, reads, monkeypatch):
    monkeypatch.setattr(digests, "HAS_CHANGE_TIMES", False)
    write(PAGE, "a text")
    assert look() == look()
    assert len(reads) == 2


def test_a_run_that_fails_keeps_nothing(rested, reads):
    write(PAGE, "a text")
    with pytest.raises(RuntimeError), FileDigests(PLACE) as known:
        known.of(PAGE)
        raise RuntimeError
    look()
    assert len(reads) == 2


def test_a_file_that_cannot_be_read_is_an_error_and_forgotten(rested):
    write(PAGE, "a text")
    look()
    PAGE.unlink()
    with FileDigests(PLACE) as known, pytest.raises(FileNotFoundError):
        known.of(PAGE)
    with FileDigests(PLACE) as known:
        assert known._before == {}
