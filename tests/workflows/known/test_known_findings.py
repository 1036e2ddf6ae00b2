"""What is known of unchanged texts is not found out again, and never taken for what is true of another text."""

import sqlite3

import pytest
from click.testing import CliRunner

from lmm_core.cli import cli
from lmm_core.models import cache as cache_file
from lmm_core.workflows.known import keys, remember
from lmm_core.workflows.known.cache import Known
from lmm_core.workflows.known.keys import key_of
from lmm_core.workflows.known.remember import digest
from tests.commands import write

LONG = "The mean of a sample is the sum of its values divided by their number, which every student knows by heart.\n"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Two documents in a project, which is the working folder, and worth to be remembered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(remember, "WORTH", 0)
    write(".git/HEAD", "")
    write("one.md", f"---\ntitle: One\n---\n\n# A\n\n{LONG}\n")
    write("two.md", f"---\ntitle: Two\n---\n\n# B\n\n---\ntype: exercise\n---\n\n{LONG}\n")
    return tmp_path


def lmm(*words):
    """Run a command in this process."""
    return CliRunner().invoke(cli, words)


def counting(monkeypatch, module, name):
    """Count the calls of a function."""
    calls, function = [], getattr(module, name)

    def counted(*given, **named):
        calls.append(given)
        return function(*given, **named)

    monkeypatch.setattr(module, name, counted)
    return calls


# The cache


def test_bytes_are_findings_as_well(tmp_path):
    known = Known(tmp_path)
    known.keep({b"a": b"\0\xff", b"b": b"", b"c": "\0"})
    assert known.find([b"a", b"b", b"c"]) == {b"a": b"\0\xff", b"b": b"", b"c": "\0"}
    known.close()


def test_findings_are_filed_under_all_that_they_depend_on(tmp_path):
    known = Known(tmp_path)
    known.keep({key_of("overview", b"text", b"settings"): {"title": "Ü"}})
    assert known.find([key_of("overview", b"text", b"settings")]) == {
        key_of("overview", b"text", b"settings"): {"title": "Ü"}
    }
    others = [("overview", b"text2", b"settings"), ("overview", b"texts", b"ettings"), ("types", b"text", b"settings")]
    assert known.find([key_of(*other) for other in others]) == {}
    known.close()


def test_findings_may_hold_half_of_a_surrogate_pair(tmp_path):
    known = Known(tmp_path)
    known.keep({b"key": ["\ud800x"]})
    assert known.find([b"key"]) == {b"key": ["\ud800x"]}
    known.close()


@pytest.mark.parametrize("damage", [b"", b"{}", b"\0\xff", "{}", 7])
def test_a_damaged_finding_is_unknown(tmp_path, damage):
    known = Known(tmp_path)
    known.keep({b"one": {"title": "A"}, b"two": b"bytes"})
    with sqlite3.connect(known.path) as file:
        file.execute("UPDATE known SET finding = ? WHERE key = ?", (damage, b"one"))
    file.close()
    assert known.find([b"one", b"two"]) == {b"two": b"bytes"}
    known.close()


def test_another_version_of_the_program_knows_nothing(monkeypatch):
    before = key_of("overview", b"text")
    monkeypatch.setattr(keys, "program_mark", lambda: b"another")
    assert key_of("overview", b"text") != before


def test_old_findings_make_room(tmp_path):
    known = Known(tmp_path, most_bytes=10_000)
    for number in range(200):
        known.keep({key_of("overview", b"%d" % number): "x" * 100})
    assert known.size().bytes <= 15_000
    assert known.find([key_of("overview", b"199")])
    known.close()


def test_a_cache_that_has_made_room_is_not_added_up_again(tmp_path, monkeypatch):
    known = Known(tmp_path, most_bytes=2_000_000)
    for number in range(51):  # the sizes are looked at once in 50 times
        known.keep({b"%d" % number: "x" * 200_000})
    known.close()
    totals = counting(monkeypatch, Known, "_totals")
    known = Known(tmp_path, most_bytes=2_000_000)
    known.keep({b"a": "x"})
    assert not totals and known.find([b"50", b"0"]).keys() == {b"50"}
    known.close()


@pytest.mark.parametrize("content", [b"no database", b""])
def test_a_cache_that_cannot_be_read_knows_nothing(tmp_path, content):
    write(tmp_path / "known.sqlite", content)
    known = Known(tmp_path)
    assert known.find([key_of("overview", b"text")]) == {}
    known.keep({key_of("overview", b"text"): 1})
    known.close()


def test_a_cache_that_stays_locked_is_waited_for_once(tmp_path, monkeypatch):
    Known(tmp_path).keep({b"a": 1})
    monkeypatch.setattr(cache_file, "PATIENCE", 0.01)
    opened, connect = [], sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: opened.append(named) or connect(*given, **named))
    known, other = Known(tmp_path), connect(tmp_path / "known.sqlite")
    other.execute("BEGIN EXCLUSIVE")
    for key in (b"b", b"c", b"d"):
        known.keep({key: 2})
    assert [named["timeout"] for named in opened] == [0.01, 0, 0]
    other.close()
    known.keep({b"e": 3})
    assert known.find([b"a", b"b", b"e"]) == {b"a": 1, b"e": 3}
    known.close()


def test_what_was_found_before_an_interrupt_is_kept(monkeypatch):
    monkeypatch.setattr(remember, "WORTH", 0)
    things = [(b"%d" % number, number) for number in range(5)]

    def find(number):
        if number == 3:
            raise KeyboardInterrupt
        return number

    with pytest.raises(KeyboardInterrupt):
        remember.remembered("test", b"", things, find)
    found = []
    assert remember.remembered("test", b"", things, lambda number: found.append(number) or number) == [*range(5)]
    assert found == [3, 4]


@pytest.mark.parametrize(("effort", "again"), [(1, [0, 0]), (10, [0])])
def test_what_takes_long_is_remembered_of_less(monkeypatch, effort, again):
    monkeypatch.setattr(remember, "WORTH", 1_000)
    found = []
    for _ in range(2):
        remember.remembered("test", b"", [(b"a" * 100, 0)], lambda thing: found.append(thing) or thing, effort)
    assert found == again


def test_the_order_of_a_set_does_not_matter():
    from lmm_core.settings.project import KnitRules

    assert digest(KnitRules(frozenset("abc"))) == digest(KnitRules(frozenset("cba"))) != digest(KnitRules())
