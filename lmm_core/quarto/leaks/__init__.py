"""Search rendered files for text that is left out of the notes."""

from .check import look_for_leaks
from .findings import Findings, Leak
from .sources import SiteSources

__all__ = ["Findings", "Leak", "SiteSources", "look_for_leaks"]
