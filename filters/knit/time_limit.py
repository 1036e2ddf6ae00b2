"""The time limit of a filter that Quarto has started: Quarto itself would wait without end."""

from __future__ import annotations

import os
import threading

from lmm_core.logging import say

SECONDS = 300.0  # some hundred times what the largest page of a course takes


def limit_time(name: str, seconds: float = SECONDS) -> None:
    """End this process with status 1 after some seconds, whatever it does then.

    name: of the filter, for the message."""
    timer = threading.Timer(seconds, _end, (name, seconds))
    timer.daemon = True
    timer.start()


def _end(name: str, seconds: float) -> None:
    say(
        f"{name}: not done after {seconds:g} seconds, and stopped. Try it outside of Quarto: pandoc -F {name}", err=True
    )
    os._exit(1)  # the main thread may hang where no exception gets to
