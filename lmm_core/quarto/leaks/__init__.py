"""Search rendered files for text that is left out of the notes."""

from .check import look_for_leaks
from .findings import Findings, Leak

__all__ = ["Findings", "Leak", "look_for_leaks"]
