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
        "from lmm_core.quarto.hook import run_hook; sys.exit(run_hook('post-render'))",
    ],
)
def test_objects_are_set_aside_before_python_looks_through_them(code, tmp_path):
    environment = os.environ | {"LMM_INNER": "1", "QUARTO_PROJECT_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SEEN + code], cwd=tmp_path, env=environment, input="{}", capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "True"


def test_a_script_of_somebody_else_ends_as_it_did():
    code = "import lmm_core; from lmm_core import scan"
    done = subprocess.run([sys.executable, "-c", SEEN + code], capture_output=True, text=True, check=True)
    assert done.stderr == "False\n"
