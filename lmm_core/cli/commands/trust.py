"""The command that says which keys may go to which hosts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from ...errors import TrustError
from ...logging import say
from ...markdown.files import project_root
from ...models.trust import (
    TRUST_VARIABLE,
    Pair,
    add_pair,
    read_pair,
    remove_pair,
    trust_file,
    trusted_pairs,
)
from ...settings.names import CONFIG_NAME
from ..shared import json_option, print_json

Result = TypeVar("Result")


@click.group()
def trust() -> None:
    """Say which keys a project's config.toml may send to which hosts.

    The keys of our own sources go to those, and any key to this machine. Everything else is
    kept in your own configuration, never in a project; LMM_TRUST="HOST VARIABLE, HOST
    VARIABLE" in the environment says the same."""


@trust.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List what is allowed, and where that is said."""
    pairs = _done(lambda: trusted_pairs(_root()))
    rows = [{"host": pair.host, "variable": pair.variable, "origin": pairs[pair]} for pair in sorted(pairs)]
    if as_json:
        print_json(rows)
    elif not rows:
        say("no host beside those of our own sources, and this machine", err=True)
    for row in () if as_json else rows:
        say(f"{row['host']} {row['variable']}  {row['origin']}")


@trust.command("add")
@click.argument("host")
@click.argument("variable")
def add(host: str, variable: str) -> None:
    """Let the key in VARIABLE go to HOST (or HOST:PORT), by https."""
    pair = _pair(host, variable)
    new = _done(lambda: add_pair(pair, _root()))
    said = "may go" if new else "might already go"
    say(f"the key in {pair.variable} {said} to {pair.host} by https: {_done(trust_file)}", err=True)


@trust.command("remove")
@click.argument("host")
@click.argument("variable")
def remove(host: str, variable: str) -> None:
    """No longer let the key in VARIABLE go to HOST."""
    pair = _pair(host, variable)
    was_there = _done(lambda: remove_pair(pair, _root()))
    if was_there:
        say(f"the key in {pair.variable} no longer goes to {pair.host}: {_done(trust_file)}", err=True)
    elsewhere = _done(lambda: trusted_pairs(_root())).get(pair)
    if elsewhere:
        say(f"{TRUST_VARIABLE} in the environment still lets it go there", err=True)
    elif not was_there:
        say(f"{pair.host} {pair.variable}: is not in {_done(trust_file)} (lmm trust list)", err=True)
    sys.exit(0 if was_there and not elsewhere else 1)


def _root() -> Path | None:
    """The folder of the `config.toml` that is in force here, if there is one."""
    root = project_root(Path.cwd() / "-")
    return root if (root / CONFIG_NAME).is_file() else None


def _pair(host: str, variable: str) -> Pair:
    try:
        return read_pair(host, variable)
    except TrustError as error:
        raise click.UsageError(str(error)) from None


def _done(work: Callable[[], Result]) -> Result:
    """What comes of work on the file, or the error that kept it from being done."""
    try:
        return work()
    except TrustError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
