"""The command `lmm`: the passes on files and folders, without pandoc.

What a person reads goes to standard error, data to standard output. Exit
status: 0 done, 1 something could not be done (or, with `--check`, would be
changed), 2 wrong usage.
"""

from __future__ import annotations

import click

from .. import __version__
from .ask import ask
from .bench import bench
from .find import chunks, index, search, split
from .llmd import llmd
from .md import md_index, md_search
from .models import models
from .publish import convert, knit
from .quarto import leak_check, quarto
from .serve import serve
from .setup import cache, config, doctor
from .talk import accept, chat, clear, edit, reject, watch
from .teach import cards, toc
from .tools import mcp
from .write import own_pass, rag, scan

GROUPS: dict[str, tuple[click.Command, ...]] = {
    "Write": (scan, rag, own_pass),
    "Talk to the model": (chat, edit, watch, accept, reject, clear),
    "Find": (index, search, chunks, split, md_index, md_search),
    "Ask": (ask, toc, cards, bench, mcp, serve),
    "Work on a project": (llmd,),
    "Publish": (knit, convert, leak_check, quarto),
    "Set up": (doctor, models, config, cache),
}


class _Grouped(click.Group):
    """Help by what a person wants to do."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [str(command.name) for commands in GROUPS.values() for command in commands]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(str(command.name), command.get_short_help_str(90)) for command in commands])


@click.group(cls=_Grouped, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="lmm")
def cli() -> None:
    """Notes in markdown that a writer and a language model work on together.

    FILES are markdown files, or folders of them. Nothing in them changes but
    their metadata."""


for _commands in GROUPS.values():
    for _command in _commands:
        cli.add_command(_command)


def main() -> None:
    """The command `lmm`."""
    cli()
