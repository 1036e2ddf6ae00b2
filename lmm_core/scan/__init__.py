"""The passes over a document: functions from blocks to blocks."""

from ..index.split import (
    DEFAULT_STRATEGY,
    NULL_SPLITTER,
    ChunkBlock,
    Document,
    Split,
    Strategy,
    find_document,
    scan_split,
    split_documents,
    transform,
)
from ..markdown.rag_only import KnitRules
from .header import scan
from .knit import find_dangling, knit
from .options import ScanOpts, SplitOpts
from .rag import scan_rag

__all__ = [
    "DEFAULT_STRATEGY", "NULL_SPLITTER", "ChunkBlock", "Document", "KnitRules", "ScanOpts", "Split", "SplitOpts",
    "Strategy", "find_dangling", "find_document", "knit", "scan", "scan_rag", "scan_split", "split_documents",
    "transform",
]  # fmt: skip
