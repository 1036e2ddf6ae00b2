"""All mistakes in a document, for commands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from ...logging import LoggerBase
from ...markdown.blocks import Block, MetadataBlock, Problem
from ...markdown.edits import broken_edits
from ...markdown.metadata.lmm_options import refused_in
from ...markdown.parse import DIV_UNDER_TEXT
from ...markdown.visibility import KnitRules
from .document import CheckedDocument
from .finding import ERRORS, Finding, report_findings
from .near_misses import find_slips

# Questions, messages and edits are ignored due to these
UNREAD = {"unreadable-block", "no-fence", "no-blank-line", "no-block"}
# others are reported by the parser and header pass
FOR_INDEX = {*ERRORS} - {"unreadable-block", "no-fence", "broken-edit", "header-value"}


def find_mistakes(
    document: CheckedDocument, problems: Iterable[Problem] = (), rules: KnitRules | None = None
) -> list[Finding]:
    """Return the probable mistakes in a document, by line.

    problems: of the parser
    """
    findings = [*map(_of_parser, problems), *document.find_errors(), *find_slips(document, rules or KnitRules())]
    findings += [Finding(problem.line, "broken-edit", problem.message) for problem in broken_edits(document.blocks)]
    findings += _find_refused_options(document.blocks)
    return sorted(_without_duplicates(findings), key=lambda finding: finding.line)


def report_mistakes(
    blocks: Sequence[Block], rules: KnitRules | None, codes: Collection[str], logger: LoggerBase
) -> None:
    """Report some kinds of mistakes as warnings, except those of the parser."""
    findings = find_mistakes(CheckedDocument(blocks), rules=rules)
    reportable = [
        finding for finding in findings if finding.code in codes and not finding.message.startswith(DIV_UNDER_TEXT)
    ]
    report_findings(reportable, logger, "warning")


def _of_parser(problem: Problem) -> Finding:
    under_text = problem.message.startswith(DIV_UNDER_TEXT)
    return Finding(problem.line, "no-blank-line" if under_text else "not-closed", problem.message)


def _find_refused_options(blocks: Sequence[Block]) -> Iterator[Finding]:
    for block in blocks:
        for message in refused_in(block.content) if isinstance(block, MetadataBlock) else ():
            yield Finding(block.line, "refused-option", message)


def _without_duplicates(findings: Sequence[Finding]) -> list[Finding]:
    first: dict[tuple[int, str], Finding] = {}
    for finding in findings:
        first.setdefault((finding.line, finding.code), finding)
    lines = {code: {line for line, kind in first if kind == code} for code in ("no-blank-line", "near-miss")}
    silent = {"stray-colons": lines["no-blank-line"], "not-closed": lines["near-miss"]}
    return [finding for finding in first.values() if finding.line not in silent.get(finding.code, ())]
