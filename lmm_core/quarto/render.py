"""Run Quarto's pre- and post-render scripts.

Imports are local, because every render waits for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ..ending import collect_rarely
from ..errors import LmmError
from ..logging import ConsoleLogger, LoggerBase, Report, make_output_printable, report_failure


class _ScriptLogger(ConsoleLogger):
    """A logger limited to errors when Quarto is quiet."""

    def report(self, report: Report) -> None:
        if report.level == "error" or os.environ.get("QUARTO_PROJECT_SCRIPT_QUIET") != "1":
            super().report(report)


def run_script(stage: str) -> int:
    """Run a stage's script in Quarto's environment and return the exit status.

    stage: `pre-render` or `post-render`"""
    collect_rarely()
    make_output_printable()
    script = {"pre-render": pre_render, "post-render": post_render}[stage]
    return script(os.environ, Path(os.environ.get("QUARTO_PROJECT_DIR") or "."), _ScriptLogger())


def pre_render(environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> int:
    """Prepare a render and return the exit status; 1 stops Quarto."""
    from .before_render import prepare_render

    return _exit_status(lambda: prepare_render(environment, project_dir, logger), logger)


def post_render(environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> int:
    """Finish a render and return the exit status; 1 fails it."""
    from .after_render import finish_render

    return _exit_status(lambda: finish_render(environment, project_dir, logger), logger)


def _exit_status(work: Callable[[], bool | None], logger: LoggerBase) -> int:
    """Return 1 if the work is not done: it returns False, or fails."""
    try:
        return 1 if work() is False else 0
    except (OSError, LmmError) as error:
        report_failure(error, logger)
        return 1
