"""What the extension's script runs in its own process. It imports little, because every render waits for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..ending import end_quickly


def run_hook(stage: str) -> int:
    """Do the work of a stage, `pre-render` or `post-render`, and return the exit status. The first starts a
    server for the render."""
    end_quickly()
    if stage == "pre-render" and sys.platform == "linux" and (folder := os.environ.get("QUARTO_PROJECT_DIR")):
        from . import before_render as before_render  # so that the server has it, too
        from .render_server.server import start_server

        start_server(Path(folder))
    from .render import run_script

    return run_script(stage)


def after_render() -> int:
    """Do the work after a render in this process, and return the exit status."""
    from .render import run_script

    return run_script("post-render")
