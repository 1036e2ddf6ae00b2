"""Running the real command lines."""

import os
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

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


def text(path):
    """A file's text, line ends as they are."""
    return Path(path).read_bytes().decode("utf-8")


def write(path, content):
    """Write a text, line ends as they are, or bytes."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return Path(path)


def copy_folder(source, target):
    """A copy of a folder. An index's files are mostly holes, which stay holes: 500 MB of
    zeros for each copy has filled a disk."""
    return Path(shutil.copytree(source, target, copy_function=_copy_with_holes)).resolve()


def _copy_with_holes(source, target):
    with open(target, "wb") as writer:
        for start, part in _parts(source):
            writer.seek(start)
            writer.write(part)
        writer.truncate(os.path.getsize(source))
    shutil.copystat(source, target)


def held(path):
    """The bytes of a file without its holes, to be compared or searched."""
    return b"".join(part for _, part in _parts(path))


def _parts(path, size=1 << 12):
    """The places and bytes of the pages of a file that do not only hold zeros."""
    with open(path, "rb") as reader:
        end, zeros = 0, bytes(size)
        while (start := _next_data(reader, end)) is not None:
            end = os.lseek(reader.fileno(), start, os.SEEK_HOLE) if hasattr(os, "SEEK_HOLE") else os.path.getsize(path)
            reader.seek(start)
            for place in range(start, end, size):
                part = reader.read(min(size, end - place))
                if part.strip(b"\0") if len(part) < size else part != zeros:
                    yield place, part


def _next_data(reader, place):
    """Where the next bytes of a file begin that are no hole; None at its end."""
    if place == os.fstat(reader.fileno()).st_size:
        return None
    try:
        return os.lseek(reader.fileno(), place, os.SEEK_DATA) if hasattr(os, "SEEK_DATA") else place
    except OSError:
        return None
