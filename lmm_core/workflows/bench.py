"""Measure how well the sections of documents are found, in an index made for this alone.

Nothing of the project's own index is read or written.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..asked.turns import RecordedTurn
from ..errors import MarkdownError, QuestionsError, RetrieveError
from ..index.encoding import has_dense
from ..logging import ListLogger, LoggerBase, printable
from ..markdown.files import read_markdown
from ..retrieve.library import Library
from ..retrieve.passages import Material, build_material
from ..settings.project import Project
from ..store.opening import open_store
from ..store.places import LocalStorage
from ..store.threads import run_in_thread
from ..store.vector_store import ScoredPoint
from ..study.measures import (
    ANNOTATED,
    DEPTH,
    STUDENTS,
    Labelled,
    LabelledQuestion,
    QuestionResult,
    annotated_questions,
    label_questions,
)
from ..study.missing_words import MissingWord, missing_words
from ..study.strategies import IndexedCourse, Strategy, strategies_for
from .asked.bench import ThenAndNow, compare, label_turns, read_turns
from .encode import encode_files
from .indexing.run import Upload
from .models import Models

QUESTIONS = "questions"
EVERY = "all"  # names the encodings below, as far as they can be had
WITHOUT_MODEL, WITH_MODEL = ("bm25",), ("content", "merged", "hybrid")  # an embedding model


@dataclass(frozen=True)
class StrategyResult:
    """The results of the questions by a strategy."""

    strategy: Strategy
    outcomes: tuple[QuestionResult, ...]


@dataclass(frozen=True)
class EncodingResult:
    """The results of the questions by an encoding. `embedding` names its model, "" for none.

    strategies: the last one is that of `lmm ask`."""

    encoding: str
    embedding: str
    strategies: tuple[StrategyResult, ...]

    @property
    def name(self) -> str:
        """The encoding with its embedding model."""
        return f"{self.encoding} ({self.embedding})" if self.embedding else self.encoding

    @property
    def outcomes(self) -> tuple[QuestionResult, ...]:
        """The results by the strategy of `lmm ask`."""
        return self.strategies[-1].outcomes

    def by_origin(self) -> dict[str, list[QuestionResult]]:
        """Return the outcomes by the origin of the questions, or nothing if there is only one origin."""
        parts: dict[str, list[QuestionResult]] = {}
        for one in self.outcomes:
            parts.setdefault(one.labelled.origin, []).append(one)
        return parts if len(parts) > 1 else {}


@dataclass(frozen=True)
class BenchReport:
    """The results of a measurement.

    annotations: were embedded beside the text; budget: tokens of the context; results: one for each
    encoding, the configured or first named one first; missing: words of the questions that it missed;
    unlabelled: how many questions name no section; recorded: those of recordings, then and now."""

    annotations: tuple[str, ...]
    budget: int
    results: tuple[EncodingResult, ...]
    missing: tuple[MissingWord, ...]
    unlabelled: int
    recorded: ThenAndNow | None = None


def describe_rank(rank: int | None) -> str:
    """Return a rank in words."""
    return f"not among {DEPTH} hits" if rank is None else f"hit {rank}"


@dataclass
class Bench:
    """Searches documents for their questions, in an index for each encoding.

    encodings: names, or `EVERY`; by default the configured one; expect, progress: are told how many
    chunks and searches there are, and how many more are done."""

    project: Project
    models: Models
    encodings: Sequence[str] = ()
    logger: LoggerBase = field(default_factory=ListLogger)
    expect: Callable[[int], None] = lambda count: None
    progress: Callable[[int], None] = lambda count: None

    async def run(self, paths: Sequence[Path], questions: Path | None = None) -> BenchReport:
        """Return what was measured on some documents.

        questions: a file of students' questions (see `read_questions`), or recordings (see
        `read_turns`). Errors in a document are reported, and the rest is measured. Raise
        QuestionsError, RecordingError, RetrieveError, StoreError, ModelError and ConfigError."""
        material = self._read(paths)
        turns = read_turns(questions) if questions else None
        asked = read_questions(questions) if questions and turns is None else []
        answered, refused = label_turns(turns, material) if turns and material.documents else ([], [])
        labelled = [*annotated_questions(material), *label_questions(asked, material), *answered]
        if not labelled:
            raise RetrieveError(
                "there are no questions to ask: `lmm rag FILES` makes some, --questions FILE adds those of students"
            )
        results: list[EncodingResult] = []
        missing: list[MissingWord] = []
        recorded: ThenAndNow | None = None
        for encoding in self._named():
            if encoding in [result.encoding for result in results]:  # what is configured has got its name
                continue
            async with self._index(paths, encoding) as course:
                results.append(await self._measure(course, labelled))
                if len(results) == 1 and turns:
                    recorded = await self._compare(course, turns, results[0], refused)
                if len(results) == 1:
                    missed = [one.labelled for one in results[0].outcomes if one.is_missed]
                    missing = missing_words(missed, await course.without_questions())
        unlabelled = sum(not one.section for one in asked) + (len(turns) - len(answered) if turns else 0)
        return BenchReport(
            self._annotations(), self.project.ask.budget, tuple(results), tuple(missing), unlabelled, recorded
        )

    async def _compare(
        self, course: IndexedCourse, turns: Sequence[RecordedTurn], result: EncodingResult, refused: Sequence[Labelled]
    ) -> ThenAndNow:
        """Return what recorded questions found when they were asked, and what they find now."""
        last = result.strategies[-1].strategy
        self.expect(len(refused))
        again = (await course.measure(refused, (last,)))[last.name]
        return compare(turns, [one for one in result.outcomes if one.labelled.origin == STUDENTS], again)

    def _read(self, paths: Sequence[Path]) -> Material:
        """Return the sections with their questions; no model is asked."""
        chunks = encode_files(paths, lambda path: self.project, self.logger)
        return build_material(ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks)

    def _named(self) -> list[str]:
        """Return the encodings to measure, each once."""
        named = [one for one in self.encodings if one != EVERY] or [self.project.index.encoding]
        if EVERY in self.encodings:
            named += [*WITHOUT_MODEL, *(WITH_MODEL if self.models.embedder(self.project) else ())]
        return named

    def _annotations(self, own: bool = False) -> tuple[str, ...]:
        """Return the annotations to embed: not the questions, of which none can be left out while it is asked."""
        index = self.project.index
        return tuple(
            name for name in (index.own_annotations if own else index.annotations) if _plain(name) != QUESTIONS
        )

    @asynccontextmanager
    async def _index(self, paths: Sequence[Path], encoding: str) -> AsyncIterator[IndexedCourse]:
        """Index the documents in a temporary folder, for the block."""
        index = replace(
            self.project.index,
            encoding=encoding,
            annotations=self._annotations(),
            own_annotations=self._annotations(True),
        )
        project = replace(self.project, index=replace(index, companion_encoding="none"))
        with TemporaryDirectory(prefix="lmm-bench-", ignore_cleanup_errors=True) as folder:
            store = open_store(LocalStorage(Path(folder) / "index"))
            try:
                # the errors in the documents have been reported
                upload = Upload(project, store, self.models, False, False, ListLogger(), self.expect, self.progress)
                await upload.run(paths)
                assert upload.encoder is not None
                library = Library(store, index.collection, upload.encoder, synonyms=project.synonyms)
                points = await run_in_thread(lambda: list(store.scroll(index.collection)))
                yield IndexedCourse(library, points, project.ask.budget, self.progress)
            finally:
                store.close()

    async def _measure(self, course: IndexedCourse, labelled: Sequence[Labelled]) -> EncodingResult:
        annotated = any(one.origin == ANNOTATED for one in labelled)
        strategies = strategies_for(course.library.compares(), annotated)
        self.expect(len(strategies) * len(labelled))
        found = await course.measure(labelled, strategies)
        encoder = course.library.encoder
        embedding = encoder.embedder.name if encoder.embedder and has_dense(encoder.model) else ""
        results = tuple(StrategyResult(one, tuple(found[one.name])) for one in strategies)
        return EncodingResult(str(encoder.encoding), embedding, results)


def _plain(name: str) -> str:
    """Return the name of an annotation without the marks of who wrote it."""
    return name.strip().removeprefix("~").removesuffix("=")


# Files of questions


def read_questions(path: Path) -> list[LabelledQuestion]:
    """Return the questions of a file.

    A `.csv` file has the columns `question` and `section`, which its first line names; other
    columns are ignored, and semicolons may separate them. A `.jsonl` file has an object with
    these keys in each line. The section may be empty. Raise QuestionsError, with file and line."""
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl}
    if path.suffix.lower() not in readers:
        raise QuestionsError(f"{path}: a file of questions ends in .csv, .jsonl or .sqlite")
    try:
        text = read_markdown(path).text.removeprefix("\ufeff")
    except OSError as error:
        raise QuestionsError(f"{path}: {error.strerror or error}") from None
    except MarkdownError as error:
        raise QuestionsError(str(error)) from None
    return list(readers[path.suffix.lower()](text, str(path)))


def _read_csv(text: str, name: str) -> Iterator[LabelledQuestion]:
    header = text.partition("\n")[0]
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=";" if ";" in header else ",")
    try:
        if not {"question", "section"} <= set(rows.fieldnames or ()):
            raise QuestionsError(f"{name}:1: the first line should be `question,section`, not {header.strip()!r:.60}")
        for row in rows:
            yield _asked(row["question"], row["section"], f"{name}:{rows.line_num}")
    except csv.Error as error:
        raise QuestionsError(f"{name}:{rows.line_num}: {error}") from None


def _read_jsonl(text: str, name: str) -> Iterator[LabelledQuestion]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QuestionsError(f"{name}:{number}: is not JSON: {error}") from None
        if not isinstance(said, dict):
            raise QuestionsError(f'{name}:{number}: should be {{"question": …, "section": …}}')
        yield _asked(said.get("question"), said.get("section"), f"{name}:{number}")


def _asked(question: object, section: object, place: str) -> LabelledQuestion:
    question = printable(" ".join(question.split())).strip() if isinstance(question, str) else ""
    if not question:
        raise QuestionsError(f"{place}: a question is missing")
    if not isinstance(section, str | None):
        raise QuestionsError(f"{place}: the section should be a text, not {section!r:.60}")
    return LabelledQuestion(question, (section or "").strip(), place)
