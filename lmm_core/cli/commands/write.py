"""The commands that write into documents: annotations, custom passes, recovery."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from ...files.recovery import Record, find_record, forget
from ...files.writing import write_file
from ...logging import LoggerBase, counted, one_line, say
from ...markdown.blocks import Block
from ...markdown.files import MarkdownFile
from ...models.sources import STAND_IN_NAME
from ...scan.documents.passes import USUAL_REPLY, RagPlan, RagWork, replace_text, rewrite_file
from ..arguments import Asking, Writing, asking_options, find_documents, usage_errors, writing_options
from ..files import FileWork, rewrite, work_file, work_on_saved
from ..reports import ProgressBar, ReportPrinter, exit_with_status, print_json, report_failure
from ..session import SavedFiles, at_every_save


@click.command()
@writing_options
@click.option("--questions/--no-questions", default=None, help="Write questions that each section answers.")
@click.option("--summaries/--no-summaries", default=None, help="Write a summary of each section and of the whole.")
@click.option("--titles/--no-titles", default=None, help="Write the titles that lead to each section.")
@click.option("--refresh", is_flag=True, help="Rewrite what a model wrote, even if the text has not changed.")
@click.option("--dry-run", is_flag=True, help="Ask no model and write nothing; list the requests and their tokens.")
@click.option("--watch", is_flag=True, help="Keep running: annotate each document when it is saved.")
@asking_options
def rag(
    writing: Writing,
    questions: bool | None,
    summaries: bool | None,
    titles: bool | None,
    refresh: bool,
    dry_run: bool,
    watch: bool,
    asking: Asking,
) -> None:
    """Give each section questions and a summary, in place."""
    if watch and (writing.check or writing.diff or writing.as_json or dry_run or refresh):
        raise click.UsageError("--watch excludes --check, --diff, --json, --dry-run and --refresh")
    chosen = {"questions": questions, "summaries": summaries, "titles": titles}
    work = RagWork(asking.models(writing.paths), refresh=refresh, asks=not writing.check or writing.diff)
    work.changes = {name: value for name, value in chosen.items() if value is not None}
    # a header in an included file would become the page's
    writing = replace(writing, finder=replace(writing.finder, included=False))
    quiet = asking.quiet
    if dry_run:
        _print_plan(writing, work)
        return
    if watch:
        find_documents(writing.paths, ReportPrinter(quiet), finder=writing.finder)
        files = SavedFiles(writing.paths, writing.finder)
        at_every_save(files, lambda saved: _annotate(saved, replace(work, models=asking.models()), files, quiet))
        return
    with ProgressBar(quiet=quiet) as work.progress:
        rewrite(writing, work.finish, "annotated", quiet, work.models, work.tallies)


def _annotate(saved: Sequence[Path], work: RagWork, files: SavedFiles, quiet: bool) -> bool:
    def write(file: MarkdownFile, text: str) -> None:
        files.written[file.path] = text.encode("utf-8")
        replace_text(file, text)

    async def annotate(path: Path, logger: ReportPrinter) -> bool:
        return await rewrite_file(path, work.finish, logger, write)

    return work_on_saved(saved, FileWork(annotate, "annotated", work.models), quiet)


@click.command("pass")
@click.argument("name", metavar="MODULE:FUNCTION")
@writing_options
def own_pass(name: str, writing: Writing) -> None:
    """Run your own pass, a Python function, on documents."""
    from ...errors import PassError
    from ...scan.documents.own_pass import Pass, load_pass, run_pass

    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        return run_pass(own, blocks, logger)

    with usage_errors(PassError):
        own: Pass = load_pass(name)
        rewrite(writing, work, "changed")


def _print_plan(writing: Writing, work: RagWork) -> None:
    logger, plans = ReportPrinter(), {}

    async def add_plan(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        plans[str(file.path)] = await work.plan(blocks, file, logger)
        return blocks

    async def plan_all() -> None:
        for path in find_documents(writing.paths, logger, finder=writing.finder):
            await work_file(path, add_plan, logger)

    asyncio.run(plan_all())
    if writing.as_json:
        print_json(
            [
                {"path": path, "annotator": plan.annotator, **asdict(request)}
                for path, plan in plans.items()
                for request in plan.requests
            ]
        )
    elif {plan.annotator for plan in plans.values() if plan.requests} == {STAND_IN_NAME}:
        advice = "set OPENAI_API_KEY, or name a model in config.toml"
        say(f"Nothing would be asked, because no model is configured: {advice}.")
    else:
        for path, plan in plans.items():
            _print_requests(path, plan)
        _print_sum(list(plans.values()))
    exit_with_status(logger)


def _print_requests(path: str, plan: RagPlan) -> None:
    if plan.requests:
        say(one_line(f"{path}: {len(plan.requests)} by {plan.annotator}"))
    for request in sorted(plan.requests, key=lambda request: request.line):
        doubt = "" if request.certain else " (if a summary below it changes)"
        title = "  " * (len(request.titles) - 1) + (request.titles[-1] if request.titles else "")
        say(f"  {request.line:>5}  {title:<52.52} {request.tokens:>7,} tokens  {', '.join(request.wanted)}{doubt}")


def _print_sum(plans: Sequence[RagPlan]) -> None:
    requests = [request for plan in plans for request in plan.requests]
    tokens = sum(request.tokens for request in requests)
    maybe = sum(not request.certain for request in requests)
    to_model = sum(request.tokens > 0 for request in requests)  # the stand-in receives no tokens
    say(
        f"{counted(len(requests), 'request')}{f' ({maybe} of them only if a summary below changes)' if maybe else ''}, "
        f"about {tokens:,} tokens to send and {to_model * USUAL_REPLY:,} to receive; replies that are "
        "in the cache cost nothing"
    )


# Recovery


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--before", is_flag=True, help="Write the earlier text instead of the one that pandoc was writing.")
@click.option("--keep", is_flag=True, help="Leave the file as it is, and forget the other texts.")
def recover(file: Path, before: bool, keep: bool) -> None:
    """Restore a file that pandoc was interrupted in writing."""
    if before and keep:
        raise click.UsageError("--before and --keep exclude each other")
    logger = ReportPrinter()
    try:
        record = find_record(file)
        if record is None:
            say(f"{file}: there is nothing to recover", err=True)
        elif keep:
            forget(record)
            say(f"{file}: left as it is", err=True)
        else:
            _write_back(file, record, before, logger)
    except OSError as error:
        report_failure(error, file, logger)
    exit_with_status(logger)


def _write_back(file: Path, record: Record, before: bool, logger: ReportPrinter) -> None:
    data, intended = file.read_bytes(), record.before if before else record.text
    is_torn = record.explains(data, file.stat().st_mtime_ns) or record.text.startswith(data)
    if data == intended or not (is_torn or before):
        say(f"{file}: is complete; nothing was written", err=True)
    elif not is_torn and data != record.after:
        logger.error(f"{file}: was edited after pandoc wrote it; the earlier text is at the end of {record.place}")
    else:
        write_file(file, intended)
        say(f"{file}: recovered, {len(intended):,} bytes", err=True)
