"""The tables of `config.toml`: one class for each, with its keys, their defaults and what they are for.

They are plain dataclasses, since most runs read no settings and pydantic takes longer to import than most filters
take to run. Where there is something to read, `settings.config` has pydantic check it by these declarations: the
metadata of a field are arguments of pydantic's `Field`. A field without a description is no key of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from ..markdown.blocks import Spelling
from ..markdown.visibility import KnitRules
from ..models.names import DEFAULT
from ..models.roles import PURPOSES
from ..models.sources import ModelSource, RequestLimits, Sampling
from .values import (
    checked_addresses,
    checked_hosts,
    checked_language,
    checked_origins,
    checked_page,
    checked_parameters,
    checked_patterns,
    checked_price,
    checked_synonyms,
    checked_url,
    checked_variable,
)

Splitter = Literal["default", "none"]
SizeUnit = Literal["characters", "tokens"]
NO_DOCUMENTS = -1
BM25 = "Qdrant/bm25"  # the sparse model that needs no download
_Keys = tuple[str, ...]
_Check = Callable[[Any], Any]


def key(default: Any, description: str, check: _Check | None = None, **rules: Any) -> Any:
    """Return a field for a key of the file.

    check: returns the value to be used, or raises ValueError; rules: of pydantic's `Field`, like `ge`."""
    checks = {"check": check} if check else {}
    return field(default=default, metadata={"description": description, **checks, **rules})


def keys_of(table: type) -> dict[str, Field[Any]]:
    """Return the fields of a table that are keys of the file."""
    return {one.name: one for one in fields(table) if "description" in one.metadata}


@dataclass(frozen=True)
class TableSchema:
    """The mark of a dataclass that is a table of the file, by which pydantic reads one."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return the schema that pydantic asks for."""
        from pydantic_core.core_schema import no_info_after_validator_function

        def make(model: Any) -> Any:
            return source(**{name: tuple(value) if isinstance(value, list) else value for name, value in model})

        return no_info_after_validator_function(make, handler.generate_schema(_model_of(source)))


TABLE = TableSchema()


@cache
def _model_of(table: Any) -> type[Any]:
    """Return the pydantic model of a table: of its keys alone, with lists where the table has tuples."""
    from pydantic import AfterValidator, ConfigDict, Field, create_model

    hints, values = _hints(table), dict[str, Any]()
    for name, one in keys_of(table).items():
        rules = {key: value for key, value in one.metadata.items() if key != "check"}
        check, hint = one.metadata.get("check"), listed(hints[name])
        values[name] = (Annotated[hint, AfterValidator(check)] if check else hint, Field(**_default(one), **rules))
    config = ConfigDict(extra="forbid", protected_namespaces=())
    made: type[Any] = create_model(table.__name__, __config__=config, __doc__=table.__doc__, **values)
    return made


def _default(one: Field[Any]) -> dict[str, Any]:
    if one.default is not MISSING:
        return {"default": list(one.default) if isinstance(one.default, tuple) else one.default}
    return {} if one.default_factory is MISSING else {"default_factory": one.default_factory}


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A language model and the requests to it: `[major]`, `[minor]`, `[aux]`."""

    model: str = key(DEFAULT, '"source/model", a source alone ("openai"), or "default"')
    timeout: float = key(60.0, "seconds for one request", gt=0, allow_inf_nan=False)
    max_retries: int = key(2, "further attempts after a request that failed", ge=0)
    max_concurrency: int = key(16, "requests at the same time", ge=1)
    context_tokens: int = key(100_000, "tokens that a chat or an edit may send: less for small models", ge=1000)
    max_tokens: int = key(0, "tokens that a reply may have; 0: by what is asked", ge=0)
    temperature: float = key(-1.0, "0 to 2: how freely replies are worded; -1: as the server has it", ge=-1, le=2)
    extra: Mapping[str, Any] = field(
        default_factory=dict,
        metadata={"description": "further parameters of the provider: { top_p = 0.9 }", "check": checked_parameters},
    )

    def limits(self) -> RequestLimits:
        """Return the limits and the parameters of requests."""
        sampling = Sampling(self.max_tokens, self.temperature if self.temperature >= 0 else None, self.extra)
        return RequestLimits(self.timeout, self.max_retries, self.max_concurrency, self.context_tokens, sampling)


@dataclass(frozen=True, slots=True)
class ScanOpts:
    """The annotations that are made, and from how many words of text on: `[RAG]`.

    Further options are for code. `textid` and `headingid` number text blocks and headings (`docid.3`,
    `docid.h2`); `textUUID` and `headingUUID` add UUIDs made from these numbers. `remove_messages`
    removes chat and edit keys first. Values of other types are converted. Raise ValueError for wrong ones.
    """

    titles: bool = key(False, "the path of titles of each section")
    questions: bool = key(True, "the questions that a section answers")
    summaries: bool = key(True, "a summary of each section")
    questions_threshold: int = key(15, "words from which on a section gets questions", ge=0)
    summary_threshold: int = key(50, "words from which on a section gets a summary", ge=0)
    textid: bool = False
    headingid: bool = False
    textUUID: bool = False
    headingUUID: bool = False
    remove_messages: bool = False

    def __post_init__(self) -> None:
        _check_values(self)


@dataclass(frozen=True, slots=True)
class SplitOpts:
    """The sizes of chunks, and of the documents around them that a search returns: `[split]`.

    `rules` say which divs are RAG-only. Values of other types are converted. Raise ValueError for wrong ones.
    """

    size: int = key(1000, "characters that a chunk should have", ge=1)
    max_size: int = key(2000, "characters that a chunk may have", ge=1)
    overlap: int = key(0, "characters that a chunk repeats of the one before", ge=0)
    unit: SizeUnit = key("characters", "the unit of the sizes")
    short: int = key(120, "texts of fewer characters are pooled with their neighbours", ge=0)
    documents: int = key(0, "0: sections; N: of at most N characters; -1: none", ge=NO_DOCUMENTS)
    rules: KnitRules = field(default_factory=KnitRules)
    splitter: Splitter = key("default", "none: each text block stays whole")

    def __post_init__(self) -> None:
        _check_values(self)
        if self.max_size < self.size:
            raise ValueError(f"max_size ({self.max_size}) should be at least size ({self.size})")
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) should be less than size ({self.size})")


def _check_values(options: ScanOpts | SplitOpts) -> None:
    """Convert values of other types by pydantic, or raise its error. It is imported only if a type is wrong."""
    hints = _hints(type(options))  # type: ignore[arg-type]  # a class has a hash, whatever its instances have
    if wrong := {name: hint for name, hint in hints.items() if not _is_of(getattr(options, name), hint)}:
        from pydantic import create_model

        values: dict[str, Any] = {name: (hint, ...) for name, hint in wrong.items()}
        made = create_model(type(options).__name__, **values)(**{name: getattr(options, name) for name in wrong})
        for name in wrong:
            object.__setattr__(options, name, getattr(made, name))
    for name, one in keys_of(type(options)).items():
        if "ge" in one.metadata and getattr(options, name) < one.metadata["ge"]:
            raise ValueError(f"{name} should be at least {one.metadata['ge']}, not {getattr(options, name)}")


def _is_of(value: Any, hint: Any) -> bool:
    return value in get_args(hint) if get_origin(hint) is Literal else type(value) is hint


@cache
def _hints(table: type[Any]) -> dict[str, Any]:
    return get_type_hints(table)


@dataclass(frozen=True, slots=True)
class PromptFiles:
    """Files with prompts in your own words, from the project's root: `[prompts]`."""

    questions: str = key("", PURPOSES["questions"])
    summary: str = key("", PURPOSES["summary"])
    annotations: str = key("", PURPOSES["annotations"])
    chat: str = key("", PURPOSES["chat"])
    edit: str = key("", PURPOSES["edit"])
    queries: str = key("", PURPOSES["queries"])
    rerank: str = key("", PURPOSES["rerank"])
    answer: str = key("", PURPOSES["answer"])
    plan: str = key("", PURPOSES["plan"])
    llmd: str = key("", PURPOSES["llmd"])


@dataclass(frozen=True, slots=True)
class KnitOptions:
    """The rules for leaving parts out of the lecture notes: `[knit]`."""

    div_types: _Keys = key((), 'more classes of fenced divs that are RAG-only; "-exercise" takes one out')
    keep: _Keys = key((), "types that stay in the notes")
    allowed_words: _Keys = key(
        (), "classes and keys that are meant as they stand, however near to a type or key of ours"
    )


@dataclass(frozen=True, slots=True)
class FilePatterns:
    """The documents of the project's folders: `[files]`. The patterns start from the project's root."""

    include: _Keys = key(
        (), "patterns as in .gitignore: which documents of a folder are taken; [] for the default", checked_patterns
    )
    exclude: _Keys = key((), "patterns as in .gitignore: which of them are left out", checked_patterns)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """A server that speaks the OpenAI protocol: `[sources.NAME]`.

    file: the config.toml that names the server or the variable; server_file: the one that names the server.
    Both are "" if the person names them: `models.trust` decides by them where a key may go."""

    base_url: str = field(metadata={"description": "its address, with http:// or https://", "check": checked_url})
    key_variable: str = key(
        "",
        "the NAME of the environment variable that holds the key (see lmm config trust)",
        checked_variable,
    )
    chat_model: str = key("", "the chat model to use if none is named")
    embedding_model: str = key("", "the embedding model to use if none is named")
    price: tuple[float, ...] = key(
        (), "of a million tokens: [sent, received]; lmm rag --dry-run shows what a run costs", checked_price
    )
    file: str = ""
    server_file: str = ""

    def as_source(self, name: str) -> ModelSource:
        """Return the source that requests are sent to."""
        models = (self.chat_model, self.embedding_model)
        files = (self.file, self.server_file)
        return ModelSource(name, self.base_url, self.key_variable, *models, *files, self.price)


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """The model and the encoding that turn texts into vectors: `[embeddings]`."""

    dense_model: str = key(DEFAULT, '"source/model", "fastembed/MODEL", a source alone, or "default"')
    sparse_model: Literal["Qdrant/bm25", "prithivida/Splade_PP_en_v1"] = key(
        BM25, 'of words: "Qdrant/bm25" (any language), or "prithivida/Splade_PP_en_v1" (English, 0.5 GB)'
    )
    encoding: Literal[
        "default", "none", "content", "merged", "multivector", "sparse", "sparse_content", "sparse_merged",
        "sparse_multivector", "bm25", "hybrid",
    ] = key(DEFAULT, "default: hybrid with an embedding model, else bm25")  # fmt: skip
    annotations: _Keys = key(("titles", "questions"), "metadata that is encoded with a text: its own, else inherited")
    own_annotations: _Keys = key((), "metadata that is encoded with a text only if its own")
    language: str = key("", 'of texts whose header has no `lang` ("en", "de"); "": recognized')


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """The place of the index: `[storage]`.

    file: the config.toml that names the server, "" if the person names it."""

    folder: str = key(".lmm/index", "folder of the index, from the project's root", min_length=1)
    url: str = key(
        "", "address of a Qdrant server; if given, the folder is not used", lambda url: checked_url(url) if url else url
    )
    port: int = key(0, "port of the server, if its address has none; 0: 6333", ge=0, le=65535)
    memory: bool = key(False, "keep the index in memory, for this run only")
    timeout: float = key(30.0, "seconds for one request to the server", gt=0, allow_inf_nan=False)
    file: str = ""


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """The collections of the index: `[database]`."""

    collection_name: str = key("chunks", "collection that is searched", min_length=1)
    companion_collection: str = key("documents", "collection of the texts around", min_length=1)


@dataclass(frozen=True, slots=True)
class RetrieveOptions:
    """Options of a search: `[retrieve]`."""

    synonyms: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata={
            "description": 'names that mean the same: { SD = "standard deviation", MLM = ["mixed model", "HLM"] }',
            "check": checked_synonyms,
            "json_schema_extra": {"additionalProperties": {"type": ["string", "array"], "items": {"type": "string"}}},
        },
    )


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The ways of answering questions: `[ask]`."""

    system: str = key(
        "", "how answers should sound, in the teacher's words; the rules on sources and refusal hold", max_length=10_000
    )
    queries: Literal["default", "keywords", "model"] = key(
        DEFAULT, "how a question is searched for; default: model if one is named"
    )
    rerank: str = key("none", '"none", "model", "fastembed/MODEL" (a cross-encoder), "source/MODEL" (a server)')
    context: Literal["passages", "outline", "text"] = key(
        "passages", "what the model is shown: passages, headings, or the text under headings"
    )
    level: int = key(2, "of headings, for outline and text", ge=1, le=6)
    budget: int = key(1000, "tokens of the notes that the model is shown", ge=50)
    tool_calls: int = key(4, "times that the model may look further into the notes", ge=0)
    off_topic: Literal["answer", "refuse"] = key(
        "answer", "what to do with questions about something else than `subjects`; a model tells"
    )
    subjects: _Keys = key((), 'of the course: ["descriptive statistics", "linear models"]', max_length=50)

    def __post_init__(self) -> None:
        if self.off_topic == "refuse" and not self.subjects:
            raise ValueError('off_topic = "refuse" needs to know what the course is about: subjects = ["…"]')
        if any(not 1 <= len(subject) <= 200 for subject in self.subjects):
            raise ValueError("a subject should have 1 to 200 characters")

    @property
    def refused_beside(self) -> tuple[str, ...]:
        """Return the subjects beside which questions are refused; none if all are answered."""
        return self.subjects if self.off_topic == "refuse" else ()


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The server `lmm serve`: who may ask, how much, and how it presents itself. Of texts and language, "" means ours.

    Further options are for code. `empty`, `too_long` and `off_topic`: the replies to such questions, in the language
    of the texts. `max_question`: characters that a question may have. `idle_timeout`: seconds in which nothing of an
    answer may come; `search_timeout`: seconds for searching the notes, of which each model that helps has a quarter."""

    title: str = key("", 'the name on its page and box; "": that of the course', max_length=200)
    greeting: str = key("", "what is said before the first question", max_length=1000)
    language: str = key("", 'of its texts: "en", "de", "fr", "es" or "it"; "": of the first page', checked_language)
    origins: _Keys = key((), 'sites whose pages may ask, beside its own: "https://course.example.org"', checked_origins)
    hosts: _Keys = key((), 'names by which it is reached: "ask.example.org"', checked_hosts)
    proxies: _Keys = key(("127.0.0.1", "::1"), "addresses of reverse proxies, which say who asks", checked_addresses)
    rate: int = key(20, "questions a minute from one address", ge=1)
    concurrency: int = key(50, "answers, and requests to a model, at the same time", ge=1)
    timeout: float = key(120.0, "seconds for an answer", gt=0, allow_inf_nan=False)
    record: Literal["off", "questions", "conversations"] = key(
        "off", "what is kept for `lmm asked`, without who asked; the pages say so"
    )
    keep_days: int = key(365, "days after which what is recorded is deleted", ge=1, le=36_500)
    privacy: str = key(
        "", "where readers learn more of that: an address, or a page of the site", checked_page, max_length=1000
    )
    empty: str = ""
    too_long: str = ""
    off_topic: str = ""
    max_question: int = 2000
    idle_timeout: float = 45.0
    search_timeout: float = 20.0

    @property
    def patience(self) -> float:
        """The seconds for each model that helps with a search: queries, embedding, reranker."""
        return self.search_timeout / 4


# The file


@dataclass
class MarkdownTables:
    """The tables of LM markdown."""

    spelling: Spelling = key("div", 'of new blocks in documents without any: "div", "native" or "comment"')
    major: Annotated[ModelOptions, TABLE] = key(ModelOptions(), "the model for chats and edits")
    minor: Annotated[ModelOptions, TABLE] = key(ModelOptions(), "the model for annotations")
    aux: Annotated[ModelOptions, TABLE] = key(ModelOptions(), "the model for small helps")
    RAG: Annotated[ScanOpts, TABLE] = key(ScanOpts(), "which annotations are made")
    prompts: Annotated[PromptFiles, TABLE] = key(
        PromptFiles(), 'files with prompts in your own words, like "_prompts/chat.md": lmm config prompts'
    )
    knit: Annotated[KnitOptions, TABLE] = key(KnitOptions(), "what is left out of the lecture notes")
    files: Annotated[FilePatterns, TABLE] = key(FilePatterns(), "which documents of a folder are taken")
    sources: Mapping[str, Annotated[SourceOptions, TABLE]] = field(
        default_factory=dict, metadata={"description": "servers of models, beside those that are known"}
    )


@dataclass
class ConfigTables(MarkdownTables):
    """The tables of LM markdown and of LM markdown for education: all that the file can have."""

    embeddings: Annotated[EmbeddingOptions, TABLE] = key(EmbeddingOptions(), "the model that makes vectors of texts")
    storage: Annotated[StorageOptions, TABLE] = key(StorageOptions(), "where the index is")
    database: Annotated[DatabaseOptions, TABLE] = key(DatabaseOptions(), "the collections of the index")
    split: Annotated[SplitOpts, TABLE] = key(SplitOpts(), "how texts are cut into chunks")
    retrieve: Annotated[RetrieveOptions, TABLE] = key(RetrieveOptions(), "what a search knows beside the notes")
    ask: Annotated[AskOptions, TABLE] = key(AskOptions(), "how questions are answered")
    serve: Annotated[ServeOptions, TABLE] = key(ServeOptions(), "who may ask the server, and how much")


def table_class(section: str) -> type | None:
    """Return the class of a table of the file, by its name; for `sources`, that of one source."""
    if section == "sources":
        return SourceOptions
    kind = _hints(ConfigTables).get(section)
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


def section_keys(section: str) -> dict[str, Field[Any]]:
    """Return the keys of a table of the file, {} if it has none."""
    table = table_class(section)
    return keys_of(table) if table else {}


def key_type(keys: Sequence[str]) -> Any:
    """Return the type of a key of the file as the file has it: a list for a tuple; None if there is no such key."""
    section, *rest = keys
    names = rest[-1:] if len(rest) == (2 if section == "sources" else 1) else []
    if section == "spelling" and not rest:
        return Spelling
    table = table_class(section)
    return listed(_hints(table)[names[0]]) if table and names and names[0] in keys_of(table) else None


def listed(hint: Any) -> Any:
    """Return the type that a value has in a file: a list for a tuple, and a table of anything for a mapping."""
    origin = get_origin(hint)
    if origin is tuple:
        return list[get_args(hint)[0]]  # type: ignore[misc]
    return dict[str, Any] if isinstance(origin, type) and issubclass(origin, Mapping) else hint


def words_of(table: type, name: str) -> tuple[str, ...]:
    """Return the words that a key may be, () if it is no choice of words."""
    return tuple(word for word in get_args(_hints(table)[name]) if isinstance(word, str))


SECTIONS = keys_of(ConfigTables)
