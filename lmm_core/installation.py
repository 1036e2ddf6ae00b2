"""Describe this installation, and the command that extends it.

The project's public address is stored here alone.
"""

from __future__ import annotations

import filecmp
import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from . import __version__
from .errors import OutputError

PACKAGE = "lmm-markdown"
PANDOC = "pypandoc_binary"  # the package that contains pandoc
ADDRESS = ""  # of the public repository (https://HOST/OWNER/NAME); empty until it exists


def install_command(extra: str = "") -> str:
    """Return the shell command to reinstall this package with an extra, by name if its checkout or wheel is gone."""
    record = _origin()
    path, address = _local_path(record), _address(record)
    target = f"{PACKAGE}{_brackets(extra)} @ {address}" if address else f"{path or PACKAGE}{_brackets(extra)}"
    editable = "-e " if path and record.get("dir_info", {}).get("editable") else ""
    pip = f"pipx runpip {PACKAGE}" if in_pipx() else "pip"
    return f"{pip} install {editable}{_quote(target)}"


def requirement(extra: str = "") -> str:
    """Return this version's line for a shared requirements.txt, without local files."""
    address = _address(_origin())
    return f"{PACKAGE}{_brackets(extra)}" + (f" @ {address}" if address else f"=={__version__}")


def packaged_folder(installed: str, in_checkout: str, sign: str) -> Path | None:
    """Return the folder with the file `sign`, beside the installed package or in the source tree, or None."""
    base = Path(__file__).parents[1]
    return next((folder for folder in (base / installed, base / in_checkout) if (folder / sign).is_file()), None)


def in_pipx() -> bool:
    """Return True in an environment of pipx, which puts only our programs on PATH."""
    return (Path(sys.prefix) / "pipx_metadata.json").is_file()


def _origin() -> dict[str, Any]:
    """Return the installer's record of the package's origin (PEP 610); an index leaves none."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        written = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:  # imported from a checkout that is not installed
        return {"url": Path(__file__).parents[1].as_uri()}
    record: dict[str, Any] = json.loads(written) if written else {}
    return record


def _address(record: dict[str, Any]) -> str:
    """Return the address of a recorded origin, "" for an index or local files."""
    url = record.get("url", "")
    if control := record.get("vcs_info"):
        return f"{control['vcs']}+{url}@{control['commit_id']}"
    return "" if url.startswith("file:") else url


def _local_path(record: dict[str, Any]) -> Path | None:
    """Return the checkout or file of a recorded origin, or None if it cannot be installed."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname  # imports the clients of http and ftp

    url = urlsplit(record.get("url", ""))
    path = Path(url2pathname(url.path))
    if url.scheme != "file":
        return None
    return path if path.is_file() or (path / "pyproject.toml").is_file() else None


def _brackets(extra: str) -> str:
    return f"[{extra}]" if extra else ""


def _quote(word: str) -> str:
    if sys.platform == "win32":
        return f'"{word}"' if set(word) & set(" []@&()^;,") else word
    return shlex.quote(word)


# Programs


def packaged_pandoc() -> Path | None:
    """Return the pandoc of the package pypandoc_binary, or None."""
    import importlib.util

    spec = importlib.util.find_spec("pypandoc")
    if spec is None or spec.origin is None:
        return None
    return next((path for path in Path(spec.origin).parent.glob("files/pandoc*") if path.is_file()), None)


def pandoc_command() -> str:
    """Return the command that adds a pandoc to this installation."""
    return f"pipx inject {PACKAGE} {PANDOC}" if in_pipx() else f"pip install {PANDOC}"


def program_folders() -> tuple[Path, Path]:
    """Return the folders of the command `lmm`, which pipx has on PATH, and of its environment's programs."""
    called, own = Path(sys.argv[0]), Path(sys.executable).parent
    return (called.absolute().parent if called.stem == "lmm" else own), own


def link_pandoc(program: Path) -> Path:
    """Link a packaged pandoc beside the command `lmm` (on Windows, copy it), and return the path.

    Raise OutputError if another file is there, and OSError."""
    place = program_folders()[0] / program.name
    is_ours = place.is_symlink() and "pypandoc" in place.readlink().parts
    if sys.platform == "win32":
        is_ours = place.is_file() and filecmp.cmp(place, program, shallow=False)
    if is_ours:
        place.unlink()
    elif place.is_symlink() or place.exists():
        raise OutputError(f"{place} is another program and was left alone: move it away, then try again")
    if sys.platform == "win32":
        shutil.copy(program, place)
    else:
        place.symlink_to(program)
    return place
