"""The passes over a document: functions from blocks to blocks, with options as arguments.

A pass reads no settings and no files. May import `files`, `markdown` and `models`.
"""

from ..markdown.rag_only import KnitRules
from .header import scan
from .knit import find_dangling, knit
from .options import ScanOpts, SplitOpts
from .rag import scan_rag

__all__ = ["KnitRules", "ScanOpts", "SplitOpts", "find_dangling", "knit", "scan", "scan_rag"]
