"""The commands on the access tokens of `lmm serve`: make one for a course or group, list them, revoke one."""

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

    From the first one on, who asks `lmm serve` needs a token: one of these, or LMM_SERVE_TOKEN. Only
    their hashes are kept, in .lmm/tokens.json. A server that runs sees each change at once."""


@token.command("add")
@click.argument("name")
def add(name: str) -> None:
    """Make a token for a course or group, and print it this once."""
    root = searched_project().root
    before = read_tokens(tokens_path(root))
    made = add_token(root, name)
    put(made + "\n")
    say(f"the token of {name}: it is shown this once; give it to those who may ask", err=True)
    if before is None:
        say("from now on, who asks lmm serve needs a token", err=True)


@token.command("list")
@json_option
def print_tokens(as_json: bool) -> None:
    """List the names of the tokens, and the days they were made."""
    tokens = read_tokens(tokens_path(searched_project().root))
    if as_json:
        print_json([{"name": one.name, "made": one.made} for one in tokens or ()])
        return
    for one in tokens or ():
        say(f"{one.made}  {one.name}")
    if not tokens:
        there = "no tokens: nobody can ask, unless with LMM_SERVE_TOKEN" if tokens is not None else "no tokens"
        say(there, err=True)


@token.command("revoke")
@click.argument("name")
def revoke(name: str) -> None:
    """Take a token away: who has it can ask no more."""
    root = searched_project().root
    revoke_token(root, name)
    say(f"revoked: {name}", err=True)
    if not read_tokens(tokens_path(root)):
        place = tokens_path(Path()).as_posix()
        say("no token is left: nobody can ask now, unless with LMM_SERVE_TOKEN", err=True)
        say(f"to let all in, remove {place}, and start lmm serve anew", err=True)
