"""The commands on the index: send documents to it, search in it, and look at the chunks."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ...errors import MarkdownError, ModelError, StoreError
from ...files.outputs import HTML, write_output
from ...files.walk import INDEXED
from ...logging import counted, one_line, put, say
from ...markdown.blocks import serialize_blocks
from ...models.names import DEFAULT, NO_MODEL
from ...models.sources import ModelSource
from ...scan.check.words import nearest
from ...scan.documents.passes import work_on
from ...settings.models import Models
from ...settings.project import Project
from ...settings.quarto_inputs import DocumentFinder
from ..arguments import (
    check_written,
    exclude_option,
    find_documents,
    folders_argument,
    json_option,
    output_option,
    project_at,
    quiet_option,
    searched_project,
)
from ..files import at_every_save, is_done, say_at
from ..formulas import readable
from ..reports import ProgressBar, ReportPrinter, at_most, exit_with_status, print_json, report_failure, shorten, warn
from ..running import run, run_or_report, with_library
from ..session import Saved, SavedFiles

if TYPE_CHECKING:
    from ...index.chunks import Chunk
    from ...index.encoding import Encoder
    from ...index.records import Counts
    from ...retrieve.library import Library
    from ...store.vector_store import ScoredPoint

ONLY_WORDS = (
    "Only words are compared (BM25). To search by meaning, name a model in config.toml ([embeddings] dense_model)."
)
WORDS_INDEX = (
    "The index compares words (BM25). To search by meaning with {}, run `lmm index --rebuild` with the same FILES."
)
SNIPPET = 400  # characters: a passage whole, and the beginning of a section


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="FILES…")
@exclude_option
@click.option("--info", is_flag=True, help="Show what is in the index of this folder; without FILES.")
@click.option("--annotate", is_flag=True, help="Make missing annotations first, and write them into the files.")
@click.option("--prune", is_flag=True, help="Remove the chunks of files that are gone from anywhere.")
@click.option("--rebuild", is_flag=True, help="Make the collections anew.")
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would be done.")
@click.option("--watch", is_flag=True, help="Go on: index each document when it is saved. Ctrl-C ends it.")
@quiet_option
@json_option
def index(
    paths: tuple[Path, ...],
    finder: DocumentFinder,
    info: bool,
    annotate: bool,
    prune: bool,
    rebuild: bool,
    dry_run: bool,
    watch: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Send documents to the index. Only what has changed is embedded."""
    if info and (paths or annotate or prune or rebuild or dry_run or watch):
        raise click.UsageError("--info takes neither files nor other options than --json")
    if info:
        _print_info(as_json)
        return
    if not paths:
        raise click.UsageError("Missing argument 'FILES…'.")
    if watch and (rebuild or dry_run or as_json):
        raise click.UsageError("--watch excludes --rebuild, --dry-run and --json")
    logger = ReportPrinter(quiet)
    files = find_documents(paths, logger, INDEXED, finder)
    if watch:
        saves = SavedFiles(paths, finder, INDEXED)
        run = _IndexRun(paths, finder, annotate, prune)
        at_every_save(saves, lambda saved: _index_saved(replace(run, finder=replace(finder)), saved, quiet))
        return
    run = _IndexRun(paths, finder, annotate, prune, rebuild, dry_run)
    skipped = [{"path": report.path, "reason": report.message} for report in logger.reports]
    began, counts = time.monotonic(), run.index(files, logger)
    if counts is None:
        sys.exit(1)
    seconds = time.monotonic() - began
    if as_json:
        priced = {} if (money := run.money()) is None else {"tokens": run.tokens, "most_cost": money}
        report = {**asdict(counts), "seconds": round(seconds, 2), "dry_run": dry_run, "skipped": skipped, **priced}
        print_json(report)
    elif not quiet:
        run.print_counts(counts, seconds)
    exit_with_status(logger)


@dataclass
class _IndexRun:
    """One run of `lmm index`, with its options.

    languages: of the files that were read; encoder: the one that was used; tokens, source: to be
    embedded in a dry run, and of the model that has a price."""

    paths: tuple[Path, ...]
    finder: DocumentFinder
    annotate: bool
    prune: bool
    rebuild: bool = False
    dry_run: bool = False
    languages: Counter[tuple[str, str]] = field(default_factory=Counter, init=False)
    encoder: Encoder | None = field(default=None, init=False)
    named_model: str = field(default="", init=False)
    tokens: int = field(default=0, init=False)
    source: ModelSource | None = field(default=None, init=False)

    def index(self, files: Sequence[Path], logger: ReportPrinter) -> Counts | None:
        """Index files. Return what was done, or None if that failed, which is reported."""
        from ...index.refresh import Refresh
        from ...index.stores import open_index

        project = project_at(files[0] if files else self.paths[0] / "-")
        models = Models(warn=warn)

        async def work() -> Counts:
            async with open_index(project, models) as store:
                with ProgressBar(logger.quiet, "index") as bar:
                    refresh = Refresh(
                        project, store, models, self.annotate, self.dry_run, logger, bar.expect, bar.add,
                        is_left_out=self.finder.left_out_finder(self.paths), rebuild=self.rebuild,
                    )  # fmt: skip
                    counts = await refresh.run(files)
                counts.removed += refresh.drop_left_out() + refresh.prune(None if self.prune else self.paths)
                if not self.prune:
                    refresh.report_gone()
                self.languages, self.encoder = refresh.languages, refresh.encoder
                settings = project.embeddings
                by_meaning = settings.encoding == "default" and settings.dense_model not in (DEFAULT, NO_MODEL.source)
                self.named_model = settings.dense_model if by_meaning else ""
                self.tokens, self.source = refresh.tokens, refresh.priced_source()
                return counts

        return run_or_report(work(), logger)

    def print_counts(self, counts: Counts, seconds: float) -> None:
        """Print what was done, and how to get search by meaning if there is no embedding model."""
        if self.encoder is not None and self.encoder.embedder is None:
            say(WORDS_INDEX.format(self.named_model) if self.named_model else ONLY_WORDS, err=True)
        done = f"{counted(counts.documents, 'document')}, {counts.describe(self.dry_run)}"
        for line in filter(None, [f"{done}, {seconds:.1f} s", _describe_languages(self.languages), self._money()]):
            say(line, err=True)

    def money(self) -> float | None:
        """Return what the tokens of a dry run cost at most, None without a price: vectors in the cache cost nothing."""
        return self.source.money(self.tokens) if self.source is not None and self.dry_run else None

    def _money(self) -> str:
        money = self.money()
        if money is None or self.source is None:
            return ""
        return f"about {self.tokens:,} tokens to embed: {at_most(money, [self.source.name])}"


def _describe_languages(numbers: Mapping[tuple[str, str], int]) -> str:
    """Return in words the languages of documents, given by code and by what names them, with their numbers.

    Only those that were recognized are marked, since they may be wrong."""
    from ...models.languages.stemming import language_name

    shown = Counter[str]()
    for (code, named_by), count in numbers.items():
        mark = ", recognized" if named_by == "recognized" else ""
        shown[f"{language_name(code) if code else 'unknown'} ({{}}{mark})"] += count
    order = sorted(shown.items(), key=lambda one: (-one[1], one[0]))
    listed = [name.format(counted(count, "file")) for name, count in order]
    return f"languages: {', '.join(listed)}" if listed else ""


def _print_info(as_json: bool) -> None:
    """Print what is in the index that is searched from the working folder."""
    from ...index.stores import index_info

    project, logger = searched_project(), ReportPrinter()
    try:
        found = index_info(project)
    except StoreError as error:
        logger.error(str(error))
        sys.exit(1)
    if as_json:
        print_json(asdict(found))
        return
    for line in found.lines():
        say(one_line(line))


def _index_saved(run: _IndexRun, saved: Saved, quiet: bool) -> bool:
    """Index what was saved, and print what has changed. Return False if it failed."""
    counts: list[Counts | None] = []
    done = is_done(lambda: counts.append(run.index(saved.paths, ReportPrinter(quiet))))
    for one in counts:
        if one is not None and (one.written or one.moved or one.removed) and not quiet:
            say_at(f"{counted(one.documents, 'document')}, {one.describe()}")
    return done and None not in counts


@click.command()
@click.argument("query", required=False)
@click.option("-k", "limit", type=click.IntRange(1), metavar="N", help="How many results (6).")
@click.option(
    "--type", "kind", default="", metavar="TYPE", help="Find only chunks of this type (exercise, summary, …)."
)
@click.option("--no-type", is_flag=True, help="Find only chunks without a type.")
@click.option("--under", default="", metavar="PATH", help="Search only in a section (a path like 1.2) or a file.")
@click.option("--group", is_flag=True, help="Find whole sections in place of chunks.")
@click.option("--values", "key", default="", metavar="KEY", help="List the values of a key of the chunks; no QUERY.")
@json_option
def search(
    query: str | None, limit: int | None, kind: str, no_type: bool, under: str, group: bool, key: str, as_json: bool
) -> None:
    """Find chunks by a question or by words. *exercise* in it puts exercises first."""
    from ...index.collection import afind_documents, chunks_for, find_types
    from ...retrieve.search import search_filter, search_points
    from ...store.threads import run_in_thread

    if key and (query or limit or kind or no_type or under or group):
        raise click.UsageError("--values takes neither a QUERY nor other options than --json")
    if key:
        _print_values(key, as_json)
        return
    asked, logger = _checked_query(query), ReportPrinter()
    project = searched_project()
    models = Models(warn=warn)

    async def work(library: Library) -> tuple[list[ScoredPoint], dict[str, int]]:
        store, collection, most = library.store, library.collection, limit or 6
        where = await run_in_thread(search_filter, store, collection, kind, no_type, under)
        for names in (await library.words()).synonyms.used(asked):
            say(f"searching also for other names: {one_line(str(names))}", err=True)
        points = await search_points(library, asked, chunks_for(most) if group else most, where, warn)
        if group:
            points = await afind_documents(store, collection, project.database.companion_collection, points, most)
        return points, {} if points else {name: count for name, count in find_types(store, collection).items() if name}

    found = with_library(project, models, work, logger)
    if found is None:
        sys.exit(1)
    points, types = found
    if not points:
        say(_nothing_found(asked, kind, under, types), err=True)
    if as_json:
        print_json([{"id": point.id, "score": point.score, **point.payload} for point in points])
    else:
        for point in points:
            _print_point(point, project)


def _checked_query(query: str | None) -> str:
    if query is None:
        raise click.UsageError("Missing argument 'QUERY'.")
    if not query.strip():
        raise click.UsageError("an empty query: say what to look for")
    return query


def _print_values(key: str, as_json: bool) -> None:
    """Print the values of a key in the index with the numbers of their chunks."""
    from ...retrieve.search import count_values
    from ...store.threads import run_in_thread

    project, logger = searched_project(), ReportPrinter()

    async def work(library: Library) -> tuple[dict[str, int], int]:
        return await run_in_thread(count_values, library.store, library.collection, key)

    found = with_library(project, Models(warn=warn), work, logger)
    if found is None:
        sys.exit(1)
    counts, without = found
    if as_json:
        print_json(counts)
        return
    for value, count in counts.items():
        say(one_line(f"{count:>6}  {value}"))
    if without:
        say(f"{counted(without, 'chunk')} without {one_line(key)}", err=True)


def _nothing_found(query: str, kind: str, under: str, types: dict[str, int]) -> str:
    """Return a sentence about a search without results, with the types of material that there are."""
    where = f" under {under}" if under else ""
    if kind and kind not in types:
        near = nearest(kind, types)
        said = f"nothing has the type {kind!r}" + (f"; did you mean {near!r}?" if near else "")
    else:
        said = f"nothing found for {query!r}{f' of the type {kind!r}' if kind else ''}{where}"
    listed = ", ".join(f"{name} ({count})" for name, count in types.items())
    return one_line(f"{said} (the types here: {listed})" if types else f"{said} (nothing here has a type)")


def _print_point(point: ScoredPoint, project: Project) -> None:
    from ...retrieve.search import PASSAGE

    payload = point.payload
    titles = readable(" > ".join(payload.get("titles") or []))
    kind = payload.get("type")
    badge = f" [{kind if isinstance(kind, str) else ', '.join(kind)}]" if kind else ""
    path = shorten(project.root / str(payload.get("source", "")))
    text = readable(" ".join(str(payload.get(PASSAGE) or payload.get("page_content", "")).split()))
    say(f"{point.score:.3f}  ", nl=False)
    say(one_line(titles), nl=False, style="bold")
    say(one_line(badge))
    say(f"       {one_line(str(path))}:{payload.get('line_start')}-{payload.get('line_end')}{_page(payload)}")
    say(f"       {text[:SNIPPET]}{'…' if len(text) > SNIPPET else ''}\n")


def _page(payload: Mapping[str, Any]) -> str:
    """Return the page of an imported text, as it is shown, or ""."""
    from ...index.passages import page_of

    page = page_of(payload)
    return f" (page {page})" if page else ""


# What would be indexed


@click.command()
@folders_argument
@output_option("--html", "html", help="Write a page to look at.")
@click.option("--markdown", is_flag=True, help="Print the documents as they are cut, as markdown.")
@json_option
def chunks(paths: tuple[Path, ...], finder: DocumentFinder, html: Path | None, markdown: bool, as_json: bool) -> None:
    """List the chunks of documents: sizes, places, and what will be embedded."""
    from ...index.documents import encode_files
    from ..chunk_page import chunk_page

    logger = ReportPrinter()
    files = find_documents(paths, logger, INDEXED, finder)
    if markdown and (html is not None or as_json):
        raise click.UsageError("--markdown, --html and --json exclude each other")
    if markdown:
        _print_cut(files, logger)
    if html is not None:
        check_written(html, files, HTML)
    try:
        found = encode_files(files, project_at, logger, Models(warn=warn))
    except (ModelError, StoreError) as error:
        logger.error(str(error))
        exit_with_status(logger)
    if html is not None:
        write_output(html, chunk_page(found).encode("utf-8"))
    elif as_json:
        print_json([{**chunk.payload, "id": chunk.uuid, "encoded": asdict(chunk.texts)} for chunk in found])
    else:
        for chunk in found:
            _print_chunk(chunk)
    exit_with_status(logger)


def _print_cut(files: Sequence[Path], logger: ReportPrinter) -> NoReturn:
    """Print documents as they are cut for the index, and exit."""
    from ...index.documents import split_work

    work = split_work(project_at, Models(warn=warn))
    for path in files:
        try:
            put(serialize_blocks(run(work_on(path, work, logger))[1]))
        except (ModelError, StoreError) as error:
            logger.error(str(error))
            break
        except (OSError, MarkdownError) as error:
            report_failure(error, path, logger)
    exit_with_status(logger)


def _print_chunk(chunk: Chunk) -> None:
    payload = chunk.payload
    place = f"{payload['source']}:{payload['line_start']}-{payload['line_end']}"
    kind = f" [{payload['type']}]" if payload.get("type") else ""
    say(one_line(f"{place:<36} {len(chunk.content):>5} characters  {' > '.join(payload['titles'])}{kind}"))
    say("    " + " ".join(chunk.content.split())[:110])
    questions = chunk.annotations.split("\n")[1:]
    if questions:
        say(f"    with: {'; '.join(questions)[:106]}")
