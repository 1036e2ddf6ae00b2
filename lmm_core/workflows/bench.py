"""Measure how well the sections of documents are found, in an index made for this alone.

Nothing of the project's own index is read or written.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import MarkdownError, QuestionsError, RetrieveError
from ..index.collection import parse_query
from ..index.encoding import has_dense
from ..logging import ListLogger, LoggerBase, printable
from ..markdown.files import load_markdown
from ..retrieve.library import Library
from ..retrieve.passages import Material, Passage, build_material
from ..retrieve.queries import MOST_CHARACTERS
from ..settings.project import Project
from ..store.opening import open_store
from ..store.places import LocalStorage
from ..store.vector_store import ScoredPoint
from ..study.measures import (
    DEPTH,
    Labelled,
    LabelledQuestion,
    QuestionResult,
    annotated_questions,
    judge,
    label_questions,
)
from .encode import encode_files
from .index import Upload
from .models import Models

QUESTIONS = "questions"
AT_ONCE = 200  # questions that are searched for together
FOUND = 5  # a section among so many hits counts as found


@dataclass(frozen=True)
class EncodingResult:
    """How an encoding has done with the questions. `embedding` names its model, "" for none."""

    encoding: str
    embedding: str
    outcomes: tuple[QuestionResult, ...]

    @property
    def name(self) -> str:
        """Return the encoding with its embedding model."""
        return f"{self.encoding} ({self.embedding})" if self.embedding else self.encoding

    def by_origin(self) -> dict[str, list[QuestionResult]]:
        """Return the outcomes by the origin of the questions, or nothing if there is only one origin."""
        parts: dict[str, list[QuestionResult]] = {}
        for one in self.outcomes:
            parts.setdefault(one.labelled.origin, []).append(one)
        return parts if len(parts) > 1 else {}


@dataclass(frozen=True)
class BenchReport:
    """The results of a measurement.

    annotations: were embedded beside the text; results: one for each encoding, the configured
    or first named one first; unlabelled: how many questions name no section."""

    annotations: tuple[str, ...]
    results: tuple[EncodingResult, ...]
    unlabelled: int

    @property
    def with_questions(self) -> bool:
        """Return True if the annotated questions were embedded."""
        return QUESTIONS in map(_plain, self.annotations)

    @property
    def embedded(self) -> str:
        """Return what was embedded, in two sentences, so that nobody takes the figures for others."""
        names = ", ".join(self.annotations) or "nothing"
        if self.with_questions:
            return f"Embedded with the text: {names}. The questions find themselves: students' will do worse."
        return f"Embedded with the text: {names}. The annotated questions are left out, so that they test the text."


def is_missed(outcome: QuestionResult) -> bool:
    """Tell whether a question does not find its section among the first hits."""
    return outcome.rank is None or outcome.rank > FOUND


def describe_rank(rank: int | None) -> str:
    """Return a rank in words."""
    return f"not among {DEPTH} hits" if rank is None else f"hit {rank}"


@dataclass
class Bench:
    """Searches documents for their questions, in an index for each encoding.

    encodings: names, by default the configured one and bm25; with_questions: embed the
    annotated questions, too; expect, progress: are told how many chunks there are, and how
    many more are written."""

    project: Project
    models: Models
    encodings: Sequence[str] = ()
    with_questions: bool = False
    logger: LoggerBase = field(default_factory=ListLogger)
    expect: Callable[[int], None] = lambda count: None
    progress: Callable[[int], None] = lambda count: None

    async def run(self, paths: Sequence[Path], questions: Path | None = None) -> BenchReport:
        """Return what was measured on some documents.

        questions: a file of students' questions, see `read_questions`. Errors in a document are
        reported, and the rest is measured. Raise QuestionsError, RetrieveError, StoreError,
        ModelError and ConfigError."""
        material = self._read(paths)
        asked = read_questions(questions) if questions else []
        labelled = [*annotated_questions(material), *label_questions(asked, material)]
        if not labelled:
            raise RetrieveError(
                "there are no questions to ask: `lmm rag FILES` makes some, --questions FILE adds those of students"
            )
        results: list[EncodingResult] = []
        for encoding in self.encodings or (self.project.index.encoding, "bm25"):
            if encoding not in [result.encoding for result in results]:
                results.append(await self._measure(paths, encoding, labelled))
        return BenchReport(self._annotations(), tuple(results), sum(not one.section for one in asked))

    def _read(self, paths: Sequence[Path]) -> Material:
        """Return the sections with their questions; no model is asked."""
        chunks = encode_files(paths, lambda path: self.project, self.logger)
        return build_material(ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks)

    def _annotations(self) -> tuple[str, ...]:
        """Return the annotations to embed: by default without the questions, which would give the answers away."""
        configured = self.project.index.annotations
        return tuple(name for name in configured if self.with_questions or _plain(name) != QUESTIONS)

    async def _measure(self, paths: Sequence[Path], encoding: str, labelled: Sequence[Labelled]) -> EncodingResult:
        index = replace(self.project.index, encoding=encoding, annotations=self._annotations())
        project = replace(self.project, index=replace(index, companion_encoding="none"))
        with TemporaryDirectory(prefix="lmm-bench-", ignore_cleanup_errors=True) as folder:
            store = open_store(LocalStorage(Path(folder) / "index"))
            try:
                # the errors in the documents have been reported
                upload = Upload(project, store, self.models, False, False, ListLogger(), self.expect, self.progress)
                await upload.run(paths)
                assert upload.encoder is not None
                library = Library(store, index.collection, upload.encoder, synonyms=project.synonyms)
                outcomes = await ask_all(library, labelled)
            finally:
                store.close()
        encoder = upload.encoder
        embedding = encoder.embedder.name if encoder.embedder and has_dense(encoder.model) else ""
        return EncodingResult(str(encoder.encoding), embedding, tuple(outcomes))


async def ask_all(library: Library, labelled: Sequence[Labelled]) -> list[QuestionResult]:
    """Search for each question as `lmm search` does. Raise StoreError, ModelError and RetrieveError."""
    outcomes: list[QuestionResult] = []
    for start in range(0, len(labelled), AT_ONCE):
        part = labelled[start : start + AT_ONCE]
        hits = await _search(library, [one.question[:MOST_CHARACTERS] for one in part])
        outcomes += map(judge, part, hits)
    return outcomes


async def _search(library: Library, questions: Sequence[str]) -> list[list[Passage]]:
    """Return the hits of each question. Those with the same type keyword are searched for together."""
    kinds = sorted((await library.material()).kinds)
    asked = [parse_query(question, kinds) for question in questions]
    found: dict[int, list[Passage]] = {}
    for kind in {one.type for one in asked}:
        numbers = [number for number, one in enumerate(asked) if one.type == kind]
        hits = await library.search([asked[number].text for number in numbers], DEPTH, kind)
        found.update(zip(numbers, hits, strict=True))
    return [found[number] for number in range(len(asked))]


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
        raise QuestionsError(f"{path}: a file of questions ends in .csv or .jsonl")
    try:
        text = load_markdown(path).text.removeprefix("\ufeff")
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
