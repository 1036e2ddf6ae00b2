"""Define the tables of `config.toml`: keys, defaults and descriptions.

`settings.config` validates them with pydantic, which is slow to import. A field without a description cannot be set
in the file. Tables for models are in `models.sources` and `models.names`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, is_dataclass
from ipaddress import ip_network
from typing import Annotated, Any, Literal

from ..arguments import Checked, key, keys_of, matching
from ..files.gitignore import pattern_problem
from ..markdown.blocks import Spelling
from ..markdown.visibility import KnitRules
from ..models.addresses import HOST, TRUST_VARIABLE, Url
from ..models.names import DEFAULT, PromptFiles
from ..models.sources import ModelOptions, ModelSource

CONFIG_NAME = "config.toml"
PREFIX = "LMM_"
TOKEN_VARIABLE = "LMM_SERVE_TOKEN"  # holds the token that `lmm serve` requires
IN_COURSE = "LMM_IN_COURSE"  # 1 in a render by `lmm course`
# Variables that begin like settings: for internal runs, a secret, and the user's trust
_NO_SETTINGS = ("LMM_INNER", IN_COURSE, TOKEN_VARIABLE, TRUST_VARIABLE)

SizeUnit = Literal["characters", "tokens"]
Keys = tuple[str, ...]  # a value's path: ("RAG", "questions"), ("sources", "lab", "base_url")
_Texts = tuple[str, ...]


# Checks


_LANGUAGE = matching(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}", 'the code of a language ("en", "de-CH")')
_PAGE = matching(
    r"https?://[!-~]+|(?!.*\.\.)[\w.][\w./ -]*(?:#[\w.-]+)?",
    "an address (https://example.org/privacy) or a page of the site (privacy.html)",
)
_COLOR = matching("#[0-9A-Fa-f]{6}|[a-z]+", 'a colour like "#7a1f5c" or "teal"')
_Hosts = tuple[Annotated[str, matching(HOST, "a name without scheme, port and path")], ...]
_ORIGIN = matching(
    rf"null|https?://(?:{HOST})(?::[0-9]{{1,5}})?", "a site like https://course.example.org (or null), without a path"
)
# Only shells expand `~`: here it would be a folder in the project
_Folder = Annotated[str, matching("(?s)[^~].*", "a folder in the project: `~` does not mean the home folder here")]
_Origins = tuple[Annotated[str, _ORIGIN], ...]


def _check_pattern(pattern: str) -> str:
    if problem := pattern_problem(pattern):
        raise ValueError(problem)
    return pattern


def _check_network(address: str) -> str:
    try:
        ip_network(address)
    except ValueError:
        raise ValueError("should be an address like 10.0.0.7 or 10.0.0.0/24") from None
    return address


_Patterns = tuple[Annotated[str, Checked(_check_pattern)], ...]
_Networks = tuple[Annotated[str, Checked(_check_network)], ...]


# The tables


@dataclass(frozen=True, slots=True)
class ScanOpts:
    """Which annotations are made, and for sections of how many words: `[RAG]`."""

    titles: bool = key(False, "the titles that lead to each section")
    questions: bool = key(True, "the questions that a section answers")
    summaries: bool = key(True, "a summary of each section")
    questions_threshold: int = key(15, "words that a section must have to get questions", ge=0)
    summary_threshold: int = key(50, "words that a section must have to get a summary", ge=0)


@dataclass(frozen=True, slots=True)
class SplitOpts:
    """The sizes of chunks, and of the documents around them that a search returns: `[split]`.

    `rules` say which divs are RAG-only."""

    size: int = key(1000, "usual size of a chunk", ge=1)
    max_size: int = key(2000, "largest size of a chunk", ge=1)
    overlap: int = key(0, "overlap with the chunk before", ge=0)
    unit: SizeUnit = key("characters", "unit of these sizes")
    documents: int = key(0, "0: sections; N: of at most N characters", ge=0)
    rules: KnitRules = field(default_factory=KnitRules)

    def __post_init__(self) -> None:
        if self.max_size < self.size:
            raise ValueError(f"max_size ({self.max_size}) should be at least size ({self.size})")
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) should be less than size ({self.size})")


@dataclass(frozen=True, slots=True)
class KnitOptions:
    """The rules for leaving parts out of the lecture notes: `[knit]`."""

    div_types: _Texts = key((), 'more classes of fenced divs that are RAG-only; "-exercise" takes one out')
    keep: _Texts = key((), "types that stay in the lecture notes")
    allowed_words: _Texts = key((), "classes and keys that resemble a type or key, but are no typing errors")


@dataclass(frozen=True, slots=True)
class FilePatterns:
    """The documents of the project's folders: `[files]`. Patterns start from the project's root."""

    include: _Patterns = key((), "patterns as in .gitignore: documents to use; [] for the default")
    exclude: _Patterns = key((), "patterns as in .gitignore: documents to leave out")


@dataclass(frozen=True, slots=True)
class SiteOptions:
    """The site that pandoc makes of the course: `[site]`. Quarto has its own settings."""

    title: str = key("", 'of the course; "": that of its first page')
    author: str = key("", "named at the foot of each page")
    date: str = key("", "shown beside the author, as written")
    footer: str = key("", "further text at the foot of each page, such as a licence")
    favicon: _Folder = key("", 'a picture in the course: "figures/icon.svg"')
    color: Annotated[str, _COLOR] = key("", 'of links and the head: "#7a1f5c"')


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """The model and encoding of vectors: `[embeddings]`."""

    dense_model: str = key(DEFAULT, '"source/model", "fastembed/MODEL", a source alone, or "default"')
    encoding: Literal[
        "default", "none", "content", "merged", "multivector", "sparse", "sparse_content", "sparse_merged",
        "sparse_multivector", "bm25", "hybrid",
    ] = key(DEFAULT, "default: hybrid with an embedding model, else bm25")  # fmt: skip
    annotations: _Texts = key(("titles", "questions"), "metadata encoded with a text: its own, or else inherited")
    own_annotations: _Texts = key((), "metadata encoded with a text only if it is the text's own")
    language: str = key("", 'of texts whose header has no `lang` ("en", "de"); "": recognized')


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """The place of the index: `[storage]`.

    file: the config.toml that names the server, or "" if the environment or code does
    """

    folder: _Folder = key(".lmm/index", "folder of the index, from the project's root", min_length=1)
    url: Url = key("", "address of a Qdrant server; if given, the folder is not used")
    port: int = key(0, "port of the server, if its address has none; 0: 6333", ge=0, le=65535)
    memory: bool = key(False, "keep the index in memory, for this run only")
    timeout: float = key(30.0, "seconds for one request to the server", gt=0, allow_inf_nan=False)
    file: str = ""


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """The collections of the index: `[database]`."""

    collection_name: str = key("chunks", "collection that is searched", min_length=1)
    companion_collection: str = key("documents", "collection of the sections that contain the chunks", min_length=1)


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
    """Settings of answers: `[ask]`."""

    system: str = key(
        "",
        "how answers should sound, in the teacher's words; the rules on sources and refusals hold",
        max_length=10_000,
    )
    queries: Literal["default", "keywords", "model"] = key(
        DEFAULT, "who makes search queries; default: a model if one is named"
    )
    rerank: str = key("none", '"none", "model", "fastembed/MODEL" (a cross-encoder)')
    budget: int = key(1000, "tokens of the notes that the model sees", ge=200)
    tool_calls: int = key(4, "how often the model may look up more in the notes", ge=0)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The server `lmm serve`: who may ask, how much, and how it presents itself. A text that is "" has a default.

    The last options can only be set in code.
    empty, too_long: replies to such questions
    max_question: in characters
    idle_timeout: seconds for which an answer may pause before it is stopped
    search_timeout: seconds for searching the notes; each model may use a quarter of them"""

    title: str = key("", 'the name on its page and box; "": that of the course', max_length=200)
    greeting: str = key("", "text before the first question", max_length=1000)
    language: Annotated[str, _LANGUAGE] = key(
        "", 'of its texts: "en", "de", "fr", "es" or "it"; "": that of most pages'
    )
    origins: _Origins = key((), 'other sites whose pages may ask: "https://course.example.org"')
    hosts: _Hosts = key((), 'host names of the server: "ask.example.org"')
    proxies: _Networks = key(("127.0.0.1", "::1"), "reverse proxies, which pass on the students' addresses")
    rate: int = key(20, "questions a minute from one address", ge=1)
    concurrency: int = key(50, "answers, and requests to a model, at the same time", ge=1)
    timeout: float = key(120.0, "seconds for an answer", gt=0, allow_inf_nan=False)
    record: Literal["off", "questions", "conversations"] = key(
        "off", "what to record for `lmm asked`, without names; the pages say so"
    )
    keep_days: int = key(365, "days until a recording is deleted", ge=1, le=36_500)
    privacy: Annotated[str, _PAGE] = key(
        "", "more about the recording: an address, or a page of the site", max_length=1000
    )
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


@dataclass(frozen=True, kw_only=True)
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
    files: FilePatterns = key(FilePatterns(), "which documents of a folder are used")
    site: SiteOptions = key(SiteOptions(), "the site made without Quarto")
    sources: Mapping[str, ModelSource] = field(default_factory=dict, metadata={"description": "more sources of models"})
    embeddings: EmbeddingOptions = key(EmbeddingOptions(), "the model that makes vectors of texts")
    storage: StorageOptions = key(StorageOptions(), "where the index is")
    database: DatabaseOptions = key(DatabaseOptions(), "the collections of the index")
    split: SplitOpts = key(SplitOpts(), "how texts are cut into chunks")
    retrieve: RetrieveOptions = key(RetrieveOptions(), "help for the search")
    ask: AskOptions = key(AskOptions(), "how questions are answered")
    serve: ServeOptions = key(ServeOptions(), "who may ask the server, and how much")


SECTIONS = keys_of(ConfigTables)


def is_setting(variable: str) -> bool:
    """Return True for a variable that has to be a setting, or is a mistake: `LMM_` in upper or lower case, except
    `_NO_SETTINGS` and `LMM_TEST_…`."""
    name = variable.upper()
    return name.startswith(PREFIX) and name not in _NO_SETTINGS and not name.startswith("LMM_TEST_")


def table_class(section: str) -> type | None:
    """Return a table's class, for `sources` of a single source, or None for a key without a table."""
    if section == "sources":
        return ModelSource
    default = SECTIONS[section].default if section in SECTIONS else None
    return type(default) if is_dataclass(default) else None


def section_keys(section: str) -> dict[str, Field[Any]]:
    """Return the keys of a table by name, or {} if the section is not a table."""
    table = table_class(section)
    return keys_of(table) if table else {}
