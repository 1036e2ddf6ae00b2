"""The commands `lmm doctor`, `lmm config` and `lmm models`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...files.marked import check_inside
from ...files.writing import create_file
from ...installation import link_pandoc, packaged_pandoc, pandoc_command
from ...logging import counted, say
from ...markdown.files import project_root
from ...models.prompts import KNOWN, KnownPrompt, as_written
from ...settings.tables import CONFIG_NAME
from ..arguments import json_option, project_at
from ..reports import print_json

if TYPE_CHECKING:
    from ..doctor import MachineFinding

PROMPTS = "_prompts"  # ignored by our search for documents and by Quarto


@click.command()
@json_option
@click.option("--online", is_flag=True, help="Ask each configured model for one token.")
@click.option("--link", is_flag=True, help="Link the pandoc that came with lmm beside lmm itself, to have it on PATH.")
def doctor(as_json: bool, online: bool, link: bool) -> None:
    """Show what is installed, and which models do what.

    Each line begins with ok (it works), -- (it is missing or broken) or .. (it is optional and missing).
    The exit status is 1 if any line begins with --."""
    from ..doctor import examine

    if link:
        _link_pandoc()
        return
    findings = examine(online)
    missing = [finding for finding in findings if not (finding.ok or finding.optional)]
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _print_findings(findings)
        say(_conclude(findings, len(missing)))
    sys.exit(1 if missing else 0)


def _link_pandoc() -> None:
    from ..doctor import path_command

    if (program := packaged_pandoc()) is None:
        raise click.ClickException(f"No pandoc came with lmm: {pandoc_command()}")
    place = link_pandoc(program)
    say(f"linked: {place} -> {program}", err=True)
    if shutil.which("pandoc") != str(place):
        say(f"Your shell does not find this pandoc first. To change that: {path_command(place.parent)}", err=True)


def _print_findings(findings: Sequence[MachineFinding]) -> None:
    before = ""
    for finding in findings:
        sign, style = ("ok", "green") if finding.ok else ("..", "dim") if finding.optional else ("--", "red")
        say(sign, nl=False, style=style)
        say(f"  {finding.what:<12}{finding.found}")
        for line in finding.advice.splitlines() if finding.advice != before else ():
            say(f"    {'':<12}{line}".rstrip())
        before = finding.advice


def _conclude(findings: Sequence[MachineFinding], missing: int) -> str:
    optional = (
        "; lines marked .. are optional" if any(not finding.ok and finding.optional for finding in findings) else ""
    )
    return f"{counted(missing, 'problem')}, marked --, with what to do{optional}" if missing else (
        f"nothing is missing{optional}"
    )  # fmt: skip


# Configuration


@click.group()
def config() -> None:
    """Show or write config.toml; manage prompts and the cache."""


@config.command("show")
@click.argument("path", default=".", type=click.Path(exists=True, path_type=Path))
@json_option
def show_config(path: Path, as_json: bool) -> None:
    """Print each setting of a project, and where it comes from."""
    from ...settings.config import explain

    file = project_root(path / "-" if path.is_dir() else path) / CONFIG_NAME
    values = explain(file)
    if as_json:
        print_json([asdict(value) for value in values])
        return
    width = max(len(value.key) for value in values)
    for value in values:
        say(f"{value.key:<{width}}  {_as_toml(value.value):<28} {value.origin}".rstrip())


@config.command("init")
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))
def write_config(folder: Path) -> None:
    """Write a config.toml that lists every setting in a comment."""
    from ...settings.config import write_default

    say(f"written: {write_default(folder)}", err=True)


def _as_toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


# Prompts


@config.command()
@click.argument("name", required=False)
@click.option("--init", "begin", is_flag=True, help="Write the built-in prompt to _prompts/NAME.md, for you to change.")
@json_option
def prompts(name: str | None, begin: bool, as_json: bool) -> None:
    """List the prompts, or print the prompt NAME as it is used here.

    To use a prompt of your own, name its file in the section [prompts] of config.toml:
    questions = "_prompts/questions.md"."""
    if name is None:
        if begin:
            raise click.UsageError("--init needs the NAME of a prompt")
        _list_prompts(as_json)
    elif begin:
        _begin_prompt(name)
    else:
        prompt, own = _known_prompt(name), project_at(None).templates.get(name)
        say(as_written(own) if own else prompt.text)


def _list_prompts(as_json: bool) -> None:
    own = project_at(None).templates
    rows = [
        {"name": prompt.name, "purpose": prompt.purpose, "fields": dict(prompt.fields), "needed": prompt.needed,
         "own": prompt.name in own}
        for prompt in KNOWN.values()
    ]  # fmt: skip
    if as_json:
        print_json(rows)
        return
    width = max(map(len, KNOWN))
    for prompt in KNOWN.values():
        say(f"{prompt.name:<{width}}  {'own ' if prompt.name in own else 'ours'}  {prompt.purpose}")


def _begin_prompt(name: str) -> None:
    prompt, root = _known_prompt(name), project_root(Path.cwd() / "-")
    file = root / PROMPTS / f"{name}.md"
    try:
        check_inside(root, file)
        file.parent.mkdir(exist_ok=True)
        create_file(file, f"{prompt.text}\n".encode())
    except FileExistsError:
        raise click.ClickException(f"{file}: already exists, and is not overwritten") from None
    say(f"written: {file}", err=True)
    say("".join(f"{{{field}}}: {meaning}\n" for field, meaning in prompt.fields.items()), err=True)
    say(f'to use it, write into {CONFIG_NAME}:  [prompts]  {name} = "{PROMPTS}/{name}.md"', err=True)


def _known_prompt(name: str) -> KnownPrompt:
    if name not in KNOWN:
        raise click.UsageError(f"there is no prompt {name!r}; there are {', '.join(KNOWN)}")
    return KNOWN[name]


# The cache


@config.command()
@click.option("--clear", is_flag=True, help="Empty it: replies and vectors are then requested, and paid for, again.")
@json_option
def cache(clear: bool, as_json: bool) -> None:
    """Show the cache of models' replies and vectors, or empty it."""
    from ...models.cache import Cache

    reply_cache = Cache()
    size = reply_cache.clear() if clear else reply_cache.size()
    if as_json:
        print_json({"path": str(reply_cache.path), **size._asdict(), "cleared": clear})
        return
    replies = "1 reply" if size.replies == 1 else f"{size.replies} replies"
    contents = f"{replies}, {counted(size.vectors, 'vector')}"
    room = f"{size.bytes / 1e6:.1f} MB"
    say(f"{reply_cache.path}: {'removed: ' if clear else ''}{contents}, {room}")


# Embedding models that run here


@click.group()
def models() -> None:
    """List and download embedding models that run here."""


@models.command("list")
@json_option
def print_models(as_json: bool) -> None:
    """List fastembed's models for texts, with dimensions and size, and which of them are on this machine."""
    from ...models.embedders.fastembed_models import list_models

    known_models = list_models()
    if as_json:
        print_json([model._asdict() for model in known_models])
        return
    width = max(len(model.name) for model in known_models)
    for model in known_models:
        marks = ["recommended"] * model.recommended + ["on this machine"] * model.present
        size = f"{model.dimensions:>5} dimensions  {model.size:>6.2f} GB"
        say(f"{model.name:<{width}}  {size}  {', '.join(marks)}".rstrip())


@models.command("get")
@click.argument("name", required=False)
def download_model(name: str | None) -> None:
    """Download the model NAME, or the recommended one, into the user's cache folder.

    To use it, name it under [embeddings] in config.toml: dense_model = "fastembed/NAME"."""
    from ...models.embedders.fastembed_models import RECOMMENDED, get_model, models_folder

    model = get_model(name or RECOMMENDED)
    say(
        f'{model} is in {models_folder()}; to use it, write into config.toml:  [embeddings]  dense_model = "{model}"',
        err=True,
    )
