"""What Quarto runs before and after a render: hands over to `lmm quarto STAGE`.

Quarto starts this with whatever Python it has, which may lack our package: it needs
the standard library alone, and looks for the command where a course may have it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

MISSING = (
    "LM markdown: the command lmm is not found: pip install lmm-markdown in the environment that is active "
    "when Quarto runs, or name its Python in QUARTO_PYTHON"
)


def find_command() -> list[str]:
    """`lmm` on PATH, else as a module of Quarto's Python or of the project's own."""
    if found := shutil.which("lmm"):
        return [found]
    project = Path(os.environ.get("QUARTO_PROJECT_DIR", "."))
    named = os.environ.get("QUARTO_PYTHON", "")
    for python in (named, project / ".venv" / "bin" / "python", project / ".venv" / "Scripts" / "python.exe"):
        if python and has_package(str(python)):
            return [str(python), "-P", "-m", "lmm_core"]  # -P: no module of the project's folder is imported
    return []


def has_package(python: str) -> bool:
    """Whether an interpreter is there and has our package."""
    if shutil.which(python) is None:
        return False
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('lmm_core') is None)"
    return subprocess.run([python, "-P", "-c", code], check=False).returncode == 0


def hand_over(stage: str) -> int:
    """Run `lmm quarto STAGE` in Quarto's environment; returns its exit status."""
    command = find_command()
    if not command:
        # a failing script's own message is all that Quarto's user sees
        print(MISSING, file=sys.stderr)
        return 1
    try:
        return subprocess.run([*command, "quarto", stage], check=False).returncode
    except KeyboardInterrupt:  # the command was told as well, and has said so
        return 130


if __name__ == "__main__":
    sys.exit(hand_over(sys.argv[1]))
