"""Find the Quarto extension and the files of the ask box, and check the use of its filter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import QuartoError
from ..installation import packaged_folder
from ..settings.quarto_project import as_list, mapping_in

EXTENSION = "lmm"


def packaged_extension() -> Path:
    """Return the packaged extension's folder. Raise QuartoError."""
    if folder := packaged_folder("lmm_quarto", f"quarto-ext/_extensions/{EXTENSION}", "_extension.yml"):
        return folder
    raise QuartoError("The Quarto extension is missing from this installation. Install lmm-markdown again.")


def installed_extension(folder: Path) -> Path | None:
    """Return the extension's folder in a project, or None."""
    # `quarto add` installs below the owner's name
    places = [folder / "_extensions" / EXTENSION, *sorted(folder.glob(f"_extensions/*/{EXTENSION}"))]
    return next((place for place in places if (place / "_extension.yml").is_file()), None)


def filter_problem(settings: Mapping[str, Any]) -> str:
    """Return the reason why pages would bypass our filter, or "". Its position does not matter."""
    if has_filter(settings):
        return ""
    formats = mapping_in(settings, "format").values()
    in_formats = any(has_filter(options) for options in formats if isinstance(options, dict))
    return "`filters` names lmm for some formats only" if in_formats else "`filters` does not name lmm"


def has_filter(settings: Mapping[str, Any]) -> bool:
    """Return True if settings (of a project, format or header) name our filter."""
    return EXTENSION in map(_filter_name, as_list(settings.get("filters")))


def _filter_name(entry: Any) -> str:
    """Return the name of a `filters` entry; ours may include its owner or Lua file."""
    name = str(entry.get("path") or "") if isinstance(entry, dict) else str(entry)
    return EXTENSION if name.endswith((f"/{EXTENSION}", f"{EXTENSION}/{EXTENSION}.lua")) else name


# Read the ask box's scripts from the extension

OPENED = "opened.js"
# Loaded when a box is opened, in this order, as one file to save requests
PARTS = ("words.js", "page.js", "formulas.js", "minisearch.js", "search.js", "study.js", "answer.js", "box.js")


def box_files() -> dict[str, bytes]:
    """Return the box's files by name. Raise QuartoError if missing, and OSError."""
    files = {path.name: path.read_bytes() for path in sorted((packaged_extension() / "ask").iterdir())}
    files[OPENED] = b"".join(files.pop(name) for name in PARTS)
    return files
