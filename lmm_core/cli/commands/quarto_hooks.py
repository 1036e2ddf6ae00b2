"""What the scripts of the Quarto extension call."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ..reports import Told


def _project_dir() -> Path:
    return Path(os.environ.get("QUARTO_PROJECT_DIR") or ".")


def _logger() -> Told:
    return Told(quiet=os.environ.get("QUARTO_PROJECT_SCRIPT_QUIET") == "1")


@click.command("pre-render")
def pre_render_command() -> None:
    """Before a render: refuse or convert native blocks, and annotate. Quarto calls it."""
    from ...quarto.render import pre_render

    sys.exit(pre_render(os.environ, _project_dir(), _logger()))


@click.command("post-render")
def post_render_command() -> None:
    """After a render: look for leaks, and refresh the index. Quarto calls it."""
    from ...quarto.render import post_render

    sys.exit(post_render(os.environ, _project_dir(), _logger()))
