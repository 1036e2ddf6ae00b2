"""The sections of `config.toml`, as pydantic models with their defaults."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator
from pydantic.fields import FieldInfo

from ..files.gitignore import pattern_problem
from ..models.openai.extra import checked_extra
from ..models.own_prompts.known import KNOWN
from ..models.sources import ModelSource, RequestLimits, Sampling
from ..models.trust import VARIABLE

MOST_PRICE = 1e9  # of a million tokens: more is a slip, and cannot be counted with


class _Section(BaseModel):
    """A table of the file: unknown keys and values of another type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())


class ModelSettings(_Section):
    """A language model and the requests to it: `[major]`, `[minor]`, `[aux]`."""

    model: str = Field(default="default", description='"source/model", a source alone ("openai"), or "default"')
    timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False, description="seconds for one request")
    max_retries: int = Field(default=2, ge=0, description="further attempts after a request that failed")
    max_concurrency: int = Field(default=16, ge=1, description="requests at the same time")
    context_tokens: int = Field(
        default=100_000, ge=1000, description="tokens that a chat or an edit may send: less for small models"
    )
    max_tokens: int = Field(default=0, ge=0, description="tokens that a reply may have; 0: by what is asked")
    temperature: float = Field(
        default=-1.0, ge=-1, le=2, description="0 to 2: how freely replies are worded; -1: as the server has it"
    )
    extra: dict[str, Any] = Field(default={}, description="further parameters of the provider: { top_p = 0.9 }")

    @field_validator("extra")
    @classmethod
    def _can_be_sent(cls, extra: dict[str, Any]) -> dict[str, Any]:
        return checked_extra(extra)

    def limits(self) -> RequestLimits:
        """Return the limits and the parameters of requests."""
        sampling = Sampling(self.max_tokens, self.temperature if self.temperature >= 0 else None, self.extra)
        return RequestLimits(self.timeout, self.max_retries, self.max_concurrency, self.context_tokens, sampling)


class RagSettings(_Section):
    """The annotations to make, and the length of text that gets them: `[RAG]`."""

    titles: bool = Field(default=False, description="the path of titles of each section")
    questions: bool = Field(default=True, description="the questions that a section answers")
    summaries: bool = Field(default=True, description="a summary of each section")
    questions_threshold: int = Field(default=15, ge=0, description="words from which on a section gets questions")
    summary_threshold: int = Field(default=50, ge=0, description="words from which on a section gets a summary")
    follow_prompts: bool = Field(default=True, description="make again what another prompt of [prompts] made")


class PromptSettings(_Section):
    """Files with prompts in your own words, from the project's root: `[prompts]`."""

    questions: str = Field(default="", description=KNOWN["questions"].purpose)
    summary: str = Field(default="", description=KNOWN["summary"].purpose)
    annotations: str = Field(default="", description=KNOWN["annotations"].purpose)
    chat: str = Field(default="", description=KNOWN["chat"].purpose)
    edit: str = Field(default="", description=KNOWN["edit"].purpose)
    queries: str = Field(default="", description=KNOWN["queries"].purpose)
    rerank: str = Field(default="", description=KNOWN["rerank"].purpose)
    answer: str = Field(default="", description=KNOWN["answer"].purpose)
    plan: str = Field(default="", description=KNOWN["plan"].purpose)
    llmd: str = Field(default="", description=KNOWN["llmd"].purpose)


class KnitSettings(_Section):
    """The rules for leaving parts out of the lecture notes: `[knit]`."""

    div_types: list[str] = Field(
        default=[], description='more classes of fenced divs that are RAG-only; "-exercise" takes one out'
    )
    keep: list[str] = Field(default=[], description="types that stay in the notes")
    allowed_words: list[str] = Field(
        default=[], description="classes and keys that are meant as they stand, however near to a type or key of ours"
    )


class FileSettings(_Section):
    """The documents of the project's folders: `[files]`."""

    include: list[str] = Field(
        default=[], description="patterns as in .gitignore: which documents of a folder are taken; [] for the default"
    )
    exclude: list[str] = Field(default=[], description="patterns as in .gitignore: which of them are left out")

    @field_validator("include", "exclude")
    @classmethod
    def _are_patterns(cls, patterns: list[str]) -> list[str]:
        if problem := next(filter(None, map(pattern_problem, patterns)), ""):
            raise ValueError(problem)
        return patterns


class SourceSettings(_Section):
    """A server that speaks the OpenAI protocol: `[sources.NAME]`."""

    base_url: str = Field(description="its address, with http:// or https://")
    key_variable: str = Field(
        default="", description="the NAME of the environment variable that holds the key; lmm trust lets it go there"
    )
    chat_model: str = Field(default="", description="the chat model to use if none is named")
    embedding_model: str = Field(default="", description="the embedding model to use if none is named")
    price: list[float] = Field(
        default=[], description="of a million tokens: [sent, received]; lmm rag --dry-run shows what a run costs"
    )
    # The config.toml that names the server or the variable, and the one that names the server.
    # Both are "" if the person names them: `models.trust` decides by them where a key may go.
    _file: str = PrivateAttr("")
    _server_file: str = PrivateAttr("")

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        return _checked_url(url)

    @field_validator("key_variable")
    @classmethod
    def _is_variable(cls, name: str) -> str:
        # Only capitals: a key that somebody puts here by mistake is not such a name.
        if name and not VARIABLE.fullmatch(name):
            raise ValueError("should be the name of an environment variable (A-Z, 0-9, _), never the key itself")
        return name

    @field_validator("price")
    @classmethod
    def _is_price(cls, price: list[float]) -> list[float]:
        if price and (len(price) != 2 or not all(0 <= one <= MOST_PRICE for one in price)):
            raise ValueError("should be two numbers, of a million tokens sent and of a million received: [0.15, 0.6]")
        return price

    def as_source(self, name: str) -> ModelSource:
        """Return the source that requests are sent to."""
        models = (self.chat_model, self.embedding_model)
        files = (self._file, self._server_file)
        return ModelSource(name, self.base_url, self.key_variable, *models, *files, tuple(self.price))


class EmbeddingSettings(_Section):
    """The model and the encoding that turn texts into vectors: `[embeddings]`."""

    dense_model: str = Field(
        default="default", description='"source/model", "fastembed/MODEL", a source alone, or "default"'
    )
    sparse_model: Literal["Qdrant/bm25", "prithivida/Splade_PP_en_v1"] = Field(
        default="Qdrant/bm25",
        description='of words: "Qdrant/bm25" (any language), or "prithivida/Splade_PP_en_v1" (English, 0.5 GB)',
    )
    encoding: Literal[
        "default", "none", "content", "merged", "multivector", "sparse", "sparse_content", "sparse_merged",
        "sparse_multivector", "bm25", "hybrid",
    ] = Field(default="default", description="default: hybrid with an embedding model, else bm25")  # fmt: skip
    annotations: list[str] = Field(
        default=["titles", "questions"], description="metadata that is encoded with a text: its own, else inherited"
    )
    own_annotations: list[str] = Field(default=[], description="metadata that is encoded with a text only if its own")
    language: str = Field(default="", description='of texts whose header has no `lang` ("en", "de"); "": recognized')


class StorageSettings(_Section):
    """The place of the index: `[storage]`."""

    folder: str = Field(default=".lmm/index", min_length=1, description="folder of the index, from the project's root")
    url: str = Field(default="", description="address of a Qdrant server; if given, the folder is not used")
    port: int = Field(default=0, ge=0, le=65535, description="port of the server, if its address has none; 0: 6333")
    memory: bool = Field(default=False, description="keep the index in memory, for this run only")
    timeout: float = Field(default=30.0, gt=0, allow_inf_nan=False, description="seconds for one request to the server")
    prefer_grpc: bool = Field(default=False, description="speak gRPC with the server")
    on_disk: bool = Field(default=False, description="vectors on the server's disk")
    quantization: bool = Field(default=False, description="scalar quantization on the server")
    shard_number: int = Field(default=1, ge=1, description="shards of new collections on the server")
    replication_factor: int = Field(default=1, ge=1, description="replicas of new collections on the server")
    _file: str = PrivateAttr("")

    @property
    def file(self) -> str:
        """The path of the `config.toml` that names the server, or "" if the person names it."""
        return self._file

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        return _checked_url(url) if url else url


class DatabaseSettings(_Section):
    """The collections of the index: `[database]`."""

    collection_name: str = Field(default="chunks", min_length=1, description="collection that is searched")
    companion_collection: str = Field(default="documents", min_length=1, description="collection of the texts around")
    companion_encoding: Literal["none", "content", "merged", "bm25", "hybrid"] = Field(
        default="none", description="encoding of the texts around; none: they are found by their chunks"
    )


class SplitSettings(_Section):
    """The sizes of chunks: `[split]`."""

    splitter: Literal["default", "none"] = Field(default="default", description="none: each text block stays whole")
    size: int = Field(default=1000, ge=1, description="characters that a chunk should have")
    max_size: int = Field(default=2000, ge=1, description="characters that a chunk may have")
    overlap: int = Field(default=0, ge=0, description="characters that a chunk repeats of the one before")
    unit: Literal["characters", "tokens"] = Field(default="characters", description="the unit of the sizes")
    short: int = Field(default=120, ge=0, description="texts of fewer characters are pooled with their neighbours")
    documents: int = Field(default=0, ge=-1, description="0: sections; N: of at most N characters; -1: none")

    @model_validator(mode="after")
    def _fit(self) -> SplitSettings:
        if self.max_size < self.size:
            raise ValueError(f"max_size ({self.max_size}) should be at least size ({self.size})")
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) should be less than size ({self.size})")
        return self


class RetrieveSettings(_Section):
    """What a search knows beside the notes: `[retrieve]`."""

    synonyms: dict[str, list[str]] = Field(
        default={},
        description='names that mean the same: { SD = "standard deviation", MLM = ["mixed model", "HLM"] }',
        json_schema_extra={"additionalProperties": {"type": ["string", "array"], "items": {"type": "string"}}},
    )

    @field_validator("synonyms", mode="before")
    @classmethod
    def _are_names(cls, synonyms: Any) -> Any:
        if not isinstance(synonyms, dict):
            return synonyms
        lists = {name: others if isinstance(others, list) else [others] for name, others in synonyms.items()}
        for name, others in lists.items():
            for one in (name, *others):
                if not isinstance(one, str) or not re.search(r"\w", one):
                    raise ValueError(
                        f"should be a word or a list of words for each word, not {one!r:.60} for {name!r:.60}"
                    )
        return lists


class AskSettings(_Section):
    """The ways of answering questions: `[ask]`."""

    system: str = Field(
        default="",
        max_length=10_000,
        description="how answers should sound, in the teacher's words; the rules on sources and refusal hold",
    )
    queries: Literal["default", "keywords", "model"] = Field(
        default="default", description="how a question is searched for; default: model if one is named"
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
    off_topic: Literal["answer", "refuse"] = Field(
        default="answer", description="what to do with questions about something else than `subjects`; a model tells"
    )
    subjects: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default=[], max_length=50, description='of the course: ["descriptive statistics", "linear models"]'
    )

    @model_validator(mode="after")
    def _knows_the_subjects(self) -> AskSettings:
        if self.off_topic == "refuse" and not self.subjects:
            raise ValueError('off_topic = "refuse" needs to know what the course is about: subjects = ["…"]')
        return self


# Headers that browsers send, or that say something else.
_NO_NAMES = ("authorization", "connection", "cookie", "host", "origin", "referer", "x-forwarded-for")


class ServeSettings(_Section):
    """The texts of `lmm serve`, who may ask it, and how much: `[serve]`."""

    title: str = Field(default="", max_length=200, description='the name on its page and box; "": ours')
    description: str = Field(default="", max_length=1000, description="what its page says below the title")
    greeting: str = Field(default="", max_length=1000, description="what is said before the first question")
    empty: str = Field(default="", max_length=1000, description='the reply to an empty question; "": ours')
    too_long: str = Field(
        default="", max_length=1000, description='the reply to a question that is too long; "": ours; {most}: the limit'
    )
    off_topic: str = Field(
        default="", max_length=1000, description='the reply to a question about something else; "": ours'
    )
    language: str = Field(
        default="", description='of the texts that are ours: "en", "de", "fr", "es" or "it"; "": of the first page'
    )
    origins: list[str] = Field(
        default=[], description='sites whose pages may ask, beside its own: "https://course.example.org"'
    )
    hosts: list[str] = Field(default=[], description='names by which it is reached: "ask.example.org"')
    proxies: list[str] = Field(
        default=["127.0.0.1", "::1"], description="addresses of reverse proxies, which say who asks"
    )
    user_header: str = Field(
        default="", description='header in which they name the user who has signed in: "X-Forwarded-User"; "": none'
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
        description="seconds for searching the notes; each model that helps has a quarter of it",
    )  # fmt: skip
    record: Literal["off", "questions", "conversations"] = Field(
        default="off", description="what is kept for `lmm asked`, without who asked; the pages say so"
    )
    keep_days: int = Field(default=365, ge=1, le=36_500, description="days after which what is recorded is deleted")
    privacy: str = Field(
        default="", max_length=1000, description="where readers learn more of that: an address, or a page of the site"
    )
    connections: int = Field(
        default=1000, ge=16, description="connections at the same time; fewer if few files may be open"
    )
    small_groups: bool = Field(
        default=False, description="the dashboard shows what was asked in fewer than 3 conversations, too"
    )

    @field_validator("language")
    @classmethod
    def _is_language(cls, language: str) -> str:
        if language and not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}", language):
            raise ValueError(f'should be the code of a language ("en", "de-CH"), not {language!r:.60}')
        return language

    @field_validator("privacy")
    @classmethod
    def _is_address(cls, privacy: str) -> str:
        if privacy and not (_is_url(privacy) or _is_page(privacy)):
            raise ValueError(
                "should be an address (https://example.org/privacy) or a page of the site (privacy.html), "
                f"not {privacy!r:.60}"
            )
        return privacy

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

    @field_validator("user_header")
    @classmethod
    def _is_header(cls, name: str) -> str:
        if name and (not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}", name) or name.lower() in _NO_NAMES):
            raise ValueError("should be a header that only the proxy sets, like X-Forwarded-User")
        return name

    @model_validator(mode="after")
    def _has_proxies(self) -> ServeSettings:
        if self.user_header and not self.proxies:
            raise ValueError("user_header needs proxies: without any, nobody could ask")
        return self

    @field_validator("proxies")
    @classmethod
    def _are_addresses(cls, proxies: list[str]) -> list[str]:
        for proxy in proxies:
            try:
                ip_network(proxy)
            except ValueError:
                raise ValueError(f"should be addresses like 10.0.0.7 or 10.0.0.0/24, not {proxy!r:.60}") from None
        return proxies


# Addresses


def _checked_origin(origin: str) -> str:
    """Return scheme, host and port as a browser sends them; `null` stands for pages opened as files."""
    if origin == "null":
        return origin
    if not _is_url(origin) or urlsplit(origin).path:
        raise ValueError(f"should be sites like https://course.example.org (or null), without a path, not {origin:.60}")
    return origin.lower()


def _is_url(url: str) -> bool:
    try:
        return bool(_checked_url(url))
    except ValueError:
        return False


def _is_page(path: str) -> bool:
    """Return True if a text is the path of a page from the root of its site, perhaps with an anchor."""
    name = re.fullmatch(r"[\w./ -]+(?:#[\w.-]+)?", path)
    return name is not None and path[:1] not in "/ #" and ".." not in path.split("/")


def _checked_url(url: str) -> str:
    """Return the address. Raise ValueError, which does not repeat it, if clients could misread it."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        # Clients differ in how they read `\` and white space in an address.
        good = good and re.fullmatch(r"[!-\[\]-~]+", url) is not None
    except ValueError:
        good = False
    if not good:
        raise ValueError("should be an address that begins with http:// or https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("should be an address alone, without user, password, `?` or `#`")
    return url


# The file


class MarkdownSections(BaseModel):
    """The sections of LM markdown."""

    spelling: Literal["div", "native", "comment"] = Field(
        default="div", description='of new blocks in documents without any: "div", "native" or "comment"'
    )
    major: ModelSettings = Field(default=ModelSettings(), description="the model for chats and edits")
    minor: ModelSettings = Field(default=ModelSettings(), description="the model for annotations")
    aux: ModelSettings = Field(default=ModelSettings(), description="the model for small helps")
    RAG: RagSettings = Field(default=RagSettings(), description="which annotations are made")
    prompts: PromptSettings = Field(
        default=PromptSettings(),
        description='files with prompts in your own words, like "_prompts/chat.md": lmm prompts list',
    )
    knit: KnitSettings = Field(default=KnitSettings(), description="what is left out of the lecture notes")
    files: FileSettings = Field(default=FileSettings(), description="which documents of a folder are taken")
    sources: dict[str, SourceSettings] = Field(default={}, description="servers of models, beside those that are known")


class EducationSections(MarkdownSections):
    """The sections of LM markdown and of LM markdown for education: all that the file can have."""

    embeddings: EmbeddingSettings = Field(
        default=EmbeddingSettings(), description="the model that makes vectors of texts"
    )
    storage: StorageSettings = Field(default=StorageSettings(), description="where the index is")
    database: DatabaseSettings = Field(default=DatabaseSettings(), description="the collections of the index")
    split: SplitSettings = Field(default=SplitSettings(), description="how texts are cut into chunks")
    retrieve: RetrieveSettings = Field(default=RetrieveSettings(), description="what a search knows beside the notes")
    ask: AskSettings = Field(default=AskSettings(), description="how questions are answered")
    serve: ServeSettings = Field(default=ServeSettings(), description="who may ask the server, and how much")


def section_fields(section: str) -> dict[str, FieldInfo]:
    """Return the fields of a section by name (of one source, for `sources`), {} if it has none."""
    if section == "sources":
        return dict(SourceSettings.model_fields)
    info = EducationSections.model_fields.get(section)
    annotation = info.annotation if info else None
    return dict(annotation.model_fields) if isinstance(annotation, type) and issubclass(annotation, BaseModel) else {}
