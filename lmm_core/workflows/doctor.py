"""Find out what the machine and the project have of what is needed, and say what to do about the rest."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from .. import __version__
from ..errors import ConfigError, ModelError
from ..models.addresses import shown_address
from ..models.names import NO_MODEL, ModelName
from ..models.roles import ROLES
from ..models.sources import FASTEMBED, STAND_IN, ModelSource, known_sources
from ..settings.names import CONFIG_NAME
from ..settings.project import Project, load_project, model_name

OLDEST_PANDOC = (2, 17)
FILTERS = ("lmm-rag", "lmm-knit", "lmm-chat", "lmm-edit", "lmm-index", "lmm-pass")
SECONDS_ONLINE = 5.0


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """One thing that was looked for; `advice` says what to do if it is missing."""

    what: str
    found: str
    ok: bool = True
    optional: bool = False
    advice: str = ""


def examine(online: bool = False) -> list[MachineFinding]:
    """Return all findings for the working folder, in the order in which a person needs them.

    online: ask the models' servers whether they are there, for at most 5 seconds each."""
    return [
        MachineFinding("lmm", f"{__version__}, Python {sys.version.split()[0]}"),
        _pandoc(),
        *(_command(name) for name in FILTERS),
        _yaml(),
        *_models(online),
    ]


def _models(online: bool) -> list[MachineFinding]:
    """Find out which model has which role, and whether it can be asked."""
    try:
        project = load_project(None)
    except ConfigError as error:
        return [
            MachineFinding(
                "config", str(error), ok=False, advice="`lmm config show` says where each setting comes from"
            )
        ]
    file = project.root / CONFIG_NAME
    found = [MachineFinding("config", str(file) if file.is_file() else "none (`lmm config init` writes one)")]
    names: dict[str, str] = {}
    for role in ROLES:
        try:
            names[role] = str(model_name(project, role))
        except ModelError as error:
            found.append(MachineFinding(role, str(error), ok=False, optional=True))
        else:
            found.append(_model(role, model_name(project, role), project))
    sources = known_sources(project.sources)
    used = dict.fromkeys(name.partition("/")[0] for name in names.values())
    return found + [_server(sources[name]) for name in used if online and name in sources]


def _model(role: str, name: ModelName, project: Project) -> MachineFinding:
    """Find out what a model does in a role, and whether it can."""
    if name.source == STAND_IN:
        does = "annotates by key terms and sentences of the text itself; no model, no key, no network"
        return MachineFinding(role, f"{name}: {does if role == 'minor' else 'no chat without a model'}")
    if name == NO_MODEL:
        return MachineFinding(role, f"{name}: texts are found by their words (BM25); no model, no key, no network",
                       advice="`lmm models get NAME` adds search by meaning")  # fmt: skip
    if name.source == FASTEMBED:
        return _local_model(role, name, project)
    source = known_sources(project.sources)[name.source]
    if not source.needs_key and not source.has_key:
        return MachineFinding(role, f"{name}: no key is needed")
    if source.refusal:
        return MachineFinding(role, f"{name}: {source.refusal}", ok=False, optional=True)
    if source.has_key:
        return MachineFinding(role, f"{name}: {source.key_variable} is set")
    return MachineFinding(role, f"{name}: {source.key_variable} is not set", ok=False, optional=True,
                   advice="put the key into the environment, not into a file")  # fmt: skip


def _local_model(role: str, name: ModelName, project: Project) -> MachineFinding:
    from ..models.embedders.fastembed_embedder import FastEmbedder

    try:
        FastEmbedder(name, project.root)
    except ModelError as error:
        return MachineFinding(role, str(error), ok=False, optional=True)
    return MachineFinding(role, f"{name}: on this machine; no key, no network")


def _server(source: ModelSource) -> MachineFinding:
    """Find out whether a source's server answers."""
    from ..models.chat import run
    from ..models.openai.client import check_server

    error = run(check_server(source, SECONDS_ONLINE))
    if error:
        return MachineFinding(source.name, str(error), ok=False)
    return MachineFinding(source.name, f"{shown_address(source.base_url)}: is there")


def _pandoc() -> MachineFinding:
    path = shutil.which("pandoc")
    if path is None:
        own = packaged_pandoc()
        advice = "install pandoc (pandoc.org), or the one that comes with this package: " + (
            f'ln -s "{own}" "{Path(sys.executable).parent}/pandoc"' if own else "pip install pypandoc_binary"
        )
        return MachineFinding("pandoc", "not on PATH", ok=False, optional=True, advice=advice)
    version = _version(path)
    ok = version >= OLDEST_PANDOC
    shown = ".".join(map(str, version))
    return MachineFinding("pandoc", f"{shown} ({path})", ok=ok, advice="" if ok else "2.17 or newer is needed")


def packaged_pandoc() -> Path | None:
    """Return the pandoc of the package pypandoc_binary, or None."""
    import importlib.util

    spec = importlib.util.find_spec("pypandoc")
    if spec is None or spec.origin is None:
        return None
    found = [path for path in Path(spec.origin).parent.glob("files/pandoc*") if path.is_file()]
    return found[0] if found else None


def _version(path: str) -> tuple[int, ...]:
    """Return the version of a pandoc; (0,) if it does not run."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
        return tuple(int(part) for part in done.stdout.split()[1].split(".")[:3])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return (0,)


def _command(name: str) -> MachineFinding:
    path = shutil.which(name)
    if path is None:
        advice = f'pandoc looks for it on PATH: export PATH="{Path(sys.executable).parent}:$PATH"'
        return MachineFinding(name, "not on PATH", ok=False, optional=True, advice=advice)
    return MachineFinding(name, path)


def _yaml() -> MachineFinding:
    fast = hasattr(yaml, "CSafeLoader")
    return MachineFinding(
        "yaml", f"PyYAML {yaml.__version__}, {'with' if fast else 'without'} its C loader", optional=True
    )
