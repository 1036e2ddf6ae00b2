"""What only runs on Windows, here with a stand-in for it. (`mypy --platform win32` checks the types of it.)"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import text, write
from tests.github_steps import ROOT
from tests.windows import modules

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-in needs Linux' locks")
CHECK = "from tests.windows import *; pretend(); "


def python(code, *arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # fmt: skip


def lmm(*words, status=0, env=None):
    """What a command prints that takes its system for Windows."""
    done = python("from tests.windows import main; main()", *words, env=env or {})
    out, err = done.communicate(timeout=120)
    assert done.returncode == status, out + err
    return out, err


@pytest.mark.slow
def test_all_modules_can_be_imported():
    """None imports a module that Windows lacks."""
    code = CHECK + "import json; [importlib.import_module(name) for name in json.loads(sys.argv[1])]"
    names = [name for name in modules() if not name.endswith("__main__")]
    done = python(code, json.dumps(names))
    assert (done.communicate(timeout=120)[1], done.returncode) == ("", 0)


@pytest.mark.slow
def test_notes_are_annotated_indexed_and_searched():
    write("config.toml", "")
    write("part/notes.md", "---\ntitle: Means\n---\n\n# What is a mean?\n\nThe mean of some values is their sum, divided "
          "by how many values there are. It is where a bar that carries them would balance.\n")  # fmt: skip
    for line in ("rag part", "index ."):
        lmm(*line.split())
    assert "~docid: part/notes.md" in text("part/notes.md")
    (found, *_) = json.loads(lmm("search", "balance", "--json")[0])
    assert found["docid"] == "part/notes.md"
    assert not [*Path("part").glob(".*")]


@pytest.mark.slow
def test_one_process_at_a_time_has_the_index():
    """And whoever ends lets it go, however it ends."""
    held = CHECK + (
        "from lmm_core.store.folder_lock import FolderLock; from pathlib import Path\n"
        "lock = FolderLock(Path('.')); lock.take(); print('held', flush=True); sys.stdin.read()"
    )
    first = python(held, stdin=subprocess.PIPE)
    assert first.stdout.readline() == "held\n"
    taken = python(held, stdin=subprocess.DEVNULL)
    assert f"in use by another process (pid {first.pid})" in taken.communicate(timeout=60)[1]
    first.kill()
    first.communicate()
    again = python(held, stdin=subprocess.DEVNULL)
    assert again.communicate(timeout=60) == ("held\n", "")


@pytest.mark.slow
def test_a_file_that_another_program_has_open_is_tried_again():
    """Windows refuses to rename it meanwhile."""
    write("notes.md", "old\n")
    code = CHECK + (
        "import lmm_core.files.writing as writing; from pathlib import Path; left, real = 3, os.replace\n"
        "def replace(*names):\n"
        "    global left\n"
        "    left -= 1\n"
        "    if left >= 0: raise PermissionError(13, 'Permission denied')\n"
        "    real(*names)\n"
        "os.replace = replace\n"
        "writing.write_file(Path('notes.md'), b'new\\n')"
    )
    done = python(code)
    assert (done.communicate(timeout=60)[1], done.returncode) == ("", 0)
    assert text("notes.md") == "new\n"
