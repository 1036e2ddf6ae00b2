"""The configuration: defaults, environment (`LMM_*`), `config.toml`, arguments in code.

    config = ConfigSettings(RAG={"questions": True})

takes everything else from `config.toml`, else from the environment, else from the
defaults. Whatever is wrong is a ConfigError at once, which names all problems.

A `config.toml` may come with a folder from somebody else. So it holds no keys, takes
nothing from the environment, sends no key to a server that the person has not allowed
(sources and storage remember the file that names their server: see `models.trust`), and
cannot lead the index out of the project.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal, get_origin
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ..errors import ConfigError, FolderError, ModelError, TrustError
from ..files.create import create_file
from ..files.marked import check_inside
from ..files.names import clash, name_problem
from ..markdown.files import project_root
from ..markdown.rag_only import DIV_TYPES, OUT, RAG_ONLY, named_types
from ..models.roles import ModelName, is_default, leads_outside, parse_name
from ..models.sources import FASTEMBED, NONE, SOURCES, STAND_IN, ModelSource, known_sources
from ..models.trust import VARIABLE, read_trust_variable, trusted_pairs
from .project import CONFIG_NAME, is_setting

# What no `config.toml` needs, and would take for ever: one may come with a folder from somebody else.
MOST_BYTES = 1_000_000
MOST_SETTINGS = 1_000
DEEPEST = 20  # tables in tables
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_DEEP_NAME = re.compile(rf"(?<![\w-])(?:{_PART}\.[ \t]*+){{{DEEPEST}}}")

_RESERVED = (STAND_IN, FASTEMBED, NONE, "default")

# Sections of the file


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())


class ModelSettings(_Section):
    """`[major]`, `[minor]`, `[aux]`: a language model and the requests to it."""

    model: str = Field(default="default", description='"source/model", a source alone ("openai"), or "default"')
    timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False, description="seconds for one request")
    max_retries: int = Field(default=2, ge=0, description="further attempts after a request that failed")
    max_concurrency: int = Field(default=16, ge=1, description="requests at the same time")
    context_tokens: int = Field(default=100_000, ge=1000, description="tokens that a chat or an edit may send")


class RagSettings(_Section):
    """`[RAG]`: which annotations are made, and from how many words of text on."""

    titles: bool = Field(default=False, description="the path of titles of each section")
    questions: bool = Field(default=True, description="the questions that a section answers")
    summaries: bool = Field(default=True, description="a summary of each section")
    questions_threshold: int = Field(default=15, ge=0, description="words from which on a section gets questions")
    summary_threshold: int = Field(default=50, ge=0, description="words from which on a section gets a summary")


class KnitSettings(_Section):
    """`[knit]`: what is left out of the lecture notes."""

    div_types: list[str] = Field(
        default=[], description='more classes of fenced divs that are RAG-only; "-exercise" takes one out'
    )
    keep: list[str] = Field(default=[], description="types that stay in the notes")
    allowed_words: list[str] = Field(
        default=[], description="classes and keys that are meant as they stand, however near to a type or key of ours"
    )


class SourceSettings(_Section):
    """`[sources.NAME]`: a server that speaks the OpenAI protocol."""

    base_url: str = Field(description="where it is, with http:// or https://")
    key_variable: str = Field(default="", description="the NAME of the environment variable that holds the key")
    chat_model: str = Field(default="", description="the chat model where none is named")
    embedding_model: str = Field(default="", description="the embedding model where none is named")
    _file: str = PrivateAttr("")  # that names the server or the variable
    _server_file: str = PrivateAttr("")  # that names the server

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        return _checked_url(url)

    @field_validator("key_variable")
    @classmethod
    def _is_variable(cls, name: str) -> str:
        # Capitals alone: a key that somebody puts here by mistake is no such name.
        if name and not VARIABLE.fullmatch(name):
            raise ValueError("should be the name of an environment variable (A-Z, 0-9, _), never the key itself")
        return name

    def as_source(self, name: str) -> ModelSource:
        """The source for requests."""
        return ModelSource(
            name, self.base_url, self.key_variable, self.chat_model, self.embedding_model, self._file, self._server_file
        )


class EmbeddingSettings(_Section):
    """`[embeddings]`: what makes vectors of texts."""

    dense_model: str = Field(
        default="default", description='"source/model", "fastembed/MODEL", a source alone, or "default"'
    )
    encoding: Literal[
        "default", "none", "content", "merged", "multivector", "sparse", "sparse_content", "sparse_merged",
        "sparse_multivector", "bm25", "hybrid",
    ] = Field(default="default", description="default: hybrid with an embedding model, else bm25")  # fmt: skip
    annotations: list[str] = Field(
        default=["titles", "questions"], description="metadata that is encoded with a text, its own and inherited"
    )
    language: str = Field(default="", description='of stop words and stems ("en", "de"); "": of the first document')


class StorageSettings(_Section):
    """`[storage]`: where the index is."""

    folder: str = Field(default=".lmm/index", min_length=1, description="folder of the index, from the project's root")
    url: str = Field(default="", description="address of a Qdrant server; where given, the folder is not used")
    memory: bool = Field(default=False, description="keep the index in memory, for this run alone")
    timeout: float = Field(default=30.0, gt=0, allow_inf_nan=False, description="seconds for one request to the server")
    prefer_grpc: bool = Field(default=False, description="speak gRPC with the server")
    on_disk: bool = Field(default=False, description="vectors on the server's disk")
    quantization: bool = Field(default=False, description="scalar quantization on the server")
    shard_number: int = Field(default=1, ge=1, description="shards of new collections on the server")
    replication_factor: int = Field(default=1, ge=1, description="replicas of new collections on the server")
    _file: str = PrivateAttr("")  # that names the server

    @property
    def file(self) -> str:
        """The `config.toml` that names the server; "" where the person does."""
        return self._file

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        return _checked_url(url) if url else url


class DatabaseSettings(_Section):
    """`[database]`: the collections of the index."""

    collection_name: str = Field(default="chunks", min_length=1, description="collection that is searched")
    companion_collection: str = Field(default="documents", min_length=1, description="collection of the texts around")
    companion_encoding: Literal["none", "content", "merged", "bm25", "hybrid"] = Field(
        default="none", description="encoding of the texts around; none: they are found by their chunks"
    )


class SplitSettings(_Section):
    """`[split]`: how texts are cut into chunks."""

    size: int = Field(default=1000, ge=1, description="characters that a chunk should have")
    max_size: int = Field(default=2000, ge=1, description="characters that a chunk may have")
    overlap: int = Field(default=0, ge=0, description="characters that a chunk repeats of the one before")
    unit: Literal["characters", "tokens"] = Field(default="characters", description="what sizes are counted in")
    short: int = Field(default=120, ge=0, description="texts of fewer characters are pooled with their neighbours")
    documents: int = Field(default=0, ge=-1, description="0: sections; N: of at most N characters; -1: none")

    @model_validator(mode="after")
    def _fit(self) -> SplitSettings:
        if self.max_size < self.size:
            raise ValueError(f"max_size ({self.max_size}) should be at least size ({self.size})")
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) should be less than size ({self.size})")
        return self


class AskSettings(_Section):
    """`[ask]`: how questions are answered."""

    queries: Literal["default", "keywords", "model"] = Field(
        default="default", description="how a question is searched for; default: model where one is named"
    )
    rerank: str = Field(
        default="none", description='"none", "model", "fastembed/MODEL" (a cross-encoder), "source/MODEL" (a server)'
    )
    context: Literal["passages", "outline", "text"] = Field(
        default="passages", description="what the model is shown: passages, headings, or the text under headings"
    )
    level: int = Field(default=2, ge=1, le=6, description="of headings, for outline and text")
    budget: int = Field(default=1000, ge=50, description="tokens of the notes that the model is shown")
    tool_calls: int = Field(default=4, ge=0, description="times that the model may look further into the notes")


class ServeSettings(_Section):
    """`[serve]`: who may ask the server of `lmm serve`, and how much."""

    origins: list[str] = Field(
        default=[], description='sites whose pages may ask, beside its own: "https://course.example.org"'
    )
    hosts: list[str] = Field(default=[], description='names by which it is reached: "ask.example.org"')
    proxies: list[str] = Field(
        default=["127.0.0.1", "::1"], description="addresses of reverse proxies, which say who asks"
    )
    rate: int = Field(default=20, ge=1, description="questions a minute from one address")
    concurrency: int = Field(default=50, ge=1, description="answers, and requests to a model, at the same time")
    max_question: int = Field(default=2000, ge=1, le=10_000, description="characters that a question may have")
    timeout: float = Field(default=120.0, gt=0, allow_inf_nan=False, description="seconds for an answer")
    idle_timeout: float = Field(
        default=45.0, gt=0, allow_inf_nan=False, description="seconds in which nothing of an answer may come"
    )
    search_timeout: float = Field(
        default=20.0, gt=0, allow_inf_nan=False,
        description="seconds for looking up what fits a question; of it, a quarter for each model that helps",
    )  # fmt: skip
    connections: int = Field(
        default=1000, ge=16, description="connections at the same time; fewer where few files may be open"
    )

    @field_validator("origins")
    @classmethod
    def _are_origins(cls, origins: list[str]) -> list[str]:
        return [_checked_origin(origin.strip().rstrip("/")) for origin in origins]

    @field_validator("hosts")
    @classmethod
    def _are_hosts(cls, hosts: list[str]) -> list[str]:
        for host in hosts:
            if not re.fullmatch(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]", host):
                raise ValueError(f"should be names without scheme, port and path, not {host!r:.60}")
        return hosts

    @field_validator("proxies")
    @classmethod
    def _are_addresses(cls, proxies: list[str]) -> list[str]:
        for proxy in proxies:
            try:
                ip_network(proxy)
            except ValueError:
                raise ValueError(f"should be addresses like 10.0.0.7 or 10.0.0.0/24, not {proxy!r:.60}") from None
        return proxies


def _checked_origin(origin: str) -> str:
    """Scheme, host and port as a browser sends them; `null` for pages opened as files."""
    if origin == "null":
        return origin
    if not _is_url(origin) or urlsplit(origin).path:
        raise ValueError(f"should be sites like https://course.example.org (or null), without a path, not {origin:.60}")
    return origin.lower()


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        # Clients read `\` and white space in an address in ways of their own.
        good = good and re.fullmatch(r"[!-\[\]-~]+", url) is not None
    except ValueError:
        good = False
    if not good:
        raise ValueError("should be an address that begins with http:// or https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("should be an address alone, without user, password, `?` or `#`")
    return url


# Settings


class Settings(BaseSettings):
    """The settings of LM markdown. Arguments go over `config.toml` of the working
    folder's project (`_file` names another one), which goes over the environment, which
    goes over the defaults; tables are merged key by key. Raises ConfigError."""

    model_config = SettingsConfigDict(extra="forbid", strict=True)

    spelling: Literal["div", "native"] = Field(
        default="div", description='of new blocks in documents without any: "div" or "native"'
    )
    major: ModelSettings = Field(default=ModelSettings(), description="the model for chats and edits")
    minor: ModelSettings = Field(default=ModelSettings(), description="the model for annotations")
    aux: ModelSettings = Field(default=ModelSettings(), description="the model for small helps")
    RAG: RagSettings = Field(default=RagSettings(), description="which annotations are made")
    knit: KnitSettings = Field(default=KnitSettings(), description="what is left out of the lecture notes")
    sources: dict[str, SourceSettings] = Field(default={}, description="servers of models, beside those that are known")

    def __init__(self, _file: Path | None = None, **given: Any) -> None:
        found = _Found.read(_file or project_root(Path.cwd() / "-") / CONFIG_NAME, given, type(self))
        try:
            super().__init__(**found.values)
        except ValidationError as error:
            found.problems += [found.describe(detail) for detail in error.errors()]
        if found.problems:
            raise ConfigError("\n".join(dict.fromkeys(found.problems)))
        self._remember_files(found)

    def _remember_files(self, found: _Found) -> None:
        """Which servers the file has a say in, even where only the host or the variable is its."""
        for name, source in self.sources.items():
            source._file = found.file_behind(("sources", name, "base_url"), ("sources", name, "key_variable"))
            source._server_file = found.file_behind(("sources", name, "base_url"))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `_Found` has put together: pydantic's own sources do not say where
        a value comes from, and leave out variables that they do not know."""
        return (init_settings,)


class ConfigSettings(Settings):
    """The settings of LM markdown and of LM markdown for education, from one file."""

    embeddings: EmbeddingSettings = Field(
        default=EmbeddingSettings(), description="the model that makes vectors of texts"
    )
    storage: StorageSettings = Field(default=StorageSettings(), description="where the index is")
    database: DatabaseSettings = Field(default=DatabaseSettings(), description="the collections of the index")
    split: SplitSettings = Field(default=SplitSettings(), description="how texts are cut into chunks")
    ask: AskSettings = Field(default=AskSettings(), description="how questions are answered")
    serve: ServeSettings = Field(default=ServeSettings(), description="who may ask the server, and how much")

    def _remember_files(self, found: _Found) -> None:
        """See `Settings`."""
        super()._remember_files(found)
        self.storage = self.storage.model_copy()  # the default one belongs to all settings
        self.storage._file = found.file_behind(("storage", "url")) if self.storage.url else ""


def read_settings(file: Path) -> ConfigSettings:
    """The settings of one `config.toml` (which may be missing) over the environment.
    Raises ConfigError."""
    return ConfigSettings(_file=file)  # type: ignore[call-arg]  # mypy takes fields for the only arguments


# What was given, and where

Keys = tuple[str, ...]
_MODEL_KEYS: dict[str, Keys] = {
    "MAJOR": ("major", "model"),
    "MINOR": ("minor", "model"),
    "AUX": ("aux", "model"),
    "EMBEDDING": ("embeddings", "dense_model"),
}
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.I)  # what may hold a key is not printed
_KEY_NAME = re.compile(r"(.*[_-])?(api)?(key|token|secret|password)", re.I)


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that somebody gave, and its place: a variable (or two), the file's path,
    or `argument`."""

    keys: Keys
    value: Any
    layer: Literal["environment", "file", "argument"]
    place: str


@dataclass(slots=True)
class _Found:
    """All that was given for a file's project, the lowest first, with the problems seen
    so far; `values` are what `model` is made of."""

    file: Path
    model: type[Settings]
    given: list[_Given] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path, arguments: Mapping[str, Any], model: type[Settings]) -> _Found:
        """Everything for one file. Raises ConfigError where the file cannot be read."""
        found = cls(file, model)
        in_file = [_Given(keys, value, "file", str(file)) for keys, value in _flatten(_load(file))]
        if len(in_file) > MOST_SETTINGS:  # to look for what each problem comes from takes time
            raise ConfigError(f"{file}: {len(in_file):,} settings; it may have {MOST_SETTINGS:,}")
        in_code = [_Given(keys, value, "argument", "argument") for keys, value in _flatten(arguments)]
        nested = list(_nested_variables(found.problems))
        names = {g.keys[1] for g in (*nested, *in_file, *in_code) if g.keys[0] == "sources" and len(g.keys) > 1}
        found.given = [*nested, *_role_variables({*SOURCES, STAND_IN, FASTEMBED, *names}), *in_file, *in_code]
        found._take_known()
        found.values = _merge(found.given)
        found._complete_sources()
        found._check()
        return found

    def _take_known(self) -> None:
        """Leaves out sections that are not of `model`: those of education without a
        word, where they are not arguments; others are problems."""
        own = self.model.model_fields
        known = ConfigSettings.model_fields | own
        unknown = [g for g in self.given if g.keys[0] not in own]
        self.given = [g for g in self.given if g.keys[0] in own]
        for one in unknown:
            allowed = own if one.layer == "argument" else known
            if one.keys[0] not in allowed:
                self.problems.append(f"{one.place}: {_unknown(one.keys[:1], allowed)}")

    def _complete_sources(self) -> None:
        """A source that overrides one of ours has what it does not say from that: above
        all the name of the key's variable, which is then looked at like any other."""
        for name, table in self.sources():
            if name in SOURCES:
                table.setdefault("key_variable", SOURCES[name].key_variable)
                table.setdefault("chat_model", SOURCES[name].chat_model)
                table.setdefault("embedding_model", SOURCES[name].embedding_model)

    def sources(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The tables of `[sources.NAME]`, as they were given."""
        tables = self.values.get("sources")
        for name, table in tables.items() if isinstance(tables, dict) else ():
            if isinstance(table, dict):
                yield name, table

    def origin(self, keys: Keys) -> _Given | None:
        """What the value of a key comes from; None: the defaults."""
        return next((one for one in reversed(self.given) if one.keys == keys), None)

    def file_behind(self, *keys: Keys) -> str:
        """The file, where any of these settings comes from it; else ""."""
        origins = map(self.origin, keys)
        return str(self.file.absolute()) if any(one and one.layer == "file" for one in origins) else ""

    def tell(self, keys: Keys, message: str) -> None:
        """Adds a problem with a key, in the words of the place that it comes from."""
        self.problems.append(f"{self._place(keys)}: `{'.'.join(keys)}`: {message}")

    def _place(self, keys: Keys) -> str:
        """Where a key comes from; of a key that is missing, or a section, what is near."""
        for end in range(len(keys), 0, -1):
            for one in reversed(self.given):
                if one.keys[:end] == keys[:end] or one.keys == keys[: len(one.keys)]:
                    return one.place
        return str(self.file)

    # What is checked beside types

    def _check(self) -> None:
        self._check_models()
        self._check_sources()
        self._check_folder()
        self._check_types()
        self._check_collections()
        self._check_trust()

    def _check_models(self) -> None:
        known = known_sources({name: ModelSource(name, "") for name, _ in self.sources()})
        for keys in _MODEL_KEYS.values():
            table = self.values.get(keys[0])
            name = table.get(keys[1]) if isinstance(table, dict) else None
            if isinstance(name, str) and not is_default(name):
                try:
                    self._check_model_folder(keys, parse_name(name, known))
                except ModelError as error:
                    self.tell(keys, str(error))

    def _check_model_folder(self, keys: Keys, name: ModelName) -> None:
        one = self.origin(keys)
        if one and one.layer == "file" and leads_outside(name, self.file.parent):
            self.tell(
                keys,
                f"should be a folder inside {self.file.parent.resolve()}; one elsewhere is for the environment "
                "(LMM_MODEL_EMBEDDING) or code",
            )

    def _check_sources(self) -> None:
        for name, _ in self.sources():
            if name in _RESERVED:
                self.tell(("sources", name), "this name has a meaning of its own: take another one")
            elif not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
                self.tell(("sources", name), "a source's name is made of letters, digits, `.`, `_` and `-`")

    def _check_trust(self) -> None:
        try:
            read_trust_variable()
        except TrustError as error:
            self.problems.append(str(error))

    def _check_folder(self) -> None:
        one = self.origin(("storage", "folder"))
        if one is None or not isinstance(one.value, str):
            return
        if one.value.startswith("~"):
            self.tell(
                one.keys,
                "`~` is not the home folder here: a folder of that name would come into the project, which is easily "
                "mistaken for it; name a folder without `~` at its start, such as .lmm/index",
            )
        elif one.layer == "file":
            self._check_own_folder(one, one.value)

    def _check_own_folder(self, one: _Given, folder: str) -> None:
        """A file's folder lies in its project."""
        root = self.file.parent.resolve()
        place = Path(os.path.normpath(root / folder))
        if "\0" in folder or not place.is_relative_to(root):
            self.tell(
                one.keys,
                f"should lie inside {root}; a folder elsewhere is for the environment (LMM_STORAGE__FOLDER) or code",
            )
        elif place == root:
            self.tell(one.keys, "should be a folder of its own, not that of the project: .lmm/index, for example")
        else:
            self._check_way(one.keys, root, place)

    def _check_types(self) -> None:
        """What is taken out of the classes has to be one of them."""
        keys = ("knit", "div_types")
        table = self.values.get(keys[0])
        given = table.get(keys[1]) if isinstance(table, dict) else None
        words = [word for word in given if isinstance(word, str)] if isinstance(given, list) else []
        known = sorted((DIV_TYPES | named_types(words)) - {RAG_ONLY})
        for word in words:
            name = word.removeprefix(OUT)
            if name == word or name in known:
                continue
            near = difflib.get_close_matches(name.strip().lower(), known, 1)
            meant = f"; did you mean `{OUT}{near[0]}`?" if near else ""
            self.tell(keys, f"{word!r:.60} takes out no class (those that can be are {', '.join(known)}{meant})")

    def _check_way(self, keys: Keys, root: Path, place: Path) -> None:
        try:
            check_inside(root, place)
        except FolderError as error:
            self.tell(keys, f"should lie inside {root} without links on the way; {error}")

    def _check_collections(self) -> None:
        """A collection becomes a folder: the names have to be those of three (with the records of files)."""
        names = {key: self._name_of(key) for key in ("collection_name", "companion_collection")}
        bad = {key: problem for key, name in names.items() if (problem := name_problem(name))}
        for key, problem in bad.items():
            if isinstance(self._given_at(key), str) and names[key]:
                self.tell(("database", key), f"{names[key]!r:.60} cannot be the name of a collection: {problem}")
        files = {"the records of files": names["collection_name"] + ".files"}
        if not bad and (found := clash(names | files)):
            one, other = ((names | files)[what] for what in found)
            given = "collection_name" if self._given_at("companion_collection") is None else "companion_collection"
            self.tell(
                ("database", given),
                f"{found[0]} ({one!r}) and {found[1]} ({other!r}) should differ, and by more than case",
            )

    def _given_at(self, key: str) -> Any:
        table = self.values.get("database")
        return table.get(key) if isinstance(table, dict) else None

    def _name_of(self, key: str) -> str:
        value = self._given_at(key)
        return value if isinstance(value, str) else str(DatabaseSettings.model_fields[key].default)

    # Words for what pydantic finds

    def describe(self, error: ErrorDetails) -> str:
        """One line for an error of pydantic's."""
        keys = tuple(str(part) for part in error["loc"])
        place = self._place(keys)
        if error["type"] == "extra_forbidden":
            return f"{place}: {_unknown(keys, _fields_at(self.model, keys[:-1]))}"
        if error["type"] == "missing":
            return f"{place}: `{'.'.join(keys)}` is required"
        if error["type"] in ("model_type", "dict_type"):
            return f"{place}: `{'.'.join(keys)}`: should be a table, [{'.'.join(keys)}] and its keys"
        message = (
            error["msg"]
            .removeprefix("Value error, ")
            .replace("Input should", "should")
            .replace("a valid boolean", "true or false")
        )
        return f"{place}: `{'.'.join(keys)}`: {message}{_but(error, f'{place} {keys[-1]}')}"


def _but(error: ErrorDetails, name: str) -> str:
    """The wrong value, unless it may hold a key (or is shown by our own message)."""
    value = error["input"]
    if error["type"] == "value_error" or _SECRET.search(name) or isinstance(value, dict | list):
        return ""
    text = repr(value)
    return f", not {text if len(text) <= 60 else text[:59] + '…'}"


def _unknown(keys: Keys, known: Iterable[str]) -> str:
    """What is said of an unknown key; `known` are those at its place."""
    name = ".".join(keys)
    if _KEY_NAME.fullmatch(keys[-1]):
        where = "put the key into the environment, and name the variable with key_variable in [sources.NAME]"
        return f"unknown key `{name}`: no key stands in a file: {where}"
    near = difflib.get_close_matches(keys[-1].lower(), {word.lower(): word for word in known}, 1)
    meant = next((word for word in known if near and word.lower() == near[0]), "")
    return f"unknown key `{name}` (known: {', '.join(known)}{f'; did you mean `{meant}`?' if meant else ''})"


def _is_url(url: str) -> bool:
    try:
        return bool(_checked_url(url))
    except ValueError:
        return False


# The file


def _load(file: Path) -> dict[str, Any]:
    """The file's tables, none where there is no file. Raises ConfigError."""
    try:
        data = _read(file) if file.is_file() else b""
        text = data.decode("utf-8-sig")
        is_deep = _DEEP_NAME.search(text) is not None
        tables = {} if is_deep else tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}:{line}: not UTF-8: save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        line_of = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"{file}{':' + line_of[1] if line_of else ''}: not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{file}: not TOML: nested too deep") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from None
    if is_deep or _is_deep(tables):
        raise ConfigError(f"{file}: tables in tables, {DEEPEST} deep or deeper: no setting lies so deep")
    return tables


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ConfigError(f"{file}: longer than {MOST_BYTES:,} bytes: no settings are")
    return data


def _is_deep(table: dict[str, Any]) -> bool:
    """Whether there are more tables in tables than can be gone through by functions that call themselves."""
    level = [table]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in outer.values() if isinstance(inner, dict)]
    return bool(level)


def _flatten(value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """The values in nested tables, each with its keys. An empty table is a value, and of
    a section given as an object only what was set counts."""
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True)
    if not isinstance(value, Mapping) or (keys and not value):
        yield keys, value
        return
    for key, inner in value.items():
        name = str(key).strip().lower() if keys == ("sources",) else str(key)
        yield from _flatten(inner, (*keys, name))


def _merge(given: Iterable[_Given]) -> dict[str, Any]:
    """Nested tables again, the later over the earlier."""
    merged: dict[str, Any] = {}
    for one in given:
        table = merged
        for key in one.keys[:-1]:
            if not isinstance(table.get(key), dict):
                table[key] = {}
            table = table[key]
        if one.value != {}:
            table[one.keys[-1]] = one.value
        elif not isinstance(table.get(one.keys[-1]), dict):
            table[one.keys[-1]] = {}
    return merged


# The environment


def _set_variables() -> dict[str, tuple[str, str]]:
    """Our variables that hold something: their names in capitals, with the name as it is
    written and the value."""
    found = sorted((name.upper(), name, value.strip()) for name, value in os.environ.items() if is_setting(name))
    return {upper: (name, value) for upper, name, value in found if value}


def _nested_variables(problems: list[str]) -> Iterator[_Given]:
    """`LMM_RAG__QUESTIONS` and the like; unknown ones and broken JSON are problems."""
    known = _known_variables()
    for upper, (name, text) in _set_variables().items():
        if upper in _ROLE_VARIABLES:
            continue
        known |= _variables_of_source(upper)
        if upper not in known:
            problems.append(f"{name}: unknown variable{_nearest_variable(upper, known)}")
            continue
        keys, annotation = known[upper]
        try:
            value = _read_text(text, annotation)
        except ValueError:
            problems.append(f"{name}: should be JSON, {_example(annotation)}")
            continue
        for inner, found in _flatten(value, keys):
            yield _Given(inner, found, "environment", name)


def _known_variables() -> dict[str, tuple[Keys, Any]]:
    """All nested variables but those of sources, with the keys and the type of each."""
    known: dict[str, tuple[Keys, Any]] = {}
    for name, info in ConfigSettings.model_fields.items():
        known[_variable(name)] = (name,), info.annotation
        for key, inner in _fields_at(ConfigSettings, (name,)).items():
            if name != "sources":
                known[_variable(name, key)] = (name, key), inner.annotation
    return known


def _variables_of_source(variable: str) -> dict[str, tuple[Keys, Any]]:
    """The variables of the source that a variable names, if it names one."""
    match = re.match(r"LMM_SOURCES__(.+?)__", variable)
    if not match:
        return {}
    keys = ("sources", match[1].lower())
    return {_variable(*keys, key): ((*keys, key), str) for key in SourceSettings.model_fields}


def _variable(*keys: str) -> str:
    return f"LMM_{'__'.join(keys)}".upper()


def _nearest_variable(variable: str, known: Iterable[str]) -> str:
    if re.match(r"LMM_SOURCES__.+__", variable) and _KEY_NAME.fullmatch(variable.rpartition("__")[2]):
        return " (a key has a variable of its own, which LMM_SOURCES__NAME__KEY_VARIABLE names)"
    near = difflib.get_close_matches(variable, [*known, *_ROLE_VARIABLES], 1, cutoff=0.0)
    return f" (did you mean {near[0]}?)"


def _read_text(text: str, annotation: Any) -> Any:
    """The value of a variable: JSON for lists and tables (raises ValueError), else a
    number or a truth value where the type is one. What does not fit stays a text, for
    pydantic to find."""
    if annotation in (bool, int, float):
        try:
            return TypeAdapter(annotation).validate_python(text)
        except ValidationError:
            return text
    return text if annotation is str or get_origin(annotation) is Literal else json.loads(text)


def _example(annotation: Any) -> str:
    return 'like ["exercise", "topic"]' if annotation == list[str] else 'like {"key": "value"}'


_ROLE_VARIABLES = frozenset(
    f"LMM_{kind}{role}" for kind in ("SOURCE", "MODEL") for role in ("", *(f"_{role}" for role in _MODEL_KEYS))
)


def _role_variables(sources: Iterable[str]) -> Iterator[_Given]:
    """`LMM_SOURCE_MAJOR` and `LMM_MODEL_MAJOR` (without a role: major) and their likes,
    each pair as one name of a model."""
    found = {upper: one for upper, one in _set_variables().items() if upper in _ROLE_VARIABLES}
    for role, keys in _MODEL_KEYS.items():
        general = found if role == "MAJOR" else {}
        source = found.get(f"LMM_SOURCE_{role}") or general.get("LMM_SOURCE")
        model = found.get(f"LMM_MODEL_{role}") or general.get("LMM_MODEL")
        if source or model:
            place = ", ".join(one[0] for one in (source, model) if one)
            name = _model_of(source[1] if source else "", model[1] if model else "", sources)
            yield _Given(keys, name, "environment", place)


def _model_of(source: str, model: str, sources: Iterable[str]) -> str:
    """The name that a source and a model make, each of them "" or `default` where it is
    not said; a model alone may name its source, else it is OpenAI's."""
    source, model = ("" if is_default(word) else word for word in (source, model))
    if not model:
        return source or "default"
    if not source and model.strip().lower() == NONE:
        return NONE
    if not source and "/" in model and model.partition("/")[0].strip().lower() in sources:
        return model
    return f"{source or 'openai'}/{model}"


# Looking at fields


def _fields_at(model: type[BaseModel], keys: Keys) -> dict[str, Any]:
    """The fields of a model's section (of one source, for `sources`), by name; none where
    there is no such section."""
    fields: dict[str, Any] = dict(model.model_fields)
    if not keys:
        return fields
    if keys[0] == "sources":
        return dict(SourceSettings.model_fields)
    annotation = fields[keys[0]].annotation if keys[0] in fields else None
    return dict(annotation.model_fields) if isinstance(annotation, type) and issubclass(annotation, BaseModel) else {}


# Explaining


@dataclass(frozen=True, slots=True)
class Value:
    """A setting as it is in force, and where it comes from: `default`, `environment`
    with the variable's name, or the file's path."""

    key: str
    value: Any
    origin: str


def explain(file: Path) -> list[Value]:
    """All settings for a file's project, in the order of the sections, and which keys the
    person lets go where. Raises ConfigError."""
    settings = read_settings(file)
    found = _Found.read(file, {}, ConfigSettings)
    values = [Value(".".join(keys), value, _origin(found.origin(keys))) for keys, value in _leaves(settings)]
    return values + _explain_trust(file.parent if file.is_file() else None)


def _explain_trust(root: Path | None) -> list[Value]:
    try:
        pairs = trusted_pairs(root)
    except TrustError as error:
        raise ConfigError(str(error)) from None
    return [Value(f"trust.{pair.host}", pair.variable, pairs[pair]) for pair in sorted(pairs)]


def _origin(one: _Given | None) -> str:
    if one is None:
        return "default"
    return f"environment {one.place}" if one.layer == "environment" else one.place


def _leaves(value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    if not isinstance(value, BaseModel | dict):
        yield keys, value
        return
    for key, inner in value.items() if isinstance(value, dict) else value:
        yield from _leaves(inner, (*keys, key))


# A file to begin with


def default_text() -> str:
    """A `config.toml` that says what the defaults are: every key is there, commented
    out, with what it means; sections are not."""
    top, sections = [], []
    for name, info in ConfigSettings.model_fields.items():
        fields = _fields_at(ConfigSettings, (name,))
        if name == "sources":
            sections += ["", f"[{name}]   # {info.description}", *_source_lines(fields)]
        elif fields:
            sections += ["", f"[{name}]   # {info.description}", *(_line(key, fields[key]) for key in fields)]
        else:
            top.append(_line(name, info))
    head = "# Settings of this project. To change one, take away the `#` before its key."
    return "\n".join([head, "", *top, *sections]) + "\n"


def _line(key: str, info: Any) -> str:
    default = json.dumps(info.default, ensure_ascii=False)  # TOML spells these values as JSON does
    return f"# {key} = {default}   # {info.description}"


def _source_lines(fields: Mapping[str, Any]) -> list[str]:
    """What a source has. No key that could be set here: a source has no defaults."""
    names = [f"#   {key}: {info.description}" for key, info in fields.items()]
    return ["# A server that speaks the OpenAI protocol is a table [sources.NAME]. Its keys:", *names]


def write_default(folder: Path) -> Path:
    """Write such a file into a folder. Returns its path; raises ConfigError where one is
    there already, and OSError."""
    file = folder / CONFIG_NAME
    try:
        create_file(file, default_text().encode("utf-8"))
    except FileExistsError:
        raise ConfigError(f"{file}: is there already, and is not overwritten") from None
    return file
