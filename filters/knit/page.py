"""The work of `lmm-knit` in a process that the server of a render forks for a page. What most pages need is imported
here, so that the server imports it, once."""

from . import book as book
from .command import run as run
