"""Check the machine and the project, with advice for each problem."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

import yaml

from .. import __version__
from ..errors import ConfigError, CutOffError, ModelError, StoreError
from ..indexing.collection import index_info
from ..installation import in_pipx, install_command, packaged_pandoc, pandoc_command, program_folders
from ..models.addresses import shown_address
from ..models.chat import ChatMessage, Request, run, then_close
from ..models.names import NO_MODEL, ROLES, ModelName
from ..models.sources import FASTEMBED, STAND_IN, ModelOptions, ModelSource, known_sources
from ..quarto.setup import check_project
from ..settings.project import Project, load_project, model_name
from ..settings.quarto_project import project_file
from ..settings.tables import CONFIG_NAME

OLDEST_PANDOC = (2, 17)
FILTERS = ("lmm-rag", "lmm-knit", "lmm-chat", "lmm-index", "lmm-pass")
_CUT_OFF = "output limit was reached"  # of a model that thinks first: a valid answer
SECONDS_ONLINE = 30.0  # a local server may have to load its model first


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """A check's result. optional: lmm works without it."""

    what: str
    found: str
    _: KW_ONLY
    ok: bool = True
    optional: bool = False
    advice: str = ""


def examine(online: bool = False) -> list[MachineFinding]:
    """Return all results for the working folder, in order of importance.

    online: request one token from each configured model"""
    return [
        MachineFinding("lmm", f"{__version__}, Python {sys.version.split()[0]}"),
        _pandoc(),
        _filters(),
        _yaml(),
        *_project(online),
    ]


def _project(online: bool) -> list[MachineFinding]:
    try:
        project = load_project(None)
    except ConfigError as error:
        return [
            MachineFinding(
                "config", str(error), ok=False, advice="`lmm config show` says where each setting comes from"
            )
        ]
    file = project.root / CONFIG_NAME
    findings = [MachineFinding("config", str(file) if file.is_file() else "none (`lmm config init` writes one)")]
    names: dict[str, ModelName] = {}
    for role in ROLES:
        try:
            names[role] = model_name(project, role)
        except ModelError as error:
            findings.append(MachineFinding(role, str(error), ok=False))
        else:
            findings.append(_model(role, names[role], project))
    return [
        *findings,
        _index(project, online),
        *_quarto(project.root),
        *(_try_models(names, project) if online else []),
    ]


def _quarto(root: Path) -> list[MachineFinding]:
    if project_file(root) is None:
        return []
    optional = shutil.which("quarto") is None
    return [
        MachineFinding(part.name, part.result, ok=part.ok, optional=optional, advice=part.paste)
        for part in check_project(root)
    ]


def _index(project: Project, online: bool) -> MachineFinding:
    if project.storage.url and not online:
        address = shown_address(project.storage.url)
        return MachineFinding(
            "index", f"{address}: not asked", ok=False, optional=True, advice="`lmm index --info` asks the server"
        )
    try:
        info = index_info(project)
    except StoreError as error:
        return MachineFinding("index", str(error), ok=False)
    if not info.collections:
        return MachineFinding(
            "index", "nothing is indexed yet", ok=False, optional=True, advice="`lmm index FILES` makes an index"
        )
    return MachineFinding("index", info.summary())


def _try_models(names: Mapping[str, ModelName], project: Project) -> list[MachineFinding]:
    roles: dict[tuple[ModelName, bool], list[str]] = {}
    for role, name in names.items():
        if name.source not in (STAND_IN, FASTEMBED) and name != NO_MODEL:
            roles.setdefault((name, role == "embedding"), []).append(role)
    if not roles:
        return [
            MachineFinding("online", "no model on a server is configured, so none was asked", ok=False, optional=True)
        ]
    sources, limits = known_sources(project.sources), ModelOptions(timeout=SECONDS_ONLINE)

    async def ask_all() -> list[MachineFinding]:
        trials = (try_model(name, sources[name.source], limits, embeds) for name, embeds in roles)
        return await asyncio.gather(*trials)

    return [
        replace(finding, found=f"{finding.found} ({', '.join(served)})")
        for served, finding in zip(roles.values(), run(ask_all()), strict=True)
    ]


async def try_model(name: ModelName, source: ModelSource, limits: ModelOptions, embeds: bool) -> MachineFinding:
    """Request one token, or one vector of an embedding model, without retries."""
    limits, began = replace(limits, max_retries=0), time.monotonic()
    try:
        await (_embed if embeds else _complete)(name, source, limits)
    except CutOffError:
        pass  # answered with the one token
    except ModelError as error:
        if _CUT_OFF not in str(error):
            return MachineFinding(name.source, str(error), ok=False)
    seconds = time.monotonic() - began
    return MachineFinding(name.source, f"{name}: answered in {seconds:.1f} s at {shown_address(source.base_url)}")


async def _embed(name: ModelName, source: ModelSource, limits: ModelOptions) -> None:
    from ..models.embedders.openai_embedder import OpenAIEmbedder

    model = OpenAIEmbedder(name, source, limits)
    await then_close(model.embed(["one"]), model)


async def _complete(name: ModelName, source: ModelSource, limits: ModelOptions) -> None:
    from ..models.openai.chat import OpenAIChat

    model = OpenAIChat(name, source, limits)
    request = Request((ChatMessage("user", "Say: yes"),), options=ModelOptions(max_tokens=1))
    await then_close(model.reply(request), model)


def _model(role: str, name: ModelName, project: Project) -> MachineFinding:
    if name.source == STAND_IN:
        does = "takes questions and summaries from the text itself, makes nothing up; no model, no key, no network"
        if role == "minor":
            return MachineFinding(role, f"{name}: {does}")
        advice = "set OPENAI_API_KEY, or name a model in config.toml" if role == "major" else ""
        return MachineFinding(role, f"{name}: no chat without a model", ok=False, optional=True, advice=advice)
    if name == NO_MODEL:
        does = "texts are found by their words (BM25); no model, no key, no network"
        advice = "a dense_model under [embeddings] in config.toml adds search by meaning"
        return MachineFinding(role, f"{name}: {does}", ok=False, optional=True, advice=advice)
    if name.source == FASTEMBED:
        return _local_model(role, name, project)
    source = known_sources(project.sources)[name.source]
    if not source.needs_key and not source.has_key:
        return MachineFinding(role, f"{name}: no key is needed")
    if source.refusal:
        return MachineFinding(role, f"{name}: {source.refusal}", ok=False)
    if source.has_key:
        return MachineFinding(role, f"{name}: {source.key_variable} is set")
    return MachineFinding(role, f"{name}: {source.key_variable} is not set", ok=False,
                   advice="put the key into the environment, not into a file")  # fmt: skip


def _local_model(role: str, name: ModelName, project: Project) -> MachineFinding:
    from ..models.embedders.fastembed_models import FastEmbedder

    try:
        FastEmbedder(name, project.root)
    except ModelError as error:
        return MachineFinding(role, str(error), ok=False)
    return MachineFinding(role, f"{name}: on this machine; no key, no network")


def _pandoc() -> MachineFinding:
    path = shutil.which("pandoc")
    if path is None and packaged_pandoc():
        result = "not on PATH; `lmm pandoc` runs the one that came with lmm"
        return MachineFinding(
            "pandoc", result, ok=False, optional=True, advice="`lmm doctor --link` puts it beside lmm"
        )
    if path is None:
        return MachineFinding(
            "pandoc", "missing", ok=False, advice=f"install it (pandoc.org), or run: {pandoc_command()}"
        )
    version = _version(path)
    if version == (0,):
        return MachineFinding("pandoc", f"{path} does not run", ok=False, advice="install it again (pandoc.org)")
    ok = version >= OLDEST_PANDOC
    version_text = ".".join(map(str, version))
    return MachineFinding("pandoc", f"{version_text} ({path})", ok=ok, advice="" if ok else "2.17 or newer is needed")


def path_command(folder: Path) -> str:
    """Return a command that adds a folder to PATH (on Windows for PowerShell)."""
    if sys.platform == "win32":
        return f'$env:PATH = "{folder};$env:PATH"'
    return f'export PATH={shlex.quote(str(folder))}:"$PATH"'


def _version(path: str) -> tuple[int, ...]:
    try:
        process = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
        return tuple(int(part) for part in process.stdout.split()[1].split(".")[:3])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return (0,)


def _filters() -> MachineFinding:
    if all(map(shutil.which, FILTERS)):
        return MachineFinding("filters", ", ".join(FILTERS))
    folders = os.pathsep.join(map(str, program_folders()))
    if missing := [name for name in FILTERS if not shutil.which(name, path=folders)]:
        advice = f"install lmm again: {install_command()}"
        return MachineFinding("filters", f"{', '.join(missing)} missing", ok=False, advice=advice)
    command = "pipx ensurepath" if in_pipx() else path_command(program_folders()[0])
    advice = f"pandoc itself looks for them on PATH: {command}"
    return MachineFinding("filters", "not on PATH; `lmm pandoc` finds them", ok=False, optional=True, advice=advice)


def _yaml() -> MachineFinding:
    fast = hasattr(yaml, "CSafeLoader")
    loader = "with its C loader" if fast else "without its C loader, which is faster"
    return MachineFinding("yaml", f"PyYAML {yaml.__version__}, {loader}", ok=fast, optional=True)
