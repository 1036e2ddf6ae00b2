"""Checks of settings beside their types, and the wording of the problems that pydantic finds."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from pydantic_core import ErrorDetails

from ..errors import FolderError, ModelError, PromptError, TrustError
from ..files.marked import check_inside
from ..files.names import clash, name_problem
from ..markdown.visibility import DIV_TYPES, OUT, RAG_ONLY, named_types
from ..models.names import ModelName, is_default, leads_outside, parse_name
from ..models.openai.extra import FILE_PARAMETERS
from ..models.own_prompts.known import KNOWN
from ..models.own_prompts.reading import read_prompt
from ..models.sources import FASTEMBED, NONE, STAND_IN, ModelSource, known_sources
from ..models.trust import read_trust_variable
from .environment import MODEL_KEYS
from .names import KEY_NAME
from .reading import MEMORY, Given, Keys, Reading
from .tables import SECTIONS, DatabaseOptions, section_keys

_RESERVED = (STAND_IN, FASTEMBED, NONE, "default")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.I)  # values of such names are never printed


def check_settings(reading: Reading) -> None:
    """Add to a reading the problems that types do not show."""
    _check_models(reading)
    _check_extra(reading)
    _check_sources(reading)
    _check_folder(reading)
    _check_types(reading)
    _check_collections(reading)
    _check_trust(reading)
    _check_prompts(reading)


# Models and their sources


def _check_models(reading: Reading) -> None:
    known = known_sources({name: ModelSource(name, "") for name in reading.source_names()})
    for keys in MODEL_KEYS.values():
        name = reading.value(*keys)
        if isinstance(name, str) and not is_default(name):
            try:
                _check_model_folder(reading, keys, parse_name(name, known))
            except ModelError as error:
                reading.tell(keys, str(error))


def _check_model_folder(reading: Reading, keys: Keys, name: ModelName) -> None:
    one = reading.origin(keys)
    if one and one.layer == "file" and leads_outside(name, reading.file.parent):
        reading.tell(
            keys,
            f"should be a folder inside {reading.file.parent.resolve()}. To use one elsewhere, name it in the "
            "environment (LMM_MODEL_EMBEDDING) or in code",
        )


def _check_sources(reading: Reading) -> None:
    for name in reading.source_names():
        if name in _RESERVED:
            reading.tell(("sources", name), "this name has a meaning of its own. Choose another one")
        elif not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
            reading.tell(("sources", name), "a source's name is made of letters, digits, `.`, `_` and `-`")


def _check_trust(reading: Reading) -> None:
    try:
        read_trust_variable()
    except TrustError as error:
        reading.problems.append(str(error))


# Parameters of the provider


def _check_extra(reading: Reading) -> None:
    for one in reading.given:
        if one.layer == "file" and one.keys[1:2] == ("extra",) and one.keys[2:] and one.keys[2] not in FILE_PARAMETERS:
            section, _, key = one.keys[:3]
            reading.tell(
                one.keys[:3],
                "a config.toml, which may come from somebody else, may not set this parameter. If it is meant, put it "
                f"into the environment: LMM_{section.upper()}__EXTRA='{{\"{key}\": …}}'. A config.toml may set "
                f"{', '.join(sorted(FILE_PARAMETERS))}",
            )


# The folder of the index


def _check_folder(reading: Reading) -> None:
    one = reading.origin(("storage", "folder"))
    if one is None or not isinstance(one.value, str):
        return
    if one.value.startswith("~"):
        reading.tell(
            one.keys,
            "`~` does not mean the home folder here: a folder called `~` would be made in the project, and could be "
            "mistaken for it. Name a folder that does not begin with `~`, such as .lmm/index",
        )
    elif one.layer == "file":
        _check_own_folder(reading, one, one.value)


def _check_prompts(reading: Reading) -> None:
    """Check the files of own prompts: that those which a file names lie in its project, and what they hold."""
    root = reading.file.parent.resolve()
    for name in KNOWN:
        one = reading.origin(("prompts", name))
        if one is None or not isinstance(one.value, str) or not one.value.strip():
            continue
        place = Path(os.path.normpath(root / one.value))
        try:
            if one.layer == "file":
                check_inside(root, place)
            read_prompt(name, place)
        except FolderError as error:
            reading.tell(one.keys, f"should be a file inside {root}, without links on the way: {error}")
        except PromptError as error:
            reading.problems += str(error).split("\n")


def _check_own_folder(reading: Reading, one: Given, folder: str) -> None:
    """Check that the folder that a file names lies in the file's project."""
    root = reading.file.parent.resolve()
    place = Path(os.path.normpath(root / folder))
    if "\0" in folder or not place.is_relative_to(root):
        reading.tell(
            one.keys,
            f"should lie inside {root}. To use a folder elsewhere, name it in the environment (LMM_STORAGE__FOLDER) "
            "or in code",
        )
    elif place == root:
        reading.tell(one.keys, "should be a folder of its own, such as .lmm/index, not the project's folder")
    else:
        _check_way(reading, one.keys, root, place)


def _check_way(reading: Reading, keys: Keys, root: Path, place: Path) -> None:
    try:
        check_inside(root, place)
    except FolderError as error:
        reading.tell(keys, f"should lie inside {root}, without links on the way: {error}")


# Names


def _check_types(reading: Reading) -> None:
    """Check that each class that is taken out (`-exercise`) is one of the RAG-only ones."""
    keys = ("knit", "div_types")
    given = reading.value(*keys)
    words = [word for word in given if isinstance(word, str)] if isinstance(given, list) else []
    known = sorted((DIV_TYPES | named_types(words)) - {RAG_ONLY})
    for word in words:
        name = word.removeprefix(OUT)
        if name == word or name in known:
            continue
        near = difflib.get_close_matches(name.strip().lower(), known, 1)
        meant = f"; did you mean `{OUT}{near[0]}`?" if near else ""
        reading.tell(keys, f"{word!r:.60} names no class that can be taken out (these can: {', '.join(known)}{meant})")


def _check_collections(reading: Reading) -> None:
    """Check the names of collections. Each becomes a folder, as do the records of files."""
    names = {key: _collection(reading, key) for key in ("collection_name", "companion_collection")}
    bad = {key: problem for key, name in names.items() if (problem := name_problem(name))}
    for key, problem in bad.items():
        if isinstance(reading.value("database", key), str) and names[key]:
            reading.tell(("database", key), f"{names[key]!r:.60} cannot be the name of a collection: {problem}")
    names["the records of files"] = names["collection_name"] + ".files"
    if not bad and (found := clash(names)):
        one, other = (names[what] for what in found)
        is_default_companion = reading.value("database", "companion_collection") is None
        reading.tell(
            ("database", "collection_name" if is_default_companion else "companion_collection"),
            f"{found[0]} ({one!r}) and {found[1]} ({other!r}) should differ by more than case",
        )


def _collection(reading: Reading, key: str) -> str:
    value = reading.value("database", key)
    return value if isinstance(value, str) else str(getattr(DatabaseOptions(), key))


# The wording of errors


def describe(error: ErrorDetails, reading: Reading, sections: Collection[str]) -> str:
    """Return one line for an error that pydantic found in the settings."""
    keys = tuple(str(part) for part in error["loc"])
    one = reading.nearest(keys)
    place = one.place if one else str(reading.file)
    name = ".".join(keys)
    if error["type"] == "extra_forbidden":
        return f"{place}: {_unknown(keys, _keys_beside(keys, one, sections))}"
    if error["type"] == "missing":
        return f"{place}: `{name}` is required"
    if error["type"] in ("list_type", "dict_type") and one and one.layer == "environment":
        example = '["exercise", "topic"]' if error["type"] == "list_type" else '{"key": "value"}'
        return f"{place}: should be JSON, like {example}"
    if error["type"] in ("model_type", "dict_type"):
        other = f', or "{MEMORY}"' if name == "storage" else ""
        return f"{place}: `{name}`: should be a table, [{name}] and its keys{other}"
    return f"{place}: `{name}`: {_message(error)}{_but(error, f'{place} {keys[-1]}')}"


def _keys_beside(keys: Keys, one: Given | None, sections: Collection[str]) -> Collection[str]:
    """Return the keys that are known in the place of an unknown one."""
    if keys[1:]:
        return section_keys(keys[0])
    # A file has the tables of `ConfigSettings` even if `Settings` reads it.
    return sections if one and one.layer == "argument" else SECTIONS


def _message(error: ErrorDetails) -> str:
    text = re.sub(r", unable to .*", "", error["msg"].removeprefix("Value error, "))
    return text.replace("Input should", "should").replace("a valid boolean", "true or false")


def _but(error: ErrorDetails, name: str) -> str:
    """Return the wrong value, unless it may hold a key (or our own message shows it)."""
    value: Any = error["input"]
    if error["type"] == "value_error" or _SECRET.search(name) or isinstance(value, dict | list):
        return ""
    text = repr(value)
    return f", not {text if len(text) <= 60 else text[:59] + '…'}"


def _unknown(keys: Keys, known: Iterable[str]) -> str:
    """Return the message about an unknown key; `known` are the keys in its place."""
    name = ".".join(keys)
    if KEY_NAME.fullmatch(keys[-1]):
        where = "Put it into an environment variable, and name that variable with key_variable in [sources.NAME]"
        return f"unknown key `{name}`: a file must not hold the key of a service. {where}"
    near = difflib.get_close_matches(keys[-1].lower(), {word.lower(): word for word in known}, 1)
    meant = next((word for word in known if near and word.lower() == near[0]), "")
    return f"unknown key `{name}` (known: {', '.join(known)}{f'; did you mean `{meant}`?' if meant else ''})"
