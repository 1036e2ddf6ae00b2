"""Define the tables of `config.toml`: keys, defaults and descriptions.

Without pydantic, because most runs read no settings, and importing it takes longer than most filters run.
`settings.config` validates them with pydantic: field metadata are arguments of `Field`. A field without description is
no key of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from ipaddress import ip_network
from typing import Any, Literal

from ..files.gitignore import pattern_problem
from ..markdown.blocks import Spelling
from ..markdown.visibility import KnitRules
from ..models.addresses import TRUST_VARIABLE
from ..models.names import DEFAULT, PURPOSES
from ..models.sources import EXTRA_PARAMETERS, ModelSource, RequestLimits, Sampling

CONFIG_NAME = "config.toml"
PREFIX = "LMM_"
TOKEN_VARIABLE = "LMM_SERVE_TOKEN"  # the token required by `lmm serve`
IN_COURSE = "LMM_IN_COURSE"  # 1 in a render by `lmm course`
# Internal runs, a secret, and the user's trust
_NO_SETTINGS = ("LMM_INNER", IN_COURSE, TOKEN_VARIABLE, TRUST_VARIABLE)

SizeUnit = Literal["characters", "tokens"]
Keys = tuple[str, ...]  # a value's path: ("RAG", "questions"), ("sources", "lab", "base_url")
_Texts = tuple[str, ...]
_Check = Callable[[str], str]  # returns a text's fault, or ""
_HOST = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"


def key(default: Any, description: str, check: _Check | None = None, **rules: Any) -> Any:
    """Return a field for a key of the file.

    check: of the text, or of each
    rules: of pydantic's `Field`, like `ge`"""
    return field(default=default, metadata={"description": description, "check": check, **rules})


def keys_of(table: type) -> dict[str, Field[Any]]:
    """Return a table's fields that are keys of the file."""
    return {item.name: item for item in fields(table) if "description" in item.metadata}


# Checks. None repeats the text, which may be a misplaced key.


def _matching(pattern: str, meaning: str) -> _Check:
    """Return a check for empty texts or matches of a pattern. meaning: of such texts."""
    return lambda text: "" if not text or re.fullmatch(pattern, text) else f"should be {meaning}"


_URL = _matching(
    # Clients differ in how they read `\\` and white space in an address.
    rf"(?i:https?)://{_HOST}(?::[0-9]{{1,5}})?(?:/[!-\"$->@-\[\]-~]*)?",
    "an address that begins with http:// or https://, without user, password, `?` or `#`",
)
_VARIABLE = _matching("[A-Z_][A-Z0-9_]*", "the name of an environment variable (A-Z, 0-9, _), never the key itself")
_LANGUAGE = _matching(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}", 'the code of a language ("en", "de-CH")')
_PAGE = _matching(
    r"https?://[!-~]+|(?!.*\.\.)[\w.][\w./ -]*(?:#[\w.-]+)?",
    "an address (https://example.org/privacy) or a page of the site (privacy.html)",
)
_COLOR = _matching("#[0-9A-Fa-f]{6}|[a-z]+", 'a colour like "#7a1f5c" or "teal"')
_ORIGIN = _matching(
    rf"null|https?://{_HOST}(?::[0-9]{{1,5}})?", "a site like https://course.example.org (or null), without a path"
)


def _folder(path: str) -> str:
    """Refuse `~`, which only shells expand: it could become a project's folder of that name."""
    return "should be a folder in the project: `~` does not mean the home folder here" if path.startswith("~") else ""


def _network(address: str) -> str:
    try:
        ip_network(address)
    except ValueError:
        return "should be an address like 10.0.0.7 or 10.0.0.0/24"
    return ""


# The tables


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A language model and requests to it: `[major]`, `[minor]`, `[aux]`."""

    model: str = key(DEFAULT, '"source/model", a source alone ("openai"), or "default"')
    timeout: float = key(60.0, "seconds for one request", gt=0, allow_inf_nan=False)
    max_retries: int = key(2, "further attempts after a request that failed", ge=0)
    max_concurrency: int = key(16, "requests at the same time", ge=1)
    context_tokens: int = key(100_000, "most tokens that a chat or an edit sends; less for small models", ge=1000)
    max_tokens: int = key(0, "most tokens of a reply; 0: depends on the task", ge=0)
    temperature: float = key(-1.0, "0 to 2: how freely replies are worded; -1: the server's default", ge=-1, le=2)
    extra: Mapping[str, Any] = field(
        default_factory=dict, metadata={"description": "further parameters of the provider: { top_p = 0.9 }"}
    )

    def __post_init__(self) -> None:
        if other := sorted(self.extra.keys() - EXTRA_PARAMETERS):
            raise ValueError(f"extra may hold {', '.join(sorted(EXTRA_PARAMETERS))}; not {', '.join(other)}")

    def limits(self) -> RequestLimits:
        """Return the limits and parameters of requests."""
        sampling = Sampling(self.max_tokens, self.temperature if self.temperature >= 0 else None, self.extra)
        return RequestLimits(self.timeout, self.max_retries, self.max_concurrency, self.context_tokens, sampling)


@dataclass(frozen=True, slots=True)
class ScanOpts:
    """The annotations that are made, and from how many words on: `[RAG]`."""

    titles: bool = key(False, "the path of titles of each section")
    questions: bool = key(True, "the questions that a section answers")
    summaries: bool = key(True, "a summary of each section")
    questions_threshold: int = key(15, "fewest words of a section that gets questions", ge=0)
    summary_threshold: int = key(50, "fewest words of a section that gets a summary", ge=0)


@dataclass(frozen=True, slots=True)
class SplitOpts:
    """The sizes of chunks, and of the documents around them that a search returns: `[split]`.

    `rules` say which divs are RAG-only."""

    size: int = key(1000, "characters of a usual chunk", ge=1)
    max_size: int = key(2000, "most characters of a chunk", ge=1)
    overlap: int = key(0, "characters repeated from the chunk before", ge=0)
    unit: SizeUnit = key("characters", "unit of these sizes")
    documents: int = key(0, "0: sections; N: of at most N characters", ge=0)
    rules: KnitRules = field(default_factory=KnitRules)

    def __post_init__(self) -> None:
        if self.max_size < self.size:
            raise ValueError(f"max_size ({self.max_size}) should be at least size ({self.size})")
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) should be less than size ({self.size})")


@dataclass(frozen=True, slots=True)
class PromptFiles:
    """Files with the writer's prompts, from the project's root: `[prompts]`."""

    questions: str = key("", PURPOSES["questions"])
    summary: str = key("", PURPOSES["summary"])
    chat: str = key("", PURPOSES["chat"])
    edit: str = key("", PURPOSES["edit"])
    answer: str = key("", PURPOSES["answer"])


@dataclass(frozen=True, slots=True)
class KnitOptions:
    """The rules for leaving parts out of the lecture notes: `[knit]`."""

    div_types: _Texts = key((), 'more classes of fenced divs that are RAG-only; "-exercise" takes one out')
    keep: _Texts = key((), "types that stay in the notes")
    allowed_words: _Texts = key((), "classes and keys that are no typing errors, although near to a type or key")


@dataclass(frozen=True, slots=True)
class FilePatterns:
    """The documents of the project's folders: `[files]`. Patterns start from the project's root."""

    include: _Texts = key((), "patterns as in .gitignore: documents to take; [] for the default", pattern_problem)
    exclude: _Texts = key((), "patterns as in .gitignore: documents to leave out", pattern_problem)


@dataclass(frozen=True, slots=True)
class SiteOptions:
    """The site that pandoc makes of the course: `[site]`. Quarto has its own settings."""

    title: str = key("", 'of the course; "": that of its first page')
    author: str = key("", "named at the foot of each page")
    date: str = key("", "shown beside the author, as written")
    footer: str = key("", "further text at the foot of each page, such as a licence")
    favicon: str = key("", 'a picture in the course: "figures/icon.svg"', _folder)
    color: str = key("", 'of links and the head: "#7a1f5c"', _COLOR)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """A server that speaks the OpenAI protocol: `[sources.NAME]`.

    file: the config.toml that names the server or the variable; server_file: the one that names the server; "" if
    the person does. `models.addresses` uses them to decide where a key may go."""

    base_url: str = field(metadata={"description": "its address, with http:// or https://", "check": _URL})
    key_variable: str = key(
        "",
        "the NAME of the environment variable that holds the key",
        _VARIABLE,
    )
    chat_model: str = key("", "the chat model to use if none is named")
    embedding_model: str = key("", "the embedding model to use if none is named")
    file: str = ""
    server_file: str = ""

    def as_source(self, name: str) -> ModelSource:
        """Return the source that requests are sent to."""
        models = (self.chat_model, self.embedding_model)
        files = (self.file, self.server_file)
        return ModelSource(name, self.base_url, self.key_variable, *models, *files)


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """The model and encoding of vectors: `[embeddings]`."""

    dense_model: str = key(DEFAULT, '"source/model", "fastembed/MODEL", a source alone, or "default"')
    encoding: Literal[
        "default", "none", "content", "merged", "multivector", "sparse", "sparse_content", "sparse_merged",
        "sparse_multivector", "bm25", "hybrid",
    ] = key(DEFAULT, "default: hybrid with an embedding model, else bm25")  # fmt: skip
    annotations: _Texts = key(("titles", "questions"), "metadata encoded with a text: its own, else inherited")
    own_annotations: _Texts = key((), "metadata encoded with a text only if its own")
    language: str = key("", 'of texts whose header has no `lang` ("en", "de"); "": recognized')


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """The place of the index: `[storage]`.

    file: the config.toml that names the server, "" if the person does"""

    folder: str = key(".lmm/index", "folder of the index, from the project's root", _folder, min_length=1)
    url: str = key("", "address of a Qdrant server; if given, the folder is not used", _URL)
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

    synonyms: Mapping[str, str | tuple[str, ...]] = field(
        default_factory=dict,
        metadata={
            "description": 'names that mean the same: { SD = "standard deviation", MLM = ["mixed model", "HLM"] }',
        },
    )

    def __post_init__(self) -> None:
        for name, others in self.synonyms.items():
            for word in (name, others) if isinstance(others, str) else (name, *others):
                if not re.search(r"\w", word):
                    raise ValueError(f"synonyms should hold words, not {word!r:.60} for {name!r:.60}")


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The ways of answering questions: `[ask]`."""

    system: str = key(
        "", "how answers should sound, in the teacher's words; the rules on sources and refusal hold", max_length=10_000
    )
    queries: Literal["default", "keywords", "model"] = key(
        DEFAULT, "how search queries are made; default: by a model if one is named"
    )
    rerank: str = key("none", '"none", "model", "fastembed/MODEL" (a cross-encoder)')
    budget: int = key(1000, "tokens of the notes that the model sees", ge=200)
    tool_calls: int = key(4, "how often the model may look further into the notes", ge=0)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The server `lmm serve`: who may ask, how much, and how it presents itself. Of texts and language, "" means ours.

    Further options are for code. `empty` and `too_long`: the replies to such questions, in the language of the
    texts. `max_question`: characters that a question may have. `idle_timeout`: seconds in which nothing of an
    answer may come; `search_timeout`: seconds for searching the notes, of which each model that helps has a quarter."""

    title: str = key("", 'the name on its page and box; "": that of the course', max_length=200)
    greeting: str = key("", "text before the first question", max_length=1000)
    language: str = key("", 'of its texts: "en", "de", "fr", "es" or "it"; "": of the first page', _LANGUAGE)
    origins: _Texts = key((), 'sites whose pages may ask, beside its own: "https://course.example.org"', _ORIGIN)
    hosts: _Texts = key(
        (), 'names by which it is reached: "ask.example.org"', _matching(_HOST, "a name without scheme, port and path")
    )
    proxies: _Texts = key(("127.0.0.1", "::1"), "addresses of reverse proxies, which say who asks", _network)
    rate: int = key(20, "questions a minute from one address", ge=1)
    concurrency: int = key(50, "answers, and requests to a model, at the same time", ge=1)
    timeout: float = key(120.0, "seconds for an answer", gt=0, allow_inf_nan=False)
    record: Literal["off", "questions", "conversations"] = key(
        "off", "what to record for `lmm asked`, without names; the pages say so"
    )
    keep_days: int = key(365, "days until a recording is deleted", ge=1, le=36_500)
    privacy: str = key("", "more about the recording: an address, or a page of the site", _PAGE, max_length=1000)
    empty: str = ""
    too_long: str = ""
    max_question: int = 2000
    idle_timeout: float = 45.0
    search_timeout: float = 20.0

    @property
    def patience(self) -> float:
        """The seconds for each model in a search: queries, embedding, reranker."""
        return self.search_timeout / 4


# The file


@dataclass
class ConfigTables:
    """The tables of the file."""

    spelling: Spelling = key("div", 'of new blocks in documents without any: "div", "native" or "comment"')
    major: ModelOptions = key(ModelOptions(), "the model for chats and edits")
    minor: ModelOptions = key(ModelOptions(), "the model for annotations")
    aux: ModelOptions = key(ModelOptions(), "the model for search queries and reranking")
    RAG: ScanOpts = key(ScanOpts(), "which annotations are written")
    prompts: PromptFiles = key(
        PromptFiles(), 'files with prompts in your own words, like "_prompts/chat.md": lmm config prompts'
    )
    knit: KnitOptions = key(KnitOptions(), "what is left out of the lecture notes")
    files: FilePatterns = key(FilePatterns(), "which documents of a folder are taken")
    site: SiteOptions = key(SiteOptions(), "the site made without Quarto")
    sources: Mapping[str, SourceOptions] = field(
        default_factory=dict, metadata={"description": "servers of models, beside those that are known"}
    )
    embeddings: EmbeddingOptions = key(EmbeddingOptions(), "the model that makes vectors of texts")
    storage: StorageOptions = key(StorageOptions(), "where the index is")
    database: DatabaseOptions = key(DatabaseOptions(), "the collections of the index")
    split: SplitOpts = key(SplitOpts(), "how texts are cut into chunks")
    retrieve: RetrieveOptions = key(RetrieveOptions(), "help for the search")
    ask: AskOptions = key(AskOptions(), "how questions are answered")
    serve: ServeOptions = key(ServeOptions(), "who may ask the server, and how much")


SECTIONS = keys_of(ConfigTables)


def is_setting(variable: str) -> bool:
    """Return True for variables that must be settings: all `LMM_…`, in any case, except `_NO_SETTINGS` and
    `LMM_TEST_…`."""
    name = variable.upper()
    return name.startswith(PREFIX) and name not in _NO_SETTINGS and not name.startswith("LMM_TEST_")


def table_class(section: str) -> type | None:
    """Return a table's class by name; for `sources`, of one source."""
    if section == "sources":
        return SourceOptions
    default = SECTIONS[section].default if section in SECTIONS else None
    return type(default) if is_dataclass(default) else None


def section_keys(section: str) -> dict[str, Field[Any]]:
    """Return a table's keys by name, {} if it has none."""
    table = table_class(section)
    return keys_of(table) if table else {}
