"""Read labelled questions from annotations and files, and measure retrieval on them in a temporary index.

hit@k and mean reciprocal rank (MRR) follow Voorhees, "The TREC-8 question answering track report", 1999.
A question's rank is the rank of the first hit in its section or below.

An annotated question would find itself, so it is removed from the index for its own search. Each round searches
for one question of every section."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import QuestionsError, RetrieveError, ToolError
from ..indexing.documents import encode_files
from ..indexing.encoding import Encoder
from ..indexing.passages import Key, Material, Passage, Section, build_material, split_questions
from ..indexing.refresh import Refresh
from ..logging import ListLogger, LoggerBase, Progress, printable
from ..markdown.files import read_markdown
from ..retrieve.context import build_context
from ..retrieve.library import Library, open_library
from ..retrieve.library_tools import find_section
from ..retrieve.matches import best_matches
from ..retrieve.search import HITS, MOST_CHARACTERS, Retrieval, Retriever
from ..settings.models import Models
from ..settings.project import Project
from ..store.places import LocalStorage, open_store
from ..store.vector_store import ScoredPoint, VectorStore, run_in_thread

DEPTH = HITS  # hits judged per question
FOUND = 5  # rank up to which a section counts as found
ANNOTATED, STUDENTS = "annotated", "students"  # origins of questions


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question with the section that answers it. place: `file:line`, for a student's question."""

    question: str
    section: Section
    origin: str = ANNOTATED
    place: str = ""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """Result of a question. rank: from 1, None beyond `DEPTH`; is_shown: to the model; is_refused: without one."""

    labelled: Labelled
    rank: int | None
    first: Passage | None
    is_shown: bool = False
    is_refused: bool = False

    @property
    def is_missed(self) -> bool:
        """True if the section is not among the first `FOUND` hits."""
        return self.rank is None or self.rank > FOUND


def judge(
    labelled: Labelled, hits: Sequence[Passage], shown: Collection[Key] = (), is_refused: bool = False
) -> QuestionResult:
    """Return the result of a question. hits: best first; shown: sections in the context."""
    right = {section.key for section in labelled.section.walk()}
    first = hits[0] if hits else None
    rank = next((rank for rank, hit in enumerate(hits[:DEPTH], 1) if hit.key in right), None)
    return QuestionResult(labelled, rank, first, not right.isdisjoint(shown), is_refused)


def measures(outcomes: Sequence[QuestionResult]) -> dict[str, float]:
    """Return the shares of questions (0 to 1) by name.

    hit@1 to hit@10: section among the first hits; shown: section in the model's context
    refused: not answered without a model"""
    ranks = [outcome.rank or DEPTH + 1 for outcome in outcomes]
    counts = {
        **{f"hit@{k}": sum(rank <= k for rank in ranks) for k in (1, 3, 5, 10)},
        "shown": sum(outcome.is_shown for outcome in outcomes),
        "refused": sum(outcome.is_refused for outcome in outcomes),
    }
    return {name: count / max(len(outcomes), 1) for name, count in counts.items()}


def mean_reciprocal_rank(outcomes: Sequence[QuestionResult]) -> float:
    """Return the mean of 1/rank (0 to 1), 0 for a missed section."""
    return sum(1 / outcome.rank for outcome in outcomes if outcome.rank is not None) / max(len(outcomes), 1)


def by_section(outcomes: Sequence[QuestionResult]) -> list[tuple[Section, list[QuestionResult]]]:
    """Return results by section in ascending MRR, each with the worst question first."""
    groups: dict[Key, list[QuestionResult]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.labelled.section.key, []).append(outcome)
    for group in groups.values():
        group.sort(key=lambda outcome: outcome.rank or DEPTH + 1)
        group.reverse()
    return [(group[0].labelled.section, group) for group in sorted(groups.values(), key=mean_reciprocal_rank)]


# Questions


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question in a file. section: as named there, or ""; place: `file:line`."""

    question: str
    section: str
    place: str


def label_questions(asked: Sequence[LabelledQuestion], material: Material) -> list[Labelled]:
    """Return the questions with a named section, resolved. Raise QuestionsError with a line per wrong section."""
    labelled, problems = [], []
    for question in asked:
        try:
            if question.section:
                labelled.append(
                    Labelled(question.question, find_section(question.section, material), STUDENTS, question.place)
                )
        except ToolError as error:
            problems.append(f"{question.place}: {error}")
    if problems:
        raise QuestionsError("\n".join(problems))
    return labelled


# Files


def read_questions(path: Path) -> list[LabelledQuestion]:
    """Return the questions of a `.csv` or `.jsonl` file.

    Columns or keys are `question` and `section`, which may be empty; CSV may use semicolons. Raise QuestionsError
    with file and line, OSError and MarkdownError."""
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl}
    if path.suffix.lower() not in readers:
        raise QuestionsError(f"{path}: a file of questions ends in .csv or .jsonl")
    text = read_markdown(path).text.removeprefix("\ufeff")
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
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QuestionsError(f"{name}:{number}: is not JSON: {error}") from None
        if not isinstance(data, dict):
            raise QuestionsError(f'{name}:{number}: should be {{"question": …, "section": …}}')
        yield _asked(data.get("question"), data.get("section"), f"{name}:{number}")


def _asked(question: object, section: object, place: str) -> LabelledQuestion:
    text = printable(" ".join(question.split())).strip() if isinstance(question, str) else ""
    if not text:
        raise QuestionsError(f"{place}: a question is missing")
    if not isinstance(section, str | None):
        raise QuestionsError(f"{place}: the section should be a text, not {section!r:.60}")
    return LabelledQuestion(text, (section or "").strip(), place)


# Bench


QUESTIONS = "questions"


@dataclass(frozen=True)
class EncodingResult:
    """Results for one encoding. embedding: model name, "" for none."""

    encoding: str
    embedding: str
    outcomes: tuple[QuestionResult, ...]

    @property
    def name(self) -> str:
        return f"{self.encoding} ({self.embedding})" if self.embedding else self.encoding

    def by_origin(self) -> dict[str, list[QuestionResult]]:
        """Return outcomes by origin of the question, empty for a single origin."""
        parts: dict[str, list[QuestionResult]] = {}
        for result in self.outcomes:
            parts.setdefault(result.labelled.origin, []).append(result)
        return parts if len(parts) > 1 else {}


@dataclass(frozen=True)
class BenchReport:
    """Results of a measurement.

    annotations: embedded ones; budget: tokens of the context; unlabelled: number of questions without a section
    results: the configured or first named encoding first"""

    annotations: tuple[str, ...]
    budget: int
    results: tuple[EncodingResult, ...]
    unlabelled: int


@dataclass
class Bench:
    """Searches for the questions of documents, in one index per encoding, by default the configured one."""

    project: Project
    models: Models
    encodings: Sequence[str] = ()
    logger: LoggerBase = field(default_factory=ListLogger)
    progress: Progress = field(default_factory=Progress)

    async def run(self, paths: Sequence[Path], questions: Path | None = None) -> BenchReport:
        """Return measurements of documents, skipping and logging faulty ones. questions: see `read_questions`.

        Raise QuestionsError, RetrieveError, StoreError, ModelError and ConfigError."""
        material = self._read(paths)
        asked = read_questions(questions) if questions else []
        annotated = [Labelled(question, section) for section in material.walk() for question in section.questions]
        labelled = [*annotated, *label_questions(asked, material)]
        if not labelled:
            raise RetrieveError(
                "There are no questions to ask: `lmm rag FILES` writes some, --questions FILE adds students' questions."
            )
        results: list[EncodingResult] = []
        for encoding in dict.fromkeys(self.encodings or [self.project.embeddings.encoding]):
            async with self._index(paths, encoding) as course:
                results.append(await self._measure(course, labelled))
        unlabelled = sum(not question.section for question in asked)
        annotations = _without_questions(self.project.embeddings.annotations)
        return BenchReport(annotations, self.project.ask.budget, tuple(results), unlabelled)

    def _read(self, paths: Sequence[Path]) -> Material:
        chunks = encode_files(paths, lambda path: self.project, self.logger)
        return build_material(ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks)

    @asynccontextmanager
    async def _index(self, paths: Sequence[Path], encoding: str) -> AsyncIterator[_IndexedCourse]:
        encoded = replace(self.project.embeddings, encoding=encoding)  # type: ignore[arg-type]  # one of `_encodings`
        ranked = replace(self.project, embeddings=encoded)  # keep ranking by the section's other questions
        annotations, own = map(_without_questions, (encoded.annotations, encoded.own_annotations))
        embeddings = replace(encoded, annotations=annotations, own_annotations=own)
        project = replace(self.project, embeddings=embeddings)
        with TemporaryDirectory(prefix="lmm-bench-", ignore_cleanup_errors=True) as folder:
            store = open_store(LocalStorage(Path(folder) / "index"))
            try:
                # document errors were logged by `_read`
                upload = Refresh(project, store, self.models, logger=ListLogger(), progress=self.progress)
                await upload.run(paths)
                points = await run_in_thread(lambda: list(store.scroll(project.database.collection_name)))
                yield _IndexedCourse(ranked, self.models, store, upload.encoder, points)
            finally:
                store.close()

    async def _measure(self, course: _IndexedCourse, labelled: Sequence[Labelled]) -> EncodingResult:
        self.progress.expect(len(labelled))
        results: dict[int, QuestionResult] = {}
        for asked in rounds(labelled):
            library = await course.without({labelled[at].question for at in asked if _is_annotated(labelled[at])})
            for at in asked:
                retrieval = await Retriever(library).retrieve(labelled[at].question[:MOST_CHARACTERS])
                results[at] = await run_in_thread(_judged, labelled[at], retrieval, self.project.ask.budget)
                self.progress.advance()
        encoder, outcomes = course.encoder, tuple(results[at] for at in range(len(labelled)))
        return EncodingResult(str(encoder.encoding), encoder.embedder.name if encoder.embedder else "", outcomes)


@dataclass
class _IndexedCourse:
    """An indexed course. points: of the whole collection, with all questions."""

    project: Project
    models: Models
    store: VectorStore
    encoder: Encoder
    points: Sequence[ScoredPoint]

    async def without(self, questions: Collection[str]) -> Library:
        collection = self.project.database.collection_name
        payloads = {
            point.id: {**point.payload, QUESTIONS: _left(point.payload[QUESTIONS], questions)}
            for point in self.points
            if point.payload.get(QUESTIONS)
        }
        await run_in_thread(self.store.set_payload, collection, payloads)
        return await open_library(self.project, self.models, self.store)


def _without_questions(annotations: Sequence[str]) -> tuple[str, ...]:
    """Return annotations to embed: questions could not be removed for their search."""
    return tuple(name for name in annotations if name.strip().removeprefix("~").removesuffix("=") != QUESTIONS)


def _left(value: object, questions: Collection[str]) -> list[str]:
    texts = value if isinstance(value, list) else [str(value)]
    return [question for text in texts for question in split_questions(text) if question not in questions]


def _is_annotated(labelled: Labelled) -> bool:
    return labelled.origin == ANNOTATED


def _judged(labelled: Labelled, retrieval: Retrieval, budget: int) -> QuestionResult:
    context = build_context(retrieval, budget)
    shown = {retrieval.material.passages[passage_id].key for source in context.sources for passage_id in source.ids}
    return judge(labelled, retrieval.passages, shown, not best_matches(retrieval))


def rounds(labelled: Sequence[Labelled]) -> list[list[int]]:
    """Return rounds of question numbers: students' questions, then one annotated question per section."""
    counts: Counter[Key] = Counter()
    numbered: dict[int, list[int]] = {}
    for at, question in enumerate(labelled):
        counts[question.section.key] += _is_annotated(question)
        numbered.setdefault(counts[question.section.key] if _is_annotated(question) else 0, []).append(at)
    return [numbered[number] for number in sorted(numbered)]
