"""Read the options under `lmm:` in `_quarto.yml` and document headers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..errors import RenderError
from ..markdown.visibility import words_of
from ..settings.quarto_project import mapping_in, project_file, read_project

WORDS, SWITCH = "a word or a list of words", "true or false"
ASK = "true, false, or a mapping of server, include"
OPTIONS = {  # and their permitted values
    "keep": WORDS,
    "div-types": WORDS,
    "annotate": SWITCH,
    "index": SWITCH,
    "ask": ASK,
}
# Options of a header that only the filters read
FILTER_OPTIONS = ("model", "pass", "source", "spelling")
ASK_FOLDER = "lmm-ask"  # the ask box's folder in a site


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options of a render, or of one document."""

    annotate: bool = False
    index: bool = True
    ask: Any = False


@dataclass(frozen=True, slots=True)
class AskBoxSettings:
    """The ask box's settings, from `ask:`.

    server: address of `lmm serve`, or ""
    include: types of material in the box that are not in the notes"""

    server: str = ""
    include: frozenset[str] = frozenset()


def read_options(setting: Any, base: RenderOptions, place: str, allowed: Iterable[str] = OPTIONS) -> RenderOptions:
    """Return the options in a value of `lmm:`, and those in `base` for all others. Raise RenderError.

    place: file of the value, for messages
    allowed: permitted options; those for filters are not checked"""
    if setting is None:
        return base
    if not isinstance(setting, dict):
        raise RenderError(f"{place}: `lmm`: should be a mapping of {', '.join(OPTIONS)}")
    own = {str(key).replace("_", "-"): value for key, value in setting.items()}
    foreign = set(allowed) - set(OPTIONS)
    problems = list(filter(None, (_option_problem(key, value) for key, value in own.items() if key not in foreign)))
    if problems:
        raise RenderError("\n".join(f"{place}: {problem}" for problem in problems))
    names = {field.name for field in fields(RenderOptions)}
    return replace(base, **{key: value for key, value in own.items() if key in names})


def _option_problem(key: str, value: Any) -> str:
    kind = OPTIONS.get(key)
    if kind is None:
        return f"unknown option `lmm.{key}` (known: {', '.join(OPTIONS)})"
    if kind == ASK:
        return _ask_problem(value)
    fits = isinstance(value, bool) if kind == SWITCH else isinstance(value, str | list | None)
    return "" if fits else f"`lmm.{key}`: should be {kind}, not {value!r:.60}"


def _ask_problem(value: Any) -> str:
    if not isinstance(value, dict):
        return "" if isinstance(value, bool) else f"`lmm.ask`: should be {ASK}, not {value!r:.60}"
    names = ("server", "include")
    if unknown := [key for key in value if key not in names]:
        return f"unknown option `lmm.ask.{unknown[0]}` (known: {', '.join(names)})"
    server, include = value.get("server"), value.get("include")
    if server is not None and not (isinstance(server, str) and server.startswith(("http://", "https://", "/"))):
        return f"`lmm.ask.server`: should be an address (https://…), not {server!r:.60}"
    if not isinstance(include, str | list | None):
        return f"`lmm.ask.include`: should be {WORDS}, not {include!r:.60}"
    return ""


def ask_options(value: Any) -> AskBoxSettings | None:
    """Return the ask box's settings in a value of `ask:`, or None for no box."""
    if not isinstance(value, dict):
        return AskBoxSettings() if value is True else None
    return AskBoxSettings(str(value.get("server") or ""), frozenset(words_of(value.get("include"))))


def read_ask(folder: Path) -> AskBoxSettings | None:
    """Return a project's ask box settings, or None without a box. Raise QuartoError."""
    return ask_options(mapping_in(read_project(folder), "lmm").get("ask", has_box(folder)))


def has_box(folder: Path) -> bool:
    """Return True if pages have an ask box by default: without `_quarto.yml`."""
    return project_file(folder) is None
