"""The script that Quarto runs before and after a render. It does what `lmm quarto STAGE` does.

Quarto starts it with whatever Python it has, which may lack our package. So the script needs the
standard library alone, and looks for the command in all places where a course may have it. Every render
waits for it, so that it is run without site-packages, and imports what it uses alone.
"""

import os
import sys

MISSING = (
    "LM markdown: The command lmm was not found. Install the package lmm-markdown (where the course has a "
    "requirements.txt: `pip install -r requirements.txt`) in the environment that is active when Quarto runs, or name "
    "that environment's Python in QUARTO_PYTHON."
)


def find_command() -> list[str]:
    """Return the command for `lmm`: on PATH, else as a module of Quarto's Python or of the project's
    own; [] if there is none."""
    import shutil
    from pathlib import Path

    if found := shutil.which("lmm"):
        return [found]
    project = Path(os.environ.get("QUARTO_PROJECT_DIR", "."))
    named = os.environ.get("QUARTO_PYTHON", "")
    for python in (named, project / ".venv" / "bin" / "python", project / ".venv" / "Scripts" / "python.exe"):
        if python and has_package(str(python)):
            return [str(python), "-P", "-m", "lmm_core"]  # -P keeps modules in the project's folder from being imported
    return []


def has_package(python: str) -> bool:
    """Return True if an interpreter exists and has our package."""
    import shutil
    import subprocess

    if shutil.which(python) is None:
        return False

    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('lmm_core') is None)"
    return subprocess.run([python, "-P", "-c", code], check=False).returncode == 0


def hand_over(stage: str) -> int:
    """Run `lmm quarto STAGE` in Quarto's environment, and return its exit status."""
    import subprocess  # not imported by a script that has its Python

    command = find_command()
    if not command:
        # when a script fails, Quarto shows nothing but the script's own message
        print(MISSING, file=sys.stderr)
        return 1
    return subprocess.run([*command, "quarto", stage], check=False).returncode


def run_here(stage: str) -> int | None:
    """Run a stage in this process, and return its exit status, if that is the Python that `lmm` would start:
    starting one takes as long as much of the work. None: it is another one, or its package is older."""
    import importlib
    import shutil

    found = shutil.which("lmm")
    if not found or not is_beside_python(found):
        return None
    if sys.flags.no_site:
        import site

        site.main()
    try:
        run_script = importlib.import_module("lmm_core.quarto.render").run_script
    except (ImportError, AttributeError):
        return None
    return run_script(stage)


def is_beside_python(command: str) -> bool:
    """Return True if a command is in the folder of this Python, and starts it as it is here."""
    is_beside = os.path.dirname(command) == os.path.dirname(sys.executable)
    return is_beside and not os.environ.get("PYTHONPATH")


def main(stage: str) -> int:
    """Do the work of a stage, and return the exit status."""
    try:
        status = run_here(stage)
        return hand_over(stage) if status is None else status
    except KeyboardInterrupt:  # a command that was started has been interrupted as well
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
