"""Reading of settings from the environment: `LMM_RAG__QUESTIONS`, `LMM_MODEL_MAJOR` and the like."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
from collections.abc import Collection, Iterable
from typing import Any

from ..models.names import DEFAULT, SENTENCE_TRANSFORMERS, is_default
from ..models.sources import FASTEMBED, NONE, SOURCES, STAND_IN
from .names import KEY_NAME, PREFIX, is_setting
from .reading import Keys, Reading, plain_tables
from .tables import SECTIONS, key_type, section_keys

# The settings that hold the name of a model, by the role in the names of their variables.
MODEL_KEYS: dict[str, Keys] = {
    "MAJOR": ("major", "model"),
    "MINOR": ("minor", "model"),
    "AUX": ("aux", "model"),
    "EMBEDDING": ("embeddings", "dense_model"),
}
_BELOW = ("MINOR", "AUX")  # roles that have the source of the one above them if they name none
_ROLE_VARIABLES = frozenset(
    f"{PREFIX}{kind}{role}" for kind in ("SOURCE", "MODEL") for role in ("", *(f"_{role}" for role in MODEL_KEYS))
)


def read_environment(reading: Reading, sections: Collection[str]) -> dict[str, Any]:
    """Return the tables that the environment makes, and note their values. sections: those that are wanted.

    Names of variables may be written in any case. Unknown ones and values that are no JSON where they
    should be are added to the problems."""
    return _Environment(reading, sections).read()


class _Environment:
    def __init__(self, reading: Reading, sections: Collection[str]) -> None:
        self._reading, self._sections = reading, sections
        self._variables = _set_variables()
        self._written: dict[Keys, str] = {}  # the names of variables as the person wrote them

    def read(self) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for keys, text in self._given():
            _put(tables, keys, text if key_type(keys) is str else _parsed(text))
        tables = plain_tables(tables)
        for keys, name in self._models(tables):
            _put(tables, keys, name)
        self._reading.add(tables, "environment", self._place)
        return tables

    def _given(self) -> list[tuple[Keys, str]]:
        """Return the variables of tables and keys, a table before its keys, and report the unknown ones."""
        given: list[tuple[Keys, str]] = []
        for upper, (written, value) in self._variables.items():
            known = _known_variables(upper)
            if upper in known:
                self._written[known[upper]] = written
                if known[upper][0] in self._sections:
                    given.append((known[upper], value))
            elif upper not in _ROLE_VARIABLES:
                self._reading.problems.append(f"{written}: unknown variable ({_hint(upper, known)})")
        return sorted(given, key=lambda variable: len(variable[0]))

    def _models(self, tables: dict[str, Any]) -> list[tuple[Keys, str]]:
        """Return the name of a model for each pair like `LMM_SOURCE_MINOR` and `LMM_MODEL_MINOR`.

        `LMM_SOURCE` and `LMM_MODEL` name no role; they stand for the major model. A model without a source comes from
        the source of the role above it (of the minor, from `LMM_SOURCE`), so that no role asks another provider by
        chance."""
        own = tables.get("sources")
        sources = {*SOURCES, STAND_IN, FASTEMBED, SENTENCE_TRANSFORMERS, *self._reading.source_names()}
        sources |= set(own if isinstance(own, dict) else ())
        general = self._variables.get(f"{PREFIX}SOURCE", ("", ""))[1]
        names, above = [], ""
        for role, keys in MODEL_KEYS.items():
            if role == "MINOR" and not is_default(general or DEFAULT) and _source(above) != _source(general):
                above = general
            pair = [self._role_variable(kind, role) for kind in ("SOURCE", "MODEL")]
            name = ""
            if any(pair) and keys[0] in self._sections:
                self._written[keys] = ", ".join(variable[0] for variable in pair if variable)
                source, model = (variable[1] if variable else "" for variable in pair)
                name = _model_name(source, model, above if role in _BELOW else "", sources)
                names.append((keys, name))
            above = self._name_in_force(tables, keys, name) or above
        return names

    def _name_in_force(self, tables: dict[str, Any], keys: Keys, name: str) -> str:
        """Return the name of a model that the file, the code or the environment gives, or "".

        name: the one that the variables of its role give."""
        table = tables.get(keys[0])
        said = self._reading.value(*keys) or name or (table.get(keys[1]) if isinstance(table, dict) else "")
        return said if isinstance(said, str) and not is_default(said) else ""

    def _role_variable(self, kind: str, role: str) -> tuple[str, str] | None:
        """Return the name and the value of a role's variable.

        `LMM_SOURCE` alone is the minor's if the major has a source of its own; else the minor follows the major."""
        general, of_role = f"{PREFIX}{kind}", f"{PREFIX}{kind}_{role}"
        is_minor_s = (
            role == "MINOR" and "LMM_SOURCE_MAJOR" in self._variables and "LMM_MODEL_MINOR" not in self._variables
        )
        if role == "MAJOR" or (kind == "SOURCE" and is_minor_s):
            return self._variables.get(of_role) or self._variables.get(general)
        return self._variables.get(of_role)

    def _place(self, keys: Keys) -> str:
        """Return the name of the variable that a value comes from, as the person wrote it."""
        # A variable for the key itself goes over one for its section.
        return next(self._written[way] for end in range(len(keys), 0, -1) if (way := keys[:end]) in self._written)


def _put(tables: dict[str, Any], keys: Keys, value: Any) -> None:
    """Put a value into nested tables, over a table of texts that stands in its way."""
    if value is None:
        return
    *way, key = keys
    for section in way:
        if not isinstance(tables.get(section), dict):
            tables[section] = {}
        tables = tables[section]
    tables[key] = value


def _parsed(text: str) -> Any:
    """Return a list or a table that is written as JSON, and any other text as it is: pydantic converts it."""
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text) if text.startswith(("[", "{")) else text
    return text


def _set_variables() -> dict[str, tuple[str, str]]:
    """Return our variables that are set and not empty: the name as written and the value of each,
    by the name in capitals."""
    found = sorted((name.upper(), name, value.strip()) for name, value in os.environ.items() if is_setting(name))
    return {upper: (name, value) for upper, name, value in found if value}


# Known and unknown variables


def _known_variables(variable: str) -> dict[str, Keys]:
    """Return the keys of all variables by name, with those of the source that `variable` names."""
    ways: list[Keys] = [(section,) for section in SECTIONS]
    ways += [(section, key) for section in SECTIONS.keys() - {"sources"} for key in section_keys(section)]
    if match := re.match(r"LMM_SOURCES__(.+?)__", variable):
        ways += [("sources", match[1].lower(), key) for key in section_keys("sources")]
    return {f"{PREFIX}{'__'.join(way)}".upper(): way for way in ways}


def _hint(variable: str, known: Iterable[str]) -> str:
    if re.match(r"LMM_SOURCES__.+__", variable) and KEY_NAME.fullmatch(variable.rpartition("__")[2]):
        return "a key belongs in a variable of its own, and LMM_SOURCES__NAME__KEY_VARIABLE names that variable"
    return f"did you mean {difflib.get_close_matches(variable, [*known, *_ROLE_VARIABLES], 1, cutoff=0.0)[0]}?"


# Variables of roles


def _model_name(source: str, model: str, above: str, sources: Collection[str]) -> str:
    """Return the name of a model from its source and its own name.

    Either may be "" or `default` if it is not set. A model without a source may name one of
    `sources` itself; otherwise it comes from the source of `above`, the name of another model, or
    from OpenAI. If that name has more than one `/`, the source's models are named like sources
    (`openrouter/openai/gpt-4o`), so that the model names none."""
    source, model = ("" if is_default(word) else word for word in (source, model))
    if not model:
        return source or "default"
    if not source and model.strip().lower() == NONE:
        return NONE
    if not source and "/" in model and above.count("/") < 2 and _source(model) in sources:
        return model
    return f"{source or _source(above) or 'openai'}/{model}"


def _source(name: str) -> str:
    """Return the source in the name of a model."""
    return name.partition("/")[0].strip().lower()
