"""Look for what is left out of the notes in everything that was rendered."""

from .check import look_for_leaks
from .findings import Findings, Leak

__all__ = ["Findings", "Leak", "look_for_leaks"]
