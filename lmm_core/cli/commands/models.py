"""The commands for local embedding models."""

from __future__ import annotations

import click

from ...logging import say
from ..arguments import json_option
from ..reports import print_json


@click.group()
def models() -> None:
    """List and download embedding models that run here."""


@models.command("list")
@json_option
def print_models(as_json: bool) -> None:
    """List the models for texts that fastembed knows, with dimensions and size, and say which are here."""
    from ...models.embedders.fastembed_models import list_models

    found = list_models()
    if as_json:
        print_json([one._asdict() for one in found])
        return
    width = max(len(one.name) for one in found)
    for one in found:
        marks = ["recommended"] * one.recommended + ["on this machine"] * one.present
        say(f"{one.name:<{width}}  {one.dimensions:>5} dimensions  {one.size:>6.2f} GB  {', '.join(marks)}".rstrip())


@models.command("get")
@click.argument("name", required=False)
def download_model(name: str | None) -> None:
    """Download the model NAME, or the recommended one, into the user's cache folder.

    It is used once config.toml names it: under [embeddings], dense_model = "fastembed/NAME"."""
    from ...models.embedders.fastembed_models import RECOMMENDED, get_model, models_folder

    got = get_model(name or RECOMMENDED)
    say(
        f'{got} is in {models_folder()}; to use it, write into config.toml:  [embeddings]  dense_model = "{got}"',
        err=True,
    )
