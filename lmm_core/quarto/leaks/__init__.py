"""Proof that what is left out of the notes is nowhere in what was rendered."""

from .check import look_for_leaks
from .found import Findings, Leak

__all__ = ["Findings", "Leak", "look_for_leaks"]
