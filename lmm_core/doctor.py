"""What a machine has of what the project needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from . import __version__
from .models.extractive import NAME

OLDEST_PANDOC = (2, 17)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for; `advice` says what to do where it is missing."""

    what: str
    found: str
    ok: bool = True
    optional: bool = False
    advice: str = ""


def examine() -> list[Finding]:
    """All findings, in the order in which a person needs them."""
    return [
        Finding("lmm", f"{__version__}, Python {sys.version.split()[0]}"),
        _pandoc(),
        *(_command(name) for name in ("lmm-rag", "lmm-knit")),
        _yaml(),
        Finding(
            "annotations",
            f"{NAME}: key terms and sentences of the text itself; no language model, no key, no network",
        ),
    ]


def _pandoc() -> Finding:
    path = shutil.which("pandoc")
    if path is None:
        own = packaged_pandoc()
        advice = "install pandoc (pandoc.org), or the one that comes with this package: " + (
            f'ln -s "{own}" "{Path(sys.executable).parent}/pandoc"' if own else "pip install pypandoc_binary"
        )
        return Finding("pandoc", "not on PATH", ok=False, optional=True, advice=advice)
    version = _version(path)
    ok = version >= OLDEST_PANDOC
    shown = ".".join(map(str, version))
    return Finding("pandoc", f"{shown} ({path})", ok=ok, advice="" if ok else "2.17 or newer is needed")


def packaged_pandoc() -> Path | None:
    """The pandoc that the package pypandoc_binary brings."""
    import importlib.util

    spec = importlib.util.find_spec("pypandoc")
    if spec is None or spec.origin is None:
        return None
    found = [path for path in Path(spec.origin).parent.glob("files/pandoc*") if path.is_file()]
    return found[0] if found else None


def _version(path: str) -> tuple[int, ...]:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
        return tuple(int(part) for part in done.stdout.split()[1].split(".")[:3])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return (0,)


def _command(name: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        advice = f'pandoc looks for it on PATH: export PATH="{Path(sys.executable).parent}:$PATH"'
        return Finding(name, "not on PATH", ok=False, optional=True, advice=advice)
    return Finding(name, path)


def _yaml() -> Finding:
    fast = hasattr(yaml, "CSafeLoader")
    return Finding("yaml", f"PyYAML {yaml.__version__}, {'with' if fast else 'without'} its C loader", optional=True)
