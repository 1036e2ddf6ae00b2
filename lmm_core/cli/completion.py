"""Install click's shell completion scripts."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ..errors import OutputError
from ..files.writing import write_file

PROGRAM = "lmm"
SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_LMM_COMPLETE"  # read by the scripts


def find_shell() -> str:
    """Return the user's shell, "" if unsupported."""
    name = Path(os.environ.get("SHELL", "")).name
    return name if name in SHELLS else ""


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    from click.shell_completion import get_completion_class

    from . import cli

    found = get_completion_class(shell)
    assert found is not None, shell
    # click's `source()` would start bash to check its version
    completer = found(cli, {}, PROGRAM, _VARIABLE)
    return completer.source_template % completer.source_vars()


def install_script(shell: str) -> Path:
    """Write the script where the shell looks for it, and return the path.

    Raise OutputError for a file of another program, and OSError."""
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
    """Return the path of the user's completion script."""
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
    """Return instructions for after the installation."""
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
