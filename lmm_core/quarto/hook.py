"""What the extension's script runs in its own process. It imports little, because every render waits for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..ending import end_quickly


def run_hook(stage: str) -> int:
    """Do the work of a stage, `pre-render` or `post-render`, and return the exit status. The first starts a
    server for the render, which has what this work has imported."""
    end_quickly()
    from .render import run_script

    status = run_script(stage)
    folder = os.environ.get("QUARTO_PROJECT_DIR")
    if stage == "pre-render" and status == 0 and sys.platform == "linux" and folder:
        from .render_server.server import start_server

        start_server(Path(folder))
    return status


def after_render() -> int:
    """Do the work after a render in this process, and return the exit status."""
    from .render import run_script

    return run_script("post-render")
