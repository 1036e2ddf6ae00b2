"""Read labelled questions, from annotations and from files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import MarkdownError, QuestionsError, ToolError
from ..indexing.passages import Material
from ..logging import printable
from ..markdown.files import read_markdown
from ..retrieve.agents.names import find_section
from .measures import STUDENTS, Labelled


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question in a file.

    section: as named in the file, or ""
    place: `file:line`"""

    question: str
    section: str
    place: str


def annotated_questions(material: Material) -> list[Labelled]:
    """Return annotated questions in document order."""
    return [Labelled(question, section) for section in material.walk() for question in section.questions]


def label_questions(asked: Sequence[LabelledQuestion], material: Material) -> list[Labelled]:
    """Return the questions with a named section, resolved.

    Raise QuestionsError with one line per unknown or ambiguous section."""
    labelled, problems = [], []
    for one in asked:
        try:
            if one.section:
                labelled.append(Labelled(one.question, find_section(one.section, material), STUDENTS, one.place))
        except ToolError as error:
            problems.append(f"{one.place}: {error}")
    if problems:
        raise QuestionsError("\n".join(problems))
    return labelled


def _one_line(text: str) -> str:
    return printable(" ".join(text.split())).strip()


# Files


def read_questions(path: Path) -> list[LabelledQuestion]:
    """Return the questions of a `.csv` or `.jsonl` file.

    Columns or keys are `question` and `section`, which may be empty; CSV may use semicolons. Raise QuestionsError
    with file and line."""
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl}
    if path.suffix.lower() not in readers:
        raise QuestionsError(f"{path}: a file of questions ends in .csv or .jsonl")
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
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QuestionsError(f"{name}:{number}: is not JSON: {error}") from None
        if not isinstance(data, dict):
            raise QuestionsError(f'{name}:{number}: should be {{"question": …, "section": …}}')
        yield _asked(data.get("question"), data.get("section"), f"{name}:{number}")


def _asked(question: object, section: object, place: str) -> LabelledQuestion:
    text = _one_line(question) if isinstance(question, str) else ""
    if not text:
        raise QuestionsError(f"{place}: a question is missing")
    if not isinstance(section, str | None):
        raise QuestionsError(f"{place}: the section should be a text, not {section!r:.60}")
    return LabelledQuestion(text, (section or "").strip(), place)
