"""The command `lmm`: the passes on files and folders, without pandoc.

What a person reads goes to standard error, data to standard output. Exit
status: 0 done, 1 something could not be done (or, with `--check`, would be
changed), 2 wrong usage.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from .. import __version__
from ..logging import one_line, printable, say

# The commands with their modules, of which only the one that is called is imported: start-up
# is part of the user's wait.
GROUPS: dict[str, dict[str, str]] = {
    "Write": {"scan": "write", "rag": "write", "pass": "write", "recover": "recover"},
    "Talk to the model": dict.fromkeys(("chat", "edit", "watch", "accept", "reject", "clear"), "talk"),
    "Find": dict.fromkeys(("index", "search", "chunks", "split"), "find")
    | dict.fromkeys(("md-index", "md-search"), "folders"),
    "Ask": {"ask": "ask", "toc": "teach", "cards": "teach", "bench": "bench", "mcp": "tools", "serve": "serve"},
    "Work on a project": {"llmd": "llmd"},
    "Publish": {"knit": "publish", "convert": "publish", "leak-check": "quarto", "quarto": "quarto"},
    "Set up": {"doctor": "machine", "models": "models", "config": "machine", "trust": "trust", "cache": "machine"},
}
MODULES = {name: module for commands in GROUPS.values() for name, module in commands.items()}


@contextmanager
def _printable_errors() -> Iterator[None]:
    """Make what click prints of an error printable: it quotes names and arguments."""
    try:
        yield
    except click.ClickException as error:
        for name, value in vars(error).items():
            if isinstance(value, str):
                setattr(error, name, printable(value))
        raise


class _Grouped(click.Group):
    """Help by what a person wants to do."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _printable_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _printable_errors():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        found = vars(import_module(f".commands.{MODULES[cmd_name]}", __name__)).values()
        return next(one for one in found if isinstance(one, click.Command) and one.name == cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in GROUPS.items():
            commands = [(name, command) for name in names if (command := self.get_command(ctx, name))]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(90)) for name, command in commands])


@click.group(cls=_Grouped, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="lmm")
def cli() -> None:
    """Notes in markdown that a writer and a language model work on together.

    FILES are markdown files, or folders of them. Nothing in them changes but
    their metadata."""


def main() -> None:
    """The command `lmm`. What a terminal's or pipe's encoding has no sign for is shown as `?`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # ASCII is what Python takes a terminal for that has not said what it is: UTF-8, today
            ascii_alone = stream.encoding.lower() in ("ascii", "us-ascii", "ansi_x3.4-1968")
            stream.reconfigure(encoding="utf-8" if ascii_alone else stream.encoding, errors="replace")
    if sys.platform == "win32":  # its old consoles show styles as signs otherwise
        import_module("colorama").just_fix_windows_console()
    try:
        try:
            cli()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:  # what a command can say more of, it has said
        if not isinstance(error, BrokenPipeError):  # `| head` has had enough
            say(one_line(f"lmm: {error.filename or 'standard output'}: {error.strerror}"), err=True)
        sys.stdout = None  # what is left in it cannot be written when Python ends, either
        sys.exit(1)
