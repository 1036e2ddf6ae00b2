"""Find all mistakes in a document, or only those that would publish hidden material."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import MarkdownError
from ...logging import LoggerBase
from ...markdown.blocks import Block, Problem, header_content
from ...markdown.edits import broken_edits
from ...markdown.files import MarkdownDocument, read_markdown
from ...markdown.metadata.lmm_options import refused_options
from ...markdown.parse import DIV_UNDER_TEXT
from ...markdown.visibility import NOT_CLOSED, KnitRules, header_rules
from ..knit import find_unclosed_div
from ..left_out import find_pieces
from .document import CheckedDocument, all_types
from .finding import Finding, report_findings
from .near_misses import find_near_misses, find_slips

# Mistakes that keep a question, message or edit from being read
UNREAD = {"unreadable-block", "no-fence", "no-blank-line", "no-block"}


def find_mistakes(
    document: CheckedDocument, problems: Iterable[Problem] = (), rules: KnitRules | None = None
) -> list[Finding]:
    """Return the probable mistakes in a document, by line, besides the parser's `problems`."""
    findings = [*map(_of_parser, problems), *document.find_errors(), *find_slips(document, rules or KnitRules())]
    findings += [Finding(problem.line, "broken-edit", problem.message) for problem in broken_edits(document.blocks)]
    findings += [Finding(line, "refused-option", message) for line, message in refused_options(document.blocks)]
    return _without_duplicates(findings)


def report_mistakes(blocks: Sequence[Block], rules: KnitRules, logger: LoggerBase) -> None:
    """Report near misses and ignored questions as warnings, except those that the parser reports."""
    slips = [slip for slip in find_slips(CheckedDocument(blocks), rules) if not slip.message.startswith(DIV_UNDER_TEXT)]
    report_findings(_without_duplicates(slips), logger, "warning")


def _of_parser(problem: Problem) -> Finding:
    under_text = problem.message.startswith(DIV_UNDER_TEXT)
    return Finding(problem.line, "no-blank-line" if under_text else "not-closed", problem.message)


def _without_duplicates(findings: Sequence[Finding]) -> list[Finding]:
    first: dict[tuple[int, str], Finding] = {}
    for finding in findings:
        first.setdefault((finding.line, finding.code), finding)
    codes = ("no-blank-line", "near-miss", "stray-colons")
    under_text, near, stray = ({line for line, kind in first if kind == code} for code in codes)
    silent = {"stray-colons": under_text, "not-closed": near | stray}
    remaining = (finding for finding in first.values() if finding.line not in silent.get(finding.code, ()))
    return sorted(remaining, key=lambda finding: finding.line)


# Before publishing


def refuse_mistakes(blocks: Sequence[Block], rules: KnitRules, logger: LoggerBase) -> None:
    """Report mistakes that may publish what should be left out. Raise MarkdownError if there are any."""
    findings = [*CheckedDocument(blocks).find_errors(), *find_near_misses(blocks, rules)]
    if (line := find_unclosed_div(blocks, header_rules(header_content(blocks), rules))) is not None:
        findings.append(Finding(line, "not-closed", NOT_CLOSED))
    findings = _without_duplicates(findings)
    report_findings(findings, logger, "error")
    if findings:
        is_word = any(finding.code in ("near-miss", "type-elsewhere") for finding in findings)
        raise MarkdownError("The notes were not written: correct this first." + (f" Or, {MEANT}." if is_word else ""))


PUBLISHED_CODE = (
    "an {ojs} cell in a part that is left out: Quarto puts its code into the page all the same; show it as code "
    "(```js), or move it into a file that is not rendered"
)
_OJS = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*\{ojs\b", re.M)
MEANT = (
    "if a word is right as it is, name it under [knit] allowed_words in config.toml, or write knit: true in a block "
    "before the part"
)


def with_types(rules: KnitRules, documents: Iterable[MarkdownDocument]) -> KnitRules:
    """Return the rules with the types of material that occur in documents."""
    return replace(rules, types=rules.types | all_types(CheckedDocument(document.blocks) for document in documents))


def typo_lines(documents: Iterable[tuple[str, MarkdownDocument]], rules: KnitRules) -> list[str]:
    """Return the messages about mistakes to correct before publishing, with the documents' names."""
    errors: list[str] = []
    near: list[str] = []
    for name, document in documents:
        blocks = document.blocks
        errors += [f"{name}:{line}: {PUBLISHED_CODE}" for line in published_code(blocks, rules)]
        errors += [f"{name}:{problem.line}: {problem.message}" for problem in CheckedDocument(blocks).find_errors()]
        near += [f"{name}:{problem.line}: {problem.message}" for problem in find_near_misses(blocks, rules)]
    return [*errors, *near, *([MEANT] if near else [])]


def published_code(blocks: Sequence[Block], rules: KnitRules) -> list[int]:
    """Return the lines of hidden Observable cells, which Quarto publishes."""
    if not any("{ojs" in block.source for block in blocks):
        return []
    pieces = [piece for piece in find_pieces(blocks, header_rules(header_content(blocks), rules)) if piece.is_out]
    return [piece.line + piece.text.count("\n", 0, at.start()) for piece in pieces for at in _OJS.finditer(piece.text)]


def report_typos(paths: Sequence[Path], rules: KnitRules, logger: LoggerBase) -> None:
    """Report mistakes to correct before publishing as errors. Unreadable files are skipped."""
    documents = [*read_documents(paths)]
    rules = with_types(rules, documents)
    for line in typo_lines([(str(document.file.path), document) for document in documents], rules):
        logger.error(line)


def read_documents(paths: Iterable[Path]) -> Iterator[MarkdownDocument]:
    """Yield the documents that can be read."""
    for path in paths:
        try:
            yield MarkdownDocument(read_markdown(path))
        except (OSError, MarkdownError):
            continue
