"""The passes over a document: functions from blocks to blocks, with options as arguments.

A pass reads no settings and no files. May import `files`, `markdown` and `models`.
"""

from ..markdown.rag_only import KnitRules
from .chat import scan_messages
from .edit import scan_edits
from .exchange.record import clear_messages
from .header import scan
from .knit import find_dangling, knit
from .options import ScanOpts, SplitOpts
from .rag import scan_rag

__all__ = [
    "KnitRules", "ScanOpts", "SplitOpts", "clear_messages", "find_dangling", "knit", "scan", "scan_edits",
    "scan_messages",
    "scan_rag",
]  # fmt: skip
