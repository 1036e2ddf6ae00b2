"""The passes over a document: functions from blocks to blocks."""

from .header import scan
from .knit import KnitRules, find_dangling, knit
from .options import ScanOpts
from .rag import scan_rag

__all__ = ["KnitRules", "ScanOpts", "find_dangling", "knit", "scan", "scan_rag"]
