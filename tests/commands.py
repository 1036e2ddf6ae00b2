"""Running the real command lines."""

import os
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

from click.testing import CliRunner

from lmm_core.cli import cli
from lmm_core.installation import packaged_pandoc
from tests.warm import BIN as BIN
from tests.warm import search_path


@cache
def pandocs():
    """Paths of the pandocs to test with: those of LMM_TEST_PANDOCS (separated as in
    PATH), the packaged one, and in want of both the one on PATH."""
    found = [path for path in os.environ.get("LMM_TEST_PANDOCS", "").split(os.pathsep) if path]
    if packaged_pandoc():
        found.append(str(packaged_pandoc()))
    return found or [path for path in [shutil.which("pandoc")] if path]


def run(command, pandoc=None, stdin=None, env=None):
    """Run a command line in the working folder; `pandoc` in it is the one given."""
    words = [pandoc if pandoc and word == "pandoc" else word for word in shlex.split(command)]
    environment = {**os.environ, "PATH": f"{search_path()}{os.pathsep}{os.environ['PATH']}"} | (env or {})
    data = None if stdin is None else stdin.encode("utf-8")
    return subprocess.run(words, input=data, stdin=None if data is not None else subprocess.DEVNULL,
                          capture_output=True, env=environment, timeout=120)  # fmt: skip


def in_process(command, **options):
    """Run a command line of `lmm`, without that word, in this process: to start one takes longer than most of the work.

    An error that is no exit comes out. options: those of click's `invoke`"""
    done = CliRunner().invoke(cli, shlex.split(command), **options)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def text(path):
    """A file's text, line ends as they are."""
    return Path(path).read_bytes().decode("utf-8")


def write(path, content):
    """Write a text, line ends as they are, or bytes."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return Path(path)


def change(before, after, path="notes.md"):
    """Change a text in a file, as a writer does in an editor."""
    content = text(path)
    assert content.count(before) == 1, content
    write(path, content.replace(before, after))


def tree(folder=".", without=()):
    """All that is in a folder, but for folders of some names: bytes of files, where links lead, None for folders."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = path.relative_to(folder)
        if set(without).isdisjoint(name.parts):
            found[str(name)] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def copy_folder(source, target):
    """A copy of a folder."""
    return Path(shutil.copytree(source, target)).resolve()


def copy_course(source, target):
    """A copy of a course, without the index and site of who has tried it there."""
    left_out = shutil.ignore_patterns(".lmm", ".quarto", "_book", "_site", "_extensions")
    return Path(shutil.copytree(source, target, ignore=left_out)).resolve()


def counting(monkeypatch, module, name):
    """Count the calls of a function."""
    calls, function = [], getattr(module, name)

    def counted(*given, **named):
        calls.append(given)
        return function(*given, **named)

    monkeypatch.setattr(module, name, counted)
    return calls
