"""Our commands end without a search for objects that refer to each other."""

import os
import subprocess
import sys

import pytest

SEEN = "import atexit, gc, sys\natexit.register(lambda: print(gc.get_freeze_count() > 1000, file=sys.stderr))\n"


@pytest.mark.parametrize(
    "code",
    [
        "from lmm_core.cli import main; sys.argv[1:] = ['--help']; main()",
        "from lmm_filters.lmm_rag import main; main()",
        "from lmm_core.quarto.render import run_script; sys.exit(run_script('post-render'))",
    ],
)
def test_objects_are_set_aside_before_python_looks_through_them(code, tmp_path):
    environment = os.environ | {"LMM_INNER": "1", "QUARTO_PROJECT_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SEEN + code], cwd=tmp_path, env=environment, input="{}", capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "True"


OWN = """
class Log:
    def __init__(self):
        self.itself, self.file = self, open("log.txt", "w")

log = Log()

def write(blocks):
    log.file.write(str(len(blocks)))
    return blocks
"""


def test_what_a_pass_of_ones_own_leaves_open_is_written(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "notes.md").write_text("# Mean\n")
    command = [sys.executable, "-m", "lmm_core", "pass", "own:write", "notes.md"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "log.txt").read_text() == "1"


def test_a_script_of_somebody_else_ends_as_it_did():
    code = "import lmm_core; from lmm_core import scan"
    done = subprocess.run([sys.executable, "-c", SEEN + code], capture_output=True, text=True, check=True)
    assert done.stderr == "False\n"
