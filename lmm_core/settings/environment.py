"""Reading of settings from the environment: `LMM_RAG__QUESTIONS`, `LMM_MODEL_MAJOR` and the like."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, get_origin

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource

from ..models.names import DEFAULT, SENTENCE_TRANSFORMERS, is_default
from ..models.sources import FASTEMBED, NONE, SOURCES, STAND_IN
from .names import KEY_NAME, PREFIX, is_setting
from .reading import Keys, Reading, annotation_of, converted, plain_tables
from .sections import EducationSections, SourceSettings, section_fields

# The settings that hold the name of a model, by the role in the names of their variables.
MODEL_KEYS: dict[str, Keys] = {
    "MAJOR": ("major", "model"),
    "MINOR": ("minor", "model"),
    "AUX": ("aux", "model"),
    "EMBEDDING": ("embeddings", "dense_model"),
}
ABOVE = {"MINOR": "MAJOR", "AUX": "MINOR"}  # the role whose source another one has if it names none
_ROLE_VARIABLES = frozenset(
    f"{PREFIX}{kind}{role}" for kind in ("SOURCE", "MODEL") for role in ("", *(f"_{role}" for role in MODEL_KEYS))
)


class Environment(EnvSettingsSource):
    """The settings in the environment.

    The source of pydantic-settings finds and nests the variables and decodes JSON. Three things are
    added, because it ignores unknown variables, does not name the variable whose JSON is broken,
    and takes `true` for the number 1 (in strict models; in others it converts nothing)."""

    def __init__(self, settings_cls: type[BaseSettings], reading: Reading) -> None:
        super().__init__(settings_cls, env_prefix=PREFIX, env_nested_delimiter="__")
        self._reading = reading
        self._variables = _set_variables()
        self._written: dict[Keys, str] = {}  # the names of variables as the person wrote them
        # Variables may be written in any case, but keys within JSON may not. So the source gets
        # the names as our keys are spelled, and compares exactly (on Windows, too).
        self.case_sensitive, self.env_vars = True, dict(self._nested())

    def _nested(self) -> Iterator[tuple[str, str]]:
        """Yield the variables of sections and keys, and report the unknown ones."""
        for upper, (written, value) in self._variables.items():
            if upper in _ROLE_VARIABLES:
                continue
            known = _known_variables(upper)
            if upper in known:
                self._written[known[upper]] = written
                yield PREFIX + "__".join(known[upper]), value
            else:
                self._reading.problems.append(f"{written}: unknown variable ({_hint(upper, known)})")

    def decode_complex_value(self, field_name: str, field: FieldInfo | None, value: Any) -> Any:
        """Return the value of a text as JSON, or the text itself if it has none."""
        if field is None:  # a key of a source, to older versions of pydantic-settings; all of these are texts
            return value
        try:
            decoded = super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value
        return value if decoded is None else decoded  # the source would pass over `null`

    def __call__(self) -> dict[str, Any]:
        """Return the tables that the variables make."""
        tables = plain_tables(super().__call__())
        for keys in self._written:
            self._convert(tables, keys)
        for (section, key), name in self._models(tables):
            table = tables.get(section)
            tables[section] = {**(table if isinstance(table, dict) else {}), key: name}
        self._reading.add(tables, "environment", self._place)
        return tables

    def _convert(self, tables: dict[str, Any], keys: Keys) -> None:
        """Convert the text of a variable that should be a number. Report and drop broken JSON."""
        *way, key = keys
        table = tables
        for section in way:
            table = table.get(section, {})
        annotation = annotation_of(keys)
        if not isinstance(table, dict) or not isinstance(table.get(key), str):
            return
        if annotation in (bool, int, float):
            table[key] = converted(table[key], annotation)
        elif annotation is not str and get_origin(annotation) is not Literal:
            example = '["exercise", "topic"]' if get_origin(annotation) is list else '{"key": "value"}'
            self._reading.problems.append(f"{self._written[keys]}: should be JSON, like {example}")
            del table[key]
            if way and not table:
                del tables[way[0]]

    def _models(self, tables: dict[str, Any]) -> Iterator[tuple[Keys, str]]:
        """Yield the name of a model for each pair like `LMM_SOURCE_MINOR` and `LMM_MODEL_MINOR`.

        `LMM_SOURCE` and `LMM_MODEL` name no role; they stand for the major model. A model without a
        source comes from the source of the role above it, so that no role asks another provider
        by chance."""
        own = tables.get("sources")
        sources = {*SOURCES, STAND_IN, FASTEMBED, SENTENCE_TRANSFORMERS, *self._reading.source_names()}
        sources |= set(own if isinstance(own, dict) else ())
        names = {keys: self._name_in_force(tables, keys) for keys in MODEL_KEYS.values()}
        for role, keys in MODEL_KEYS.items():
            source, model = (self._role_variable(kind, role) for kind in ("SOURCE", "MODEL"))
            if (source or model) and keys[0] in self.settings_cls.model_fields:
                self._written[keys] = ", ".join(one[0] for one in (source, model) if one)
                above = self._name_above(role, names)
                name = _model_name(source[1] if source else "", model[1] if model else "", above, sources)
                if self._reading.value(*keys) is None:
                    names[keys] = "" if is_default(name) else name
                yield keys, name

    def _name_in_force(self, tables: dict[str, Any], keys: Keys) -> str:
        """Return the name of a model that the file, the code or a variable like `LMM_MINOR__MODEL` gives, or ""."""
        table = tables.get(keys[0])
        name = self._reading.value(*keys) or (table.get(keys[1]) if isinstance(table, dict) else "")
        return name if isinstance(name, str) and not is_default(name) else ""

    def _name_above(self, role: str, names: Mapping[Keys, str]) -> str:
        """Return the name whose source a role has if it names none; "" if that is OpenAI's."""
        if role not in ABOVE:
            return ""
        name = names[MODEL_KEYS[ABOVE[role]]] or self._name_above(ABOVE[role], names)
        general = self._variables.get(f"{PREFIX}SOURCE", ("", DEFAULT))[1]
        if role == "MINOR" and not is_default(general) and _source(name) != _source(general):
            return general
        return name

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


def _set_variables() -> dict[str, tuple[str, str]]:
    """Return our variables that are set and not empty: the name as written and the value of each,
    by the name in capitals."""
    found = sorted((name.upper(), name, value.strip()) for name, value in os.environ.items() if is_setting(name))
    return {upper: (name, value) for upper, name, value in found if value}


# Known and unknown variables


def _known_variables(variable: str) -> dict[str, Keys]:
    """Return the keys of all variables by name, with those of the source that `variable` names."""
    ways: list[Keys] = [(section,) for section in EducationSections.model_fields]
    for section in EducationSections.model_fields.keys() - {"sources"}:
        ways += [(section, key) for key in section_fields(section)]
    if match := re.match(r"LMM_SOURCES__(.+?)__", variable):
        ways += [("sources", match[1].lower(), key) for key in SourceSettings.model_fields]
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
