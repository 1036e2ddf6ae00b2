"""Read settings such as `LMM_RAG__QUESTIONS` and `LMM_MODEL_MAJOR` from the environment."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..models.names import SENTENCE_TRANSFORMERS, is_default
from ..models.sources import FASTEMBED, NONE, SOURCES, STAND_IN
from .names import KEY_NAME, PREFIX, is_setting
from .tables import SECTIONS, Keys, key_type, section_keys

# Model settings by role in variable names
MODEL_KEYS: dict[str, Keys] = {
    "MAJOR": ("major", "model"),
    "MINOR": ("minor", "model"),
    "AUX": ("aux", "model"),
    "EMBEDDING": ("embeddings", "dense_model"),
}
_ROLE_VARIABLES = frozenset(
    f"{PREFIX}{kind}{role}" for kind in ("SOURCE", "MODEL") for role in ("", *(f"_{role}" for role in MODEL_KEYS))
)
_VARIABLES: dict[str, Keys] = {"LMM_SPELLING": ("spelling",)} | {
    f"{PREFIX}{section}__{key}".upper(): (section, key)
    for section in SECTIONS
    if section != "sources"
    for key in section_keys(section)
}


def read_environment(
    value: Callable[..., Any], sources: list[str]
) -> tuple[dict[Keys, Any], dict[Keys, str], list[str]]:
    """Return the settings, their variables, and problems with names.

    value: a key's value in a higher layer, or None; sources: configured names. Variables are case-insensitive; empty
    ones are unset."""
    values: dict[Keys, Any] = {}
    variables: dict[Keys, str] = {}
    problems: list[str] = []
    given = {name.upper(): text.strip() for name, text in os.environ.items() if is_setting(name) and text.strip()}
    for variable, text in sorted(given.items()):
        keys = _keys_of(variable)
        if keys:
            values[keys], variables[keys] = _parsed(text, key_type(keys)), variable
        elif variable not in _ROLE_VARIABLES:
            problems.append(f"{variable}: unknown variable ({_hint(variable)})")
    known = {*SOURCES, STAND_IN, FASTEMBED, SENTENCE_TRANSFORMERS, NONE, *sources}
    known |= {keys[1] for keys in values if keys[0] == "sources"}
    for keys, name, variable in _models(given, lambda keys: value(*keys) or values.get(keys), known):
        values[keys], variables[keys] = name, variable
    return values, variables, problems


def _keys_of(variable: str) -> Keys | None:
    source = re.fullmatch(r"LMM_SOURCES__(.+?)__(\w+)", variable)
    if source and source[2].lower() in section_keys("sources"):
        return ("sources", source[1].lower(), source[2].lower())
    return _VARIABLES.get(variable)


def _parsed(text: str, kind: Any) -> Any:
    """Parse a list or a table from JSON; return other text unchanged."""
    if kind is not str and text.startswith(("[", "{")):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(text)
            return tuple(value) if isinstance(value, list) else value
    return text


def _hint(variable: str) -> str:
    if variable.startswith("LMM_SOURCES__") and KEY_NAME.fullmatch(variable.rpartition("__")[2]):
        return "a key belongs in a variable of its own, and LMM_SOURCES__NAME__KEY_VARIABLE names that variable"
    known = [*_VARIABLES, *_ROLE_VARIABLES]
    return f"did you mean {difflib.get_close_matches(variable, known, 1, cutoff=0.0)[0]}?"


def _models(given: dict[str, str], value: Callable[[Keys], Any], known: set[str]) -> Iterator[tuple[Keys, str, str]]:
    """Yield each role's key, model name and variables.

    `LMM_SOURCE` is the source of major and minor, `LMM_MODEL` the major model. A model without source names a known one
    itself, or takes that of the role above, so that no role uses another provider by chance; the major and the
    embedding model default to OpenAI."""
    above = ""
    for role, keys in MODEL_KEYS.items():
        source = _first_set(given, f"SOURCE_{role}")
        model = _first_set(given, f"MODEL_{role}", *(["MODEL"] if role == "MAJOR" else []))
        names_source = given.get(model, "").partition("/")[0].lower() in known
        if not source and role in ("MAJOR", "MINOR") and not (names_source and model != "LMM_MODEL"):
            source = _first_set(given, "SOURCE")
        name = "/".join(given[variable] for variable in (source, model) if variable)
        if model and not source and not names_source:
            name = f"{(above if role in ('MINOR', 'AUX') else '') or 'openai'}/{name}"
        if name:
            yield keys, name, ", ".join(filter(None, (source, model)))
        above = str(value(keys) or name or above).partition("/")[0].strip().lower()


def _first_set(given: dict[str, str], *names: str) -> str:
    """Return the first variable that is set and not `default`, or ""."""
    variables = (f"{PREFIX}{name}" for name in names)
    return next((name for name in variables if not is_default(given.get(name, "default"))), "")
