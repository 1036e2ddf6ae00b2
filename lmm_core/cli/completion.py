"""Completion of our commands in shells: click's scripts, put where each shell looks for them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ..errors import OutputError
from ..files.writing import write_file

PROGRAM = "lmm"
SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_LMM_COMPLETE"  # by which the scripts ask for completions


def find_shell() -> str:
    """Return the name of the user's shell, "" if it is none that we complete in."""
    name = Path(os.environ.get("SHELL", "")).name
    return name if name in SHELLS else ""


def script(shell: str) -> str:
    """Return the script that makes a shell complete our commands."""
    from click.shell_completion import get_completion_class

    from . import cli

    found = get_completion_class(shell)
    assert found is not None, shell
    # The text alone: `source()` of click starts a bash to see its version
    completer = found(cli, {}, PROGRAM, _VARIABLE)
    return completer.source_template % completer.source_vars()


def install_script(shell: str) -> Path:
    """Write the script to the place where the shell looks for it, and return that. Raise OutputError if
    there is a file that is none of ours, and OSError."""
    place = script_place(shell)
    text = script(shell)
    if place.is_file() and _VARIABLE not in place.read_text("utf-8", "replace"):
        raise OutputError(
            f"{place}: this file was not made by lmm. Move it away, or print the script (lmm config completion {shell})"
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    write_file(place, text.encode("utf-8"))
    return place


def script_place(shell: str) -> Path:
    """Return the user's file for completions of `lmm`."""
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    if shell == "bash":
        folder = os.environ.get("BASH_COMPLETION_USER_DIR")
        return (Path(folder) if folder else data / "bash-completion") / "completions" / PROGRAM
    if shell == "fish":
        return (
            Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "fish/completions" / f"{PROGRAM}.fish"
        )
    return data / "zsh" / "site-functions" / f"_{PROGRAM}"


def hint(shell: str, place: Path) -> str:
    """Return what the person has to know or do now."""
    if shell == "fish":
        return "fish reads it when it completes lmm."
    if shell == "bash":
        return (
            "Open a new terminal. Where nothing is completed there, the package bash-completion is missing; then add "
            f"this line to ~/.bashrc:\n    . {shlex.quote(str(place))}"
        )
    return (
        "Open a new terminal, after you have added these lines to ~/.zshrc (the first one before any other line with "
        f"compinit):\n    fpath=({shlex.quote(str(place.parent))} $fpath)\n    autoload -Uz compinit && compinit"
    )
