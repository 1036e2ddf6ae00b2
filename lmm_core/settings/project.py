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
from ..models.names import DEFAULT, ROLES, ModelName, choose_model, is_default, leads_outside, parse_name
from ..models.sources import ModelOptions, ModelSource, known_sources
from .tables import (
    CONFIG_NAME,
    AskOptions,
    DatabaseOptions,
    EmbeddingOptions,
    FilePatterns,
    KnitOptions,
    PromptFiles,
    ScanOpts,
    ServeOptions,
    SiteOptions,
    SplitOpts,
    StorageOptions,
    is_setting,
)

if TYPE_CHECKING:
    from .config import ConfigSettings

# Annotations in a header's `RAG`, with their options
ANNOTATIONS = {"questions": "questions", "summary": "summaries", "summaries": "summaries", "titles": "titles"}
# Other options of `RAG`, with defaults
_RAG_KEYS: dict[str, bool | int] = {name: getattr(ScanOpts(), name) for name in keys_of(ScanOpts)}


@dataclass(frozen=True, slots=True)
class Project:
    """The settings of a project.

    spelling: of new blocks in a document without any
    rules: for omitting parts of the notes
    opts: annotations
    models: names by role (`default`, `source` or `source/model`)
    requests: limits by role
    sources: configured
    system: message for chats and edits, "" for ours
    synonyms: by name
    prompts: custom templates by name; the rest: tables of the configuration"""

    root: Path
    spelling: Spelling = "div"
    rules: KnitRules = field(default_factory=KnitRules)
    opts: ScanOpts = field(default_factory=ScanOpts)
    models: dict[str, str] = field(default_factory=lambda: dict.fromkeys(ROLES, DEFAULT))
    requests: dict[str, ModelOptions] = field(default_factory=lambda: dict.fromkeys(ROLES, ModelOptions()))
    sources: dict[str, ModelSource] = field(default_factory=dict)
    system: str = ""
    embeddings: EmbeddingOptions = field(default_factory=EmbeddingOptions)
    storage: StorageOptions = field(default_factory=StorageOptions)
    database: DatabaseOptions = field(default_factory=DatabaseOptions)
    split: SplitOpts = field(default_factory=SplitOpts)
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ask: AskOptions = field(default_factory=AskOptions)
    serve: ServeOptions = field(default_factory=ServeOptions)
    files: FilePatterns = field(default_factory=FilePatterns)
    site: SiteOptions = field(default_factory=SiteOptions)
    prompts: Mapping[str, str] = field(default_factory=dict)


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
    """Return a configuration's project, or that of the working folder. Raise ConfigError."""
    if isinstance(config, Project):
        return config
    if config is None:
        return load_project(None)
    return project_from_settings(config, project_root(Path.cwd() / "-"))


def project_from_settings(settings: ConfigSettings, root: Path) -> Project:
    roles = {"major": settings.major, "minor": settings.minor, "aux": settings.aux}
    return Project(
        root,
        settings.spelling,
        _knit_rules(settings.knit),
        settings.RAG,
        {role: chosen.model for role, chosen in roles.items()} | {"embedding": settings.embeddings.dense_model},
        roles | {"embedding": ModelOptions()},
        settings.sources,
        embeddings=settings.embeddings,
        storage=settings.storage,
        database=settings.database,
        split=settings.split,
        synonyms={
            name: (names,) if isinstance(names, str) else names for name, names in settings.retrieve.synonyms.items()
        },
        ask=settings.ask,
        serve=settings.serve,
        files=_without_prompts(settings.files, settings.prompts),
        site=settings.site,
        prompts=_own_prompts(settings.prompts, root),
    )


def _without_prompts(files: FilePatterns, prompts: PromptFiles) -> FilePatterns:
    """Exclude custom prompts, which are no documents, from `[files]`."""
    names = [re.sub(r"([\\*?\[!# ])", r"\\\1", file.strip()) for file in asdict(prompts).values()]
    own = [f"/{file.removeprefix('./')}" for file in names if file]
    return replace(files, exclude=(*files.exclude, *own))


def _own_prompts(prompts: PromptFiles, root: Path) -> dict[str, str]:
    """Return the custom prompts. Raise ConfigError if one is unusable or outside the project."""
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


def _knit_rules(knit: KnitOptions) -> KnitRules:
    allowed = frozenset(knit.allowed_words) | taken_out_types(knit.div_types)
    return KnitRules(configured_types(knit.div_types), frozenset(knit.keep), allowed=allowed)


def model_name(project: Project, role: str) -> ModelName:
    """Return the model for `major`, `minor`, `aux` or `embedding`. Raise ModelError with advice."""
    return choose_model(role, project.models, known_sources(project.sources))


# The header


def for_document(project: Project, header: Mapping[str, Any]) -> Project:
    """Return the project with the settings of a document's header.

    These are `model` (a mapping, or a list of one-key mappings), and under `lmm` the knit rules and the spelling of new
    blocks. Raise ConfigError with the keys; the caller adds the document."""
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
                project = _HEADER_KEYS[key](project, key, value)
        except LmmError as error:
            problems.append(f"`model.{key}`: {error}")
    if problems:
        raise ConfigError("\n".join(problems))
    return project


def _is_unset(value: Any) -> bool:
    return value is None or (isinstance(value, str) and (is_default(value) or not value.strip()))


def _header_keys(model: Any, problems: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values under `model`; add unknown ones to the problems."""
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


def _with_model(project: Project, role: str, value: Any) -> Project:
    name = _text(value, "source/model, source or default")
    if leads_outside(parse_name(name, known_sources(project.sources)), project.root):
        raise ConfigError(f"should be a folder inside {project.root}")
    return replace(project, models=project.models | {role: name})


def _with_system(project: Project, _key: str, value: Any) -> Project:
    return replace(project, system=_text(value, "a text"))


def _with_annotations(project: Project, _key: str, value: Any) -> Project:
    """Apply a list of annotations, or a mapping like the table [RAG]. A list keeps the numbers of words."""
    if isinstance(value, dict):
        options = {ANNOTATIONS.get(str(key), str(key)): option for key, option in value.items()}
        for key, option in options.items():
            if key not in _RAG_KEYS or type(option) is not type(_RAG_KEYS[key]) or option < 0:
                allowed = f"true or false for {', '.join(_RAG_KEYS)}, or a number of words for the thresholds"
                raise ConfigError(f"`{key}: {option!r:.60}`: should be {allowed}")
        return replace(project, opts=replace(project.opts, **options))
    allowed = f"a list of {', '.join(ANNOTATIONS)} ([] for none), or a mapping of {', '.join(_RAG_KEYS)}"
    names = [_text(name, allowed).strip().lower() for name in (value if isinstance(value, list) else [value])]
    if unknown := [name for name in names if name not in ANNOTATIONS]:
        raise ConfigError(f"should be {allowed}, not {unknown[0]!r:.60}")
    chosen = {ANNOTATIONS[name] for name in names}
    opts = replace(
        project.opts, titles="titles" in chosen, questions="questions" in chosen, summaries="summaries" in chosen
    )
    return replace(project, opts=opts)


def _text(value: Any, allowed: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"should be {allowed}, not {value!r:.60}")
    return value


_HEADER_KEYS: dict[str, Callable[[Project, str, Any], Project]] = {
    "embedding": _with_model,
    "major": _with_model,
    "minor": _with_model,
    "aux": _with_model,
    "system": _with_system,
    "RAG": _with_annotations,
}
