"""The command `lmm`: the passes on files and folders, without pandoc.

What a person reads goes to standard error, data to standard output. Exit
status: 0 done, 1 something could not be done (or, with `--check`, would be
changed), 2 wrong usage.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from . import __version__
from .config import ConfigError, load_settings
from .logging import ListLogger, Report
from .markdown.blocks import MarkdownError, Problem, Spelling, serialize_blocks
from .markdown.files import MarkdownFile, find_markdown, load_markdown, save_markdown
from .markdown.parse import parse_markdown_text
from .markdown_files import Work, convert_work, knit_work, rag_work, work_on
from .scan.options import ScanOpts
from .scan.overview import Overview, overview

GROUPS = {"Write": ("scan", "rag"), "Publish": ("knit", "convert"), "Set up": ("doctor",)}


class _Grouped(click.Group):
    """Help by what a person wants to do."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in GROUPS.values() for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in GROUPS.items():
            commands = [(name, self.commands[name].get_short_help_str(90)) for name in names if name in self.commands]
            with formatter.section(title):
                formatter.write_dl(commands)


@click.group(cls=_Grouped, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="lmm")
def cli() -> None:
    """Notes in markdown that a writer and a language model work on together.

    FILES are markdown files, or folders of them. Nothing in them changes but
    their metadata."""


Command = Callable[..., None]
_paths = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILES…")
_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")


def _writing(command: Command) -> Command:
    check = click.option("--check", is_flag=True, help="Write nothing; exit 1 if something would change.")
    diff = click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
    return _paths(check(diff(_json(command))))


@dataclass
class _Outcome:
    """What came of one file."""

    path: str
    changed: bool = False
    reports: list[dict[str, Any]] = field(default_factory=list)


@cli.command()
@_paths
@_json
def scan(paths: tuple[Path, ...], as_json: bool) -> None:
    """Show title, sections, words, errors, and what is missing. Writes nothing."""
    logger, found = _Told(), {}
    for path in _find(paths):
        if (file := _load(path, logger)) is not None:
            found[str(path)] = _look(file, logger)
    if as_json:
        _print_json([{"path": path, **asdict(seen)} for path, seen in found.items()])
    else:
        for name, seen in found.items():
            _print_overview(name, seen)
    _leave(logger)


@cli.command()
@_writing
@click.option("--questions/--no-questions", default=True, help="Questions that each section answers.")
@click.option("--summaries/--no-summaries", default=True, help="A summary of each section and of the whole.")
@click.option("--titles", is_flag=True, help="The path of titles of each section, too.")
def rag(
    paths: tuple[Path, ...], check: bool, diff: bool, as_json: bool, questions: bool, summaries: bool, titles: bool
) -> None:
    """Annotate each section with questions and a summary, in place."""
    opts = ScanOpts(titles=titles, questions=questions, summaries=summaries)
    _rewrite(paths, rag_work(opts), check, diff, as_json, "annotated")


@cli.command()
@_writing
@click.option("--to", required=True, type=click.Choice(["div", "native"]), help="The spelling to write.")
def convert(paths: tuple[Path, ...], check: bool, diff: bool, as_json: bool, to: Spelling) -> None:
    """Write all metadata blocks as fenced divs or as native `---` blocks, in place."""
    _rewrite(paths, convert_work(to), check, diff, as_json, "converted")


@cli.command()
@_paths
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File, or folder for several files.")
@click.option("--keep", multiple=True, metavar="TYPE", help="A type that stays in (exercise, …).")
def knit(paths: tuple[Path, ...], output: Path | None, keep: tuple[str, ...]) -> None:
    """Write the lecture notes: no metadata, no RAG-only material."""
    logger = _Told()
    files = [path for path in _find(paths) if not (output and output.is_dir() and _is_in(path, output))]
    if len(files) > 1 and (output is None or output.is_file()):
        raise click.UsageError("several files need a folder to be written to: -o FOLDER")
    targets = {path: _target(path, paths, output) for path in files}
    if len(set(targets.values())) < len(files):
        raise click.UsageError("several of the files would be written to one place; knit them one by one")
    for path, target in targets.items():
        text = _work(path, knit_work(keep), logger)
        if text is not None:
            _write_notes(path, text[1], target, logger)
    _leave(logger)


@cli.command()
@_json
def doctor(as_json: bool) -> None:
    """Show what is installed, what is found, and what writes the annotations."""
    from .doctor import examine

    findings = examine()
    if as_json:
        _print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            click.echo(f"{'ok' if finding.ok else '--'}  {finding.what:<12}{finding.found}")
            if finding.advice:
                click.echo(f"    {'':<12}{finding.advice}")
    sys.exit(0 if all(finding.ok or finding.optional for finding in findings) else 1)


# What the commands share


class _Told(ListLogger):
    """Prints each report at once, and counts."""

    def report(self, report: Report) -> None:
        super().report(report)
        kind = "warning: " if report.level == "warning" else ""
        where = f"{report.path}:{report.line}: " if report.line else f"{report.path}: " if report.path else ""
        click.echo(f"{where}{kind}{report.message}", err=True)


def _find(paths: tuple[Path, ...]) -> list[Path]:
    try:
        return find_markdown(list(paths))
    except (FileNotFoundError, MarkdownError) as error:
        raise click.UsageError(str(error)) from None


def _load(path: Path, logger: _Told) -> MarkdownFile | None:
    try:
        return load_markdown(path)
    except (OSError, MarkdownError) as error:
        _tell(error, path, logger)
        return None


def _look(file: MarkdownFile, logger: _Told) -> Overview:
    rules = _checked(lambda: load_settings(file.path)).rules
    problems: list[Problem] = []
    seen = overview(parse_markdown_text(file.text, problems), rules=rules)
    for problem in problems:
        logger.report(Report("warning", problem.message, str(file.path), problem.line))
    for line, message in seen.errors:
        logger.report(Report("error", message, str(file.path), line))
    return seen


def _checked(read: Callable[[], Any]) -> Any:
    """A wrong configuration is wrong usage."""
    try:
        return read()
    except ConfigError as error:
        raise click.UsageError(str(error)) from None


def _work(path: Path, work: Work, logger: _Told) -> tuple[MarkdownFile, str] | None:
    """A file and its text after the work; None where it cannot be read."""
    try:
        file, blocks = _checked(lambda: work_on(path, work, logger))
    except (OSError, MarkdownError) as error:
        _tell(error, path, logger)
        return None
    return file, serialize_blocks(blocks)


def _tell(error: OSError | MarkdownError, path: Path, logger: _Told) -> None:
    if isinstance(error, OSError):
        logger.report(Report("error", error.strerror or str(error), str(path)))
    else:
        logger.error(str(error))


def _rewrite(paths: tuple[Path, ...], work: Work, check: bool, diff: bool, as_json: bool, done: str) -> None:
    if as_json and diff:
        raise click.UsageError("--json and --diff exclude each other")
    logger, outcomes = _Told(), []
    for path in _find(paths):
        told = len(logger.reports)
        result = _work(path, work, logger)
        changed = result is not None and result[1] != result[0].text
        if result is not None and changed and diff:
            _print_diff(path, result[0].text, result[1])
        elif result is not None and changed and not check:
            changed = _save(path, result[1], result[0], logger)
        outcomes.append(_Outcome(str(path), changed, [asdict(report) for report in logger.reports[told:]]))
    changed_paths = [outcome.path for outcome in outcomes if outcome.changed]
    if as_json:
        _print_json([asdict(outcome) for outcome in outcomes])
    else:
        verb = f"would be {done}" if check or diff else done
        for name in changed_paths:
            click.echo(f"{verb}: {name}", err=True)
        click.echo(f"{len(changed_paths)} of {len(outcomes)} files {verb}", err=True)
    if check and changed_paths:
        sys.exit(1)
    _leave(logger)


def _save(path: Path, text: str, file: MarkdownFile, logger: _Told) -> bool:
    try:
        save_markdown(path, text, file)
    except (OSError, MarkdownError) as error:
        _tell(error, path, logger)
        return False
    return True


def _target(path: Path, paths: tuple[Path, ...], output: Path | None) -> Path | None:
    """Where a file's notes go: the file named, or the same place in the folder named."""
    folders = [folder for folder in paths if folder.is_dir() and path.is_relative_to(folder)]
    if output is None or not (output.is_dir() or folders or len(paths) > 1):
        return output
    return output / (path.relative_to(folders[0]) if folders else path.name)


def _is_in(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _write_notes(path: Path, text: str, target: Path | None, logger: _Told) -> None:
    if target is None:
        sys.stdout.buffer.write(text.encode("utf-8"))
        return
    if target.exists() and target.samefile(path):
        raise click.UsageError(f"{path}: the notes would be written over their source; name another output")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        save_markdown(target, text)
    except OSError as error:
        _tell(error, target, logger)


def _print_diff(path: Path, before: str, after: str) -> None:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path)
    )
    click.echo("".join(lines), nl=False)


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def _print_overview(path: str, seen: Overview) -> None:
    click.echo(f"{path}: {seen.title or '(no title)'}")
    click.echo(f"  {seen.words} words in {len(seen.sections)} sections; docid {seen.docid or '(none)'}")
    for section in seen.sections:
        notes = [f"type {word}" for word in section.types]
        for name in ("missing", "outdated", "stale"):
            notes += [f"{name}: {', '.join(getattr(section, name))}"] if getattr(section, name) else []
        title = "  " * (section.level - 1) + section.title
        click.echo(f"  {section.line:>5}  {title:<52.52} {section.words:>5} words  {'; '.join(notes)}".rstrip())
    if seen.missing:
        click.echo(f"  header: missing {', '.join(seen.missing)}")


def _leave(logger: _Told) -> None:
    sys.exit(1 if logger.count("error") else 0)


def main() -> None:
    """The command `lmm`."""
    cli()


if __name__ == "__main__":
    main()
