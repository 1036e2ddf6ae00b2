"""The commands on embedding models that work on this machine."""

from __future__ import annotations

import click

from ...logging import say
from ..arguments import json_option
from ..reports import print_json


@click.group()
def models() -> None:
    """List and get embedding models that run here."""


@models.command("list")
@json_option
def print_models(as_json: bool) -> None:
    """List the models that fastembed knows, with dimensions and size, and say which are here."""
    from ...models.embedders.fastembed_models import list_models

    found = list_models()
    if as_json:
        print_json([one._asdict() for one in found])
        return
    width = max(len(one.name) for one in found)
    for one in found:
        here = "  on this machine" if one.present else ""
        say(f"{one.name:<{width}}  {one.dimensions:>5} dimensions  {one.size:>6.2f} GB{here}")


@models.command("get")
@click.argument("name")
def download_model(name: str) -> None:
    """Download the model NAME into the user's cache folder.

    It is used once config.toml names it: under [embeddings], dense_model = "fastembed/NAME"."""
    from ...models.embedders.fastembed_models import get_model, models_folder

    got = get_model(name)
    say(f"{got} is in {models_folder()}; to use it, name it in config.toml", err=True)
