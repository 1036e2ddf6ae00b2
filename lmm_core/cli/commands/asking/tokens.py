"""The commands for access tokens of `lmm serve`."""

from __future__ import annotations

from pathlib import Path

import click

from ....logging import put, say
from ....serving.tokens import add_token, read_tokens, revoke_token, tokens_path
from ...arguments import json_option, searched_project
from ...reports import print_json


@click.group()
def token() -> None:
    """Make and revoke access tokens for courses and groups.

    Once there is one, `lmm serve` requires a token: one of these, or LMM_SERVE_TOKEN. Only their hashes
    are stored, in .lmm/tokens.json. A running server sees each change at once."""


@token.command("add")
@click.argument("name")
def add(name: str) -> None:
    """Make a token for a course or group, and print it once."""
    root = searched_project().root
    before = read_tokens(tokens_path(root))
    made = add_token(root, name)
    put(made + "\n")
    say(f"This is the token of {name}. It is shown only once: give it to those who may ask.", err=True)
    if before is None:
        say("From now on, lmm serve requires a token.", err=True)


@token.command("list")
@json_option
def print_tokens(as_json: bool) -> None:
    """List the tokens, with the day each was made."""
    tokens = read_tokens(tokens_path(searched_project().root))
    if as_json:
        print_json([{"name": one.name, "made": one.made} for one in tokens or ()])
        return
    for one in tokens or ():
        say(f"{one.made}  {one.name}")
    if not tokens:
        there = "no tokens: nobody can ask, except with LMM_SERVE_TOKEN" if tokens is not None else "no tokens"
        say(there, err=True)


@token.command("revoke")
@click.argument("name")
def revoke(name: str) -> None:
    """Revoke a token: its holders can no longer ask."""
    root = searched_project().root
    revoke_token(root, name)
    say(f"revoked: {name}", err=True)
    if not read_tokens(tokens_path(root)):
        place = tokens_path(Path()).as_posix()
        say("No token is left: nobody can ask now, except with LMM_SERVE_TOKEN.", err=True)
        say(f"To let everyone in, remove {place} and restart lmm serve.", err=True)
