"""Load project settings as plain values, overridden by a document's header.

`settings.config` is imported only if there is something to read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ..arguments import keys_of
from ..errors import ConfigError, FolderError, LmmError, PromptError
from ..markdown.blocks import Spelling
from ..markdown.files import project_root
from ..markdown.metadata.lmm_options import options_in
from ..markdown.visibility import KnitRules, configured_types, header_rules, taken_out_types
from ..models.names import DEFAULT, ROLES, ModelName, PromptFiles, choose_model, is_default, leads_outside, parse_name
from ..models.sources import ModelOptions, known_sources
from .tables import CONFIG_NAME, SECTIONS, ConfigTables, FilePatterns, ScanOpts, is_setting

if TYPE_CHECKING:
    from .config import ConfigSettings

# Annotations in a header's `RAG`, with their options
ANNOTATIONS = {"questions": "questions", "summary": "summaries", "summaries": "summaries", "titles": "titles"}
_HEADER_KEYS = ("embedding", "major", "minor", "aux", "system", "RAG")  # under `model`
# Other options of `RAG`, with defaults
_RAG_KEYS: dict[str, bool | int] = {name: getattr(ScanOpts(), name) for name in keys_of(ScanOpts)}


@dataclass(frozen=True)
class Project(ConfigTables):
    """The settings of a project: the tables of its configuration, and what follows from them.

    rules: for omitting parts of the notes
    models: names by role (`default`, `source` or `source/model`)
    system: message for chats and edits, "" for ours
    templates: custom prompts by name
    quarto: settings of `_quarto.yml`, if read (see `with_quarto`)"""

    root: Path
    rules: KnitRules = field(default_factory=KnitRules)
    models: dict[str, str] = field(default_factory=lambda: dict.fromkeys(ROLES, DEFAULT))
    system: str = ""
    templates: Mapping[str, str] = field(default_factory=dict)
    quarto: Mapping[str, Any] = field(default_factory=dict)

    def requests(self, role: str) -> ModelOptions:
        """Return the options of requests to a role's model."""
        return {"major": self.major, "minor": self.minor, "aux": self.aux}.get(role, ModelOptions())

    @property
    def synonyms(self) -> dict[str, tuple[str, ...]]:
        """Return other names by name."""
        names = self.retrieve.synonyms.items()
        return {name: (others,) if isinstance(others, str) else others for name, others in names}


# Reading


def load_project(path: Path | None) -> Project:
    """Return the project of a file, or of the working folder if it is None. Raise ConfigError."""
    root = project_root(path if path is not None else Path.cwd() / "-")
    file = root / CONFIG_NAME
    if not file.is_file() and not any(map(is_setting, os.environ)):
        return Project(root)
    from .config import ConfigSettings

    return project_from_settings(ConfigSettings(file), root)


def project_finder() -> Callable[[Path], Project]:
    """Return a function that returns a file's project, cached by folder. It raises ConfigError."""
    project_in = cache(lambda root: load_project(root / "-"))
    root_of = cache(lambda folder: project_root(folder / "-"))
    return lambda path: project_in(root_of(path.resolve().parent))


def project_from(config: ConfigSettings | Project | None) -> Project:
    """Return a configuration's project, or the working folder's. Raise ConfigError."""
    if isinstance(config, Project):
        return config
    if config is None:
        return load_project(None)
    return project_from_settings(config, project_root(Path.cwd() / "-"))


def project_from_settings(settings: ConfigSettings, root: Path) -> Project:
    tables: dict[str, Any] = {name: getattr(settings, name) for name in SECTIONS}
    tables["files"] = _without_prompts(settings.files, settings.prompts)
    roles = {"major": settings.major, "minor": settings.minor, "aux": settings.aux}
    models = {role: chosen.model for role, chosen in roles.items()} | {"embedding": settings.embeddings.dense_model}
    knit = settings.knit
    allowed = frozenset(knit.allowed_words) | taken_out_types(knit.div_types)
    rules = KnitRules(configured_types(knit.div_types), frozenset(knit.keep), allowed=allowed)
    return Project(root, rules, models, templates=_own_prompts(settings.prompts, root), **tables)


def _without_prompts(files: FilePatterns, prompts: PromptFiles) -> FilePatterns:
    """Exclude custom prompts, which are no documents."""
    names = [re.sub(r"([\\*?\[!# ])", r"\\\1", file.strip()) for file in asdict(prompts).values()]
    own = [f"/{file.removeprefix('./')}" for file in names if file]
    return replace(files, exclude=(*files.exclude, *own))


def _own_prompts(prompts: PromptFiles, root: Path) -> dict[str, str]:
    files = {name: file for name, file in asdict(prompts).items() if file.strip()}
    if not files:
        return {}
    from ..files.marked import check_inside
    from ..models.prompts import read_prompt

    texts, problems = {}, []
    for name, file in files.items():
        place = Path(os.path.normpath(root.resolve() / file))
        try:
            check_inside(root.resolve(), place)
            texts[name] = read_prompt(name, place)
        except FolderError as error:
            problems.append(f"{root / CONFIG_NAME}: `prompts.{name}`: should be a file inside {root}: {error}")
        except PromptError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return {name: text for name, text in texts.items() if text}


def model_name(project: Project, role: str) -> ModelName:
    """Return the model for `major`, `minor`, `aux` or `embedding`. Raise ModelError with advice."""
    return choose_model(role, project.models, known_sources(project.sources))


# The header


def for_document(project: Project, header: Mapping[str, Any]) -> Project:
    """Return the project with the settings of a document's header.

    These are `model` (a mapping, or a list of one-key mappings), and under `lmm` the knit rules and the spelling of new
    blocks. Raise ConfigError with the keys, without the document."""
    project = replace(project, rules=header_rules(header, project.rules))
    problems: list[str] = []
    spelling: Any = options_in(header).get("spelling")
    if spelling in get_args(Spelling):
        project = replace(project, spelling=spelling)
    elif spelling is not None:
        problems.append(f"`lmm.spelling`: should be div, native or comment, not {spelling!r:.60}")
    for key, value in _header_keys(header.get("model"), problems):
        try:
            if not _is_unset(value):
                project = _with_option(project, key, value)
        except LmmError as error:
            problems.append(f"`model.{key}`: {error}")
    if problems:
        raise ConfigError("\n".join(problems))
    return project


def _is_unset(value: Any) -> bool:
    return value is None or (isinstance(value, str) and (is_default(value) or not value.strip()))


def _header_keys(model: Any, problems: list[str]) -> Iterator[tuple[str, Any]]:
    tables = model if isinstance(model, list) else [] if model is None else [model]
    for table in tables:
        if not isinstance(table, dict):
            allowed = f"a mapping, or a list of mappings, of {', '.join(_HEADER_KEYS)}"
            problems.append(f"`model`: should be {allowed}; not {table!r:.60}")
            continue
        for key, value in table.items():
            if key in _HEADER_KEYS:
                yield key, value
            else:
                problems.append(f"unknown key `model.{key}` (known: {', '.join(_HEADER_KEYS)})")


def _with_option(project: Project, key: str, value: Any) -> Project:
    if key == "RAG":
        return _with_annotations(project, value)
    if key == "system":
        return replace(project, system=_text(value, "a text"))
    name = _text(value, "source/model, source or default")
    if leads_outside(parse_name(name, known_sources(project.sources)), project.root):
        raise ConfigError(f"should be a folder inside {project.root}")
    return replace(project, models=project.models | {key: name})


def _with_annotations(project: Project, value: Any) -> Project:
    """Apply a list of annotations, or a mapping like the table [RAG]. A list keeps the numbers of words."""
    if not isinstance(value, dict):
        allowed = f"a list of {', '.join(ANNOTATIONS)} ([] for none), or a mapping of {', '.join(_RAG_KEYS)}"
        names = [_text(name, allowed).strip().lower() for name in (value if isinstance(value, list) else [value])]
        if unknown := [name for name in names if name not in ANNOTATIONS]:
            raise ConfigError(f"should be {allowed}, not {unknown[0]!r:.60}")
        value = dict.fromkeys(ANNOTATIONS.values(), False) | dict.fromkeys(names, True)
    options = {ANNOTATIONS.get(str(key), str(key)): option for key, option in value.items()}
    for key, option in options.items():
        if key not in _RAG_KEYS or type(option) is not type(_RAG_KEYS[key]) or option < 0:
            allowed = f"true or false for {', '.join(_RAG_KEYS)}, or a number of words for the thresholds"
            raise ConfigError(f"`{key}: {option!r:.60}`: should be {allowed}")
    return replace(project, RAG=replace(project.RAG, **options))


def _text(value: Any, allowed: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"should be {allowed}, not {value!r:.60}")
    return value
