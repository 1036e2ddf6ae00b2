"""Commands that set up and look after."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from ...errors import ConfigError
from ...logging import say
from ...markdown.files import project_root
from ...settings.names import CONFIG_NAME
from ..shared import checked, json_option, print_json


@click.command()
@json_option
@click.option("--online", is_flag=True, help="Ask the models' servers whether they are there.")
def doctor(as_json: bool, online: bool) -> None:
    """Show what is installed, what is found, and which models do what."""
    from ...workflows.doctor import examine

    findings = examine(online)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            say(f"{'ok' if finding.ok else '--'}  {finding.what:<12}{finding.found}")
            if finding.advice:
                say(f"    {'':<12}{finding.advice}")
    sys.exit(0 if all(finding.ok or finding.optional for finding in findings) else 1)


@click.group()
def config() -> None:
    """Show the configuration, or begin a config.toml."""


@config.command("show")
@click.argument("path", default=".", type=click.Path(exists=True, path_type=Path))
@json_option
def show(path: Path, as_json: bool) -> None:
    """Print each setting of a project, and where it comes from."""
    from ...settings.config import explain

    file = _project_of(path) / CONFIG_NAME
    values = checked(lambda: explain(file))
    if as_json:
        print_json([asdict(value) for value in values])
        return
    width = max(len(value.key) for value in values)
    for value in values:
        say(f"{value.key:<{width}}  {_shown(value.value):<28} {value.origin}".rstrip())


@config.command("init")
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Write a config.toml in which every setting stands as a remark."""
    from ...settings.config import write_default

    try:
        say(f"written: {write_default(folder)}", err=True)
    except ConfigError as error:
        say(str(error), err=True)
        sys.exit(1)
    except OSError as error:
        say(f"{error.filename}: {error.strerror}", err=True)
        sys.exit(1)


@click.command()
@click.option("--clear", is_flag=True, help="Empty it; replies and vectors are asked and paid for anew.")
@json_option
def cache(clear: bool, as_json: bool) -> None:
    """Show the caches of models' replies and vectors, or empty them."""
    from ...errors import CacheError
    from ...models.embedders.embedding_cache import EmbeddingCache
    from ...models.reply_cache import ReplyCache

    rows = []
    try:
        for found in (ReplyCache(), EmbeddingCache()):
            size = found.clear() if clear else found.size()
            rows.append({"path": str(found.path), **asdict(size), "most_bytes": found.most_bytes, "cleared": clear})
    except CacheError as error:
        say(str(error), err=True)
        sys.exit(1)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        what = "replies" if "replies" in row else "vectors"
        done = "removed: " if clear else ""
        held, most = row["bytes"] / 1e6, row["most_bytes"] / 1e6
        say(f"{row['path']}: {done}{row[what]} {what}, {held:.1f} of {most:.0f} MB")


def _project_of(path: Path) -> Path:
    return project_root(path / "-" if path.is_dir() else path)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
