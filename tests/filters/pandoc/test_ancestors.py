"""The processes above a filter."""

import os
import sys

import psutil
import pytest

from filters.pandoc.run import find_ancestors


def test_the_process_that_started_this_one_comes_first():
    parent, found = psutil.Process().parent(), next(find_ancestors())
    assert (found.command, str(found.folder)) == (parent.cmdline(), parent.cwd())
    assert found.names[0] == parent.exe()
    assert found.ident.startswith(f"{parent.pid}/")


@pytest.mark.skipif(sys.platform != "linux", reason="a file of Linux")
def test_what_cannot_be_seen_ends_the_list(monkeypatch):
    def refuse(path):
        raise PermissionError(path)

    monkeypatch.setattr(os, "readlink", refuse)
    assert list(find_ancestors()) == []
