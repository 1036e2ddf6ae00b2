"""Findings of a check, and their codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...errors import ConfigError
from ...logging import Level, LoggerBase, Report
from ...markdown.blocks import Block, header_content
from ...settings.project import Project, for_document

ERRORS = {
    "unreadable-block": "a metadata block that cannot be read",
    "no-fence": "a div of class lmm without a YAML code block in it",
    "no-blank-line": "a block or div directly under a paragraph, which makes it text",
    "no-block": "a question, message or edit (`?:`, `+:`, `=:`) that is in no block",
    "near-miss": "a word or line that is nearly a key, type, class, attribute or block",
    "knit-value": "`knit` with a value that is neither true nor false",
    "stray-colons": "colons that open or close no div",
    "type-elsewhere": "a type where it leaves nothing out",
    "about-nothing": "a block before something that nobody sees, or that starts no section",
    "broken-edit": "a proposed edit whose markers are not complete",
    "header-value": "a setting in the header that cannot be used",
}
WARNINGS = {
    "not-closed": "code, a comment, a div or a block that is not closed",
    "refused-option": "an option that a document may not set",
}
CODES = ERRORS | WARNINGS


@dataclass(frozen=True, slots=True)
class Finding:
    """A probable mistake: line (from 1), code (see `CODES`) and message."""

    line: int
    code: str
    message: str

    @property
    def level(self) -> Level:
        return "error" if self.code in ERRORS else "warning"


def report_findings(findings: Iterable[Finding], logger: LoggerBase, level: Level | None = None) -> None:
    """Report findings with their codes; `level` overrides theirs."""
    for finding in findings:
        logger.report(Report(level or finding.level, finding.message, line=finding.line, code=finding.code))


def wrong_settings(blocks: Sequence[Block], project: Project) -> list[Finding]:
    """Return the invalid settings in a header."""
    try:
        for_document(project, header_content(blocks))
    except ConfigError as error:
        return wrong_values(blocks, error)
    return []


def wrong_values(blocks: Sequence[Block], error: ConfigError) -> list[Finding]:
    """Return a finding for each problem in an error of `for_document`."""
    return [Finding(blocks[0].line, "header-value", problem) for problem in str(error).split("\n")]
