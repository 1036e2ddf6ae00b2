"""Run Quarto's pre- and post-render scripts.

Imports are local, because every render waits for them."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
    return run_stage(stage, os.environ, Path(os.environ.get("QUARTO_PROJECT_DIR") or "."), _ScriptLogger())


def run_stage(stage: str, environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> int:
    """Prepare or finish a render, and return the exit status: 1 stops Quarto."""
    try:
        if stage == "pre-render":
            from .before_render import prepare_render

            prepare_render(environment, project_dir, logger)
            return 0
        from .after_render import finish_render

        return 0 if finish_render(environment, project_dir, logger) else 1
    except (OSError, LmmError) as error:
        report_failure(error, logger)
        return 1
