"""Both ways to see the processes above tell the same."""

import os
import sys

import psutil
import pytest

from filters.pandoc import run as ancestors
from filters.pandoc.run import find_ancestors


def test_the_process_that_started_this_one_comes_first():
    parent, found = psutil.Process().parent(), next(find_ancestors())
    assert (found.command, str(found.folder)) == (parent.cmdline(), parent.cwd())
    assert found.names[0] == parent.exe()
    assert found.ident.startswith(f"{parent.pid}/")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has both")
def test_psutil_sees_what_the_files_of_linux_say():
    in_proc, by_psutil = list(ancestors._in_proc()), list(ancestors._by_psutil())
    assert [one[:3] for one in in_proc[: len(by_psutil)]] == [one[:3] for one in by_psutil]


@pytest.mark.skipif(sys.platform != "linux", reason="a file of Linux")
def test_what_cannot_be_seen_ends_the_list(monkeypatch):
    def refuse(path):
        raise PermissionError(path)

    monkeypatch.setattr(os, "readlink", refuse)
    assert list(find_ancestors()) == []
