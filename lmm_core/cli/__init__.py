"""The command `lmm`: parse arguments, call other packages, print results.

Messages go to standard error, data to standard output. Exit status: 0 for success, 1 for failure (or, with
`--check`, for pending changes), 2 for wrong usage. May import everything but the filters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import click

from .. import __version__
from ..ending import collect_rarely
from ..errors import ConfigError, LmmError
from ..logging import make_output_printable, one_line, say

# Errors for which the usage line helps
_ABOUT_USAGE = (click.MissingParameter, click.NoSuchOption, click.BadOptionUsage, click.BadArgumentUsage)


class _Failure(click.ClickException):
    """An error to print, with an optional usage line."""

    def __init__(self, message: str, usage: str = "") -> None:
        super().__init__(message)
        self.usage = usage

    def show(self, file: Any = None) -> None:
        if self.usage:
            say(f"{self.usage}\n", err=True)
        say("Error: ", err=True, nl=False, style="bold red")
        say(self.message, err=True)


class _WrongUsage(_Failure):
    """A usage error."""

    exit_code = 2


@contextmanager
def _errors_in_sentences() -> Iterator[None]:
    """Convert errors to printable ones: ConfigError to wrong usage, others to failures. Ctrl-C exits with 130."""
    try:
        yield
    except ConfigError as error:
        raise _WrongUsage(str(error)) from None
    except LmmError as error:
        raise _Failure(str(error)) from None
    except OSError as error:
        if not error.filename:  # an output error, or `| head` has closed the pipe: see `main`
            raise
        raise _Failure(f"{error.filename}: {error.strerror}") from None
    except KeyboardInterrupt:
        say("Stopped. The work so far is kept: run the same command to continue.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        if (
            isinstance(error, _Failure) or type(error).__name__ == "NoArgsIsHelpError"
        ):  # click 8.2 raises the latter to show help
            raise
        context = error.ctx if isinstance(error, _ABOUT_USAGE) else None
        failure = _WrongUsage if isinstance(error, click.UsageError) else _Failure
        message = error.format_message()
        if isinstance(error, click.NoSuchOption):
            message = f"{message.rstrip('.')}; write -- before words that begin with a dash."
        raise failure(message, context.get_usage() if context else "") from None


class _GroupedCommands(click.Group):
    """A group that imports commands lazily and lists them by purpose."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _errors_in_sentences():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _errors_in_sentences():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # Import only the called command's module, for a fast start
        if cmd_name not in COMMANDS:
            return None
        members = vars(import_module(f".commands.{COMMANDS[cmd_name].module}", __name__)).values()
        return next(member for member in members if isinstance(member, click.Command) and member.name == cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["all"] = "--all" in args  # --help is processed before later options
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == "help":
            args = [*args[1:2], "--help"]
        if args[0] not in {*COMMANDS, "--help"}:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS.keys() - HIDDEN.keys(), 1)
            hint = f"Did you mean {near[0]!r}?" if near else "lmm --help lists the commands."
            raise _WrongUsage(f"There is no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = {**GROUPS, "More": MORE} if ctx.meta.get("all") else GROUPS
        for title, commands in groups.items():
            with formatter.section(title):
                formatter.write_dl([(name, command.help) for name, command in commands.items()])
        if groups is GROUPS:
            formatter.write_paragraph()
            formatter.write_text(f"lmm --help --all lists {len(MORE)} more.")


@click.group(cls=_GroupedCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--all", is_flag=True, expose_value=False, help="List all commands (with --help).")
@click.version_option(__version__, prog_name="lmm")
def cli() -> None:
    """Turn notes in markdown into a course that students can search and ask.

    FILES are markdown files, or folders of them."""


def main() -> None:
    collect_rarely()
    make_output_printable()
    if sys.platform == "win32":  # old consoles print ANSI codes literally
        import_module("colorama").just_fix_windows_console()
    try:
        try:
            cli()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:  # commands catch errors that they can explain better
        if not isinstance(error, BrokenPipeError):  # `| head` has closed the pipe
            say(one_line(f"lmm: {error.filename or 'standard output'}: {error.strerror}"), err=True)
        sys.stdout = None  # keeps Python from flushing at exit and failing again
        sys.exit(1)


# The commands, listed so that `lmm --help` imports none (a test compares the texts)


class Registered(NamedTuple):
    """A command: its module in `commands`, and the first sentence of its help."""

    module: str
    help: str


# In the order of a course's life
GROUPS: dict[str, dict[str, Registered]] = {
    "Begin": {
        "demo": Registered("course", "Make the sample course, with its site and index."),
        "init": Registered("course", "Turn a folder of notes into a course, or start a new one."),
        "doctor": Registered("machine", "Show what is installed, and which models do what."),
        "config": Registered("machine", "Show or write config.toml; manage prompts and the cache."),
        "models": Registered("machine", "List and download embedding models that run here."),
    },
    "Write": {
        "scan": Registered("overview", "Show sections, missing annotations, and mistakes."),
        "rag": Registered("write", "Give each section questions and a summary, in place."),
        "chat": Registered("talk", "Answer questions in the text, and propose requested edits."),
        "accept": Registered("talk", "Replace old texts by their new versions."),
        "reject": Registered("talk", "Restore old texts, byte for byte."),
        "clear": Registered("talk", "Remove chats or annotations from the text."),
    },
    "Publish": {
        "course": Registered("course", "Make the site and the index of a course."),
        "knit": Registered("publish", "Write the lecture notes, without RAG-only material."),
        "pandoc": Registered("publish", "Run pandoc with our filters."),
        "serve": Registered("asking.serve", "Answer students' questions on a web page."),
        "asked": Registered("asking.asked", "Show what students asked, and what the notes lack."),
    },
    "Find and learn": {
        "index": Registered("index", "Index documents."),
        "search": Registered("asking.search", "Find passages by a question or by words."),
        "ask": Registered("asking.ask", "Answer a question from the notes, with sources."),
        "toc": Registered("asking.teach", "List contents with reading times, or plan how to study."),
        "cards": Registered("asking.teach", "Make study cards from questions, definitions and exercises."),
    },
}
# Listed by `lmm --help --all`
MORE: dict[str, Registered] = {
    "pass": Registered("write", "Run your own pass, a Python function, on documents."),
    "convert": Registered("publish", "Change how metadata blocks are written, in place."),
    "recover": Registered("write", "Restore a file that pandoc was interrupted in writing."),
    "leak-check": Registered("course", "Search a rendered site for text left out of the notes."),
    "chunks": Registered("index", "List the chunks that would be indexed."),
    "bench": Registered("asking.bench", "Measure which sections students cannot find."),
    "md-index": Registered("folders", "Index any folder of markdown."),
    "md-search": Registered("folders", "Find snippets in folders indexed by lmm md-index."),
    "mcp": Registered("asking.serve", "Give agents tools to search and read the notes (MCP)."),
    "import": Registered("publish", "Convert Word, slides, web pages and PDF to markdown."),
    "llmd": Registered("llmd", "Work with a model on a project in one document."),
}
# For the scripts of the Quarto extension
HIDDEN = {"quarto": Registered("course", "Run the steps of the Quarto extension before and after a render.")}
COMMANDS = {name: command for commands in [*GROUPS.values(), MORE, HIDDEN] for name, command in commands.items()}
