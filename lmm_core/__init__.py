"""LM markdown: notes in markdown, written together with a language model.

    annotate(paths)    write questions and summaries into documents
    knit(path)         return the lecture notes of a document, without exercises and metadata
    index(paths)       bring the index of a project up to date
    search(query)      return the best passages
    ask(question)      return an answer with its sources

These five work like the commands of `lmm`, with the settings of `config.toml`; `asearch` and `aask` are for
asynchronous code. All names are in docs/api.md, and loaded on first use, so that the import costs nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:  # for editors and type checkers (a test compares the names)
    from .api import aask as aask
    from .api import annotate as annotate
    from .api import asearch as asearch
    from .api import ask as ask
    from .api import index as index
    from .api import knit as knit
    from .api import search as search
    from .errors import ConfigError as ConfigError
    from .errors import LmmError as LmmError
    from .errors import MarkdownError as MarkdownError
    from .errors import ModelError as ModelError
    from .errors import ReportedError as ReportedError
    from .errors import RetrieveError as RetrieveError
    from .errors import StoreError as StoreError
    from .indexing.api import client_from_config as client_from_config
    from .indexing.api import global_client_from_config as global_client_from_config
    from .indexing.api import markdown_upload as markdown_upload
    from .indexing.chunks import AnnotationModel as AnnotationModel
    from .indexing.chunks import Chunk as Chunk
    from .indexing.chunks import blocks_to_chunks as blocks_to_chunks
    from .indexing.collection import points_to_blocks as points_to_blocks
    from .indexing.cutting.split import scan_split as scan_split
    from .indexing.documents import blocklist_encode as blocklist_encode
    from .indexing.encoding import EncodingModel as EncodingModel
    from .indexing.encoding import QdrantEmbeddingModel as QdrantEmbeddingModel
    from .indexing.encoding import encoding_to_qdrantembedding_model as encoding_to_qdrantembedding_model
    from .logging import ConsoleLogger as ConsoleLogger
    from .logging import ExceptionConsoleLogger as ExceptionConsoleLogger
    from .logging import ExceptionLogger as ExceptionLogger
    from .logging import ListLogger as ListLogger
    from .logging import LoggerBase as LoggerBase
    from .markdown.blocks import ErrorBlock as ErrorBlock
    from .markdown.blocks import HeaderBlock as HeaderBlock
    from .markdown.blocks import HeadingBlock as HeadingBlock
    from .markdown.blocks import MetadataBlock as MetadataBlock
    from .markdown.blocks import TextBlock as TextBlock
    from .markdown.blocks import serialize_blocks as serialize_blocks
    from .markdown.files import load_markdown as load_markdown
    from .markdown.files import save_markdown as save_markdown
    from .markdown.parse import parse_markdown_text as parse_markdown_text
    from .markdown.tree import HeaderNode as HeaderNode
    from .markdown.tree import HeadingNode as HeadingNode
    from .markdown.tree import TextNode as TextNode
    from .markdown.tree import blocks_to_tree as blocks_to_tree
    from .markdown.tree import fold_post as fold_post
    from .markdown.tree import load_tree as load_tree
    from .markdown.tree import map_tree as map_tree
    from .markdown.tree import save_tree as save_tree
    from .markdown.tree import sections as sections
    from .markdown.tree import traverse as traverse
    from .markdown.tree import tree_to_blocks as tree_to_blocks
    from .models.prompts import Prompt as Prompt
    from .retrieve.answer import Conversation as Conversation
    from .retrieve.library import Library as Library
    from .retrieve.search import Retriever as Retriever
    from .retrieve.tools import Tools as Tools
    from .scan.chat import scan_messages as scan_messages
    from .scan.documents.passes import markdown_rag as markdown_rag
    from .scan.documents.passes import markdown_scan as markdown_scan
    from .scan.documents.talk import markdown_messages as markdown_messages
    from .scan.rag import scan_rag as scan_rag
    from .scan.record import clear_messages as clear_messages
    from .settings.config import ConfigSettings as ConfigSettings
    from .settings.models import Models as Models
    from .settings.models import chat_model_from_config as chat_model_from_config
    from .settings.project import load_project as load_project
    from .settings.tables import ScanOpts as ScanOpts
    from .store.places import LocalStorage as LocalStorage
    from .store.places import RemoteSource as RemoteSource
    from .store.places import open_store as open_store
    from .vector_store_qdrant import initialize_collection as initialize_collection
    from .vector_store_qdrant import query as query
    from .vector_store_qdrant import query_grouped as query_grouped
    from .vector_store_qdrant import upload as upload

_MODULES = {
    "api": "aask annotate asearch ask index knit search",
    "errors": "ConfigError LmmError MarkdownError ModelError ReportedError RetrieveError StoreError",
    "indexing.api": "client_from_config global_client_from_config markdown_upload",
    "indexing.chunks": "AnnotationModel Chunk blocks_to_chunks",
    "indexing.collection": "points_to_blocks",
    "indexing.cutting.split": "scan_split",
    "indexing.documents": "blocklist_encode",
    "indexing.encoding": "EncodingModel QdrantEmbeddingModel encoding_to_qdrantembedding_model",
    "logging": "ConsoleLogger ExceptionConsoleLogger ExceptionLogger ListLogger LoggerBase",
    "markdown.blocks": "ErrorBlock HeaderBlock HeadingBlock MetadataBlock TextBlock serialize_blocks",
    "markdown.files": "load_markdown save_markdown",
    "markdown.parse": "parse_markdown_text",
    "markdown.tree": "HeaderNode HeadingNode TextNode blocks_to_tree fold_post load_tree map_tree save_tree sections "
    "traverse tree_to_blocks",
    "models.prompts": "Prompt",
    "retrieve.tools": "Tools",
    "retrieve.answer": "Conversation",
    "retrieve.library": "Library",
    "retrieve.search": "Retriever",
    "scan.chat": "scan_messages",
    "scan.documents.passes": "markdown_rag markdown_scan",
    "scan.documents.talk": "markdown_messages",
    "scan.record": "clear_messages",
    "scan.rag": "scan_rag",
    "settings.config": "ConfigSettings",
    "settings.models": "Models chat_model_from_config",
    "settings.project": "load_project",
    "settings.tables": "ScanOpts",
    "store.places": "LocalStorage RemoteSource open_store",
    "vector_store_qdrant": "initialize_collection query query_grouped upload",
}

# onnxruntime (from 1.29 on) and huggingface_hub send usage reports by default.
NO_REPORTS = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
os.environ.update(NO_REPORTS | os.environ)


_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a documented name on first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    """Return the documented names, for completion."""
    return sorted([*_MODULE_OF, "__version__"])
