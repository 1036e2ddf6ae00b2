"""Record students' questions and answers in a project's SQLite file, and export them.

Only its owner can read it, git ignores it, and deleted rows are overwritten."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, astuple, dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

from ...errors import FolderError, RecordingError
from ...files.marked import check_inside, hide_from_git

SECTIONS_COMPARED = 5  # best sections found

# answered: with citations; partly: with citations, but the model reported that the notes do not answer;
# refused: not answered by the notes; off_topic: not a subject of the course; broken: incomplete, or the model
# was unavailable; stopped: by the student.
Outcome = Literal["answered", "partly", "refused", "off_topic", "broken", "stopped"]


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """A section found for a question. section: `file#anchor`; titles: heading path; rank: of its best passage."""

    section: str
    titles: tuple[str, ...]
    rank: int
    score: float
    cited: bool = False


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A question with its answer.

    id: random, used for feedback; conversation: random id of a page view, "" if not recorded
    hour: UTC, `2026-11-22T14`; type: requested type, "" for any
    answer: "" if only questions are recorded; sources: best first; by: `source/model`
    first_word, seconds: time to the first word and the end; thumb: 1 up, -1 down, 0 none"""

    id: str
    conversation: str
    hour: str
    question: str
    type: str = ""
    answer: str = ""
    outcome: Outcome = "answered"
    sources: tuple[RecordedSource, ...] = ()
    by: str = ""
    first_word: float | None = None
    seconds: float | None = None
    asked_tokens: int = 0
    answered_tokens: int = 0
    thumb: int = 0
    comment: str = ""


def is_failure(turn: RecordedTurn) -> bool:
    """Return True for a question that was not fully answered, or got a thumb down."""
    return turn.outcome in ("refused", "partly") or turn.thumb < 0


def answering_section(turn: RecordedTurn) -> str:
    """Return the best cited section, "" for none or after a thumb down."""
    return next((source.section for source in turn.sources if source.cited and turn.thumb >= 0), "")


def found_sections(turn: RecordedTurn) -> dict[str, float]:
    """Return weights of the best sections found, empty if they are not informative."""
    if turn.outcome in ("refused", "off_topic"):
        return {}
    best = max((source.score for source in turn.sources), default=0.0) or 1.0
    shares = ((source.section, max(source.score, 0.0) / best) for source in turn.sources[:SECTIONS_COMPARED])
    return {section: share**2 for section, share in shares if share}


def export_lines(turns: Iterable[RecordedTurn]) -> str:
    """Return one line of JSON per turn, starting with question and answering section."""
    lines = []
    for turn in turns:
        data = asdict(turn)
        first = {"question": data.pop("question"), "section": answering_section(turn)}
        lines.append(json.dumps(first | data, ensure_ascii=False) + "\n")
    return "".join(lines)


# Recordings


PLACE = (".lmm", "asked.sqlite")
BESIDE = ("", "-journal", "-wal", "-shm")  # SQLite's files
PATIENCE = 5.0  # seconds to wait for the lock of another process
HOUR = "%Y-%m-%dT%H"
MOST_PAGES = 65_536  # of 4 KB: 256 MB, some 50,000 answers, so that no client can fill the disk
OURS = 0x6C6D6D61  # SQLite's application_id, "lmma"
VERSION = 2
NAMES = tuple(field.name for field in fields(RecordedTurn))
SCHEMA = """
CREATE TABLE IF NOT EXISTS turns (
    number INTEGER PRIMARY KEY, "id" TEXT NOT NULL UNIQUE, "conversation" TEXT NOT NULL, "hour" TEXT NOT NULL,
    "question" TEXT NOT NULL, "type" TEXT NOT NULL, "answer" TEXT NOT NULL, "outcome" TEXT NOT NULL,
    "sources" TEXT NOT NULL, "by" TEXT NOT NULL, "first_word" REAL, "seconds" REAL,
    "asked_tokens" INTEGER NOT NULL, "answered_tokens" INTEGER NOT NULL,
    "thumb" INTEGER NOT NULL, "comment" TEXT NOT NULL
)
"""
# Turns used in a proposal
PROPOSED = 'CREATE TABLE IF NOT EXISTS proposed ("id" TEXT PRIMARY KEY)'
COLUMNS = ", ".join(f'"{name}"' for name in NAMES)
# Scripts without spaces between words (Thai to Tibetan, Burmese, Khmer, Chinese, Japanese), and Korean,
# whose words take endings
UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"

Result = TypeVar("Result")


def recordings_path(project_root: Path) -> Path:
    return project_root.joinpath(*PLACE)


def this_hour(now: datetime | None = None) -> str:
    """Return an hour (default: now) as it is recorded."""
    return (now or datetime.now(UTC)).strftime(HOUR)


class Recordings:
    """The recordings in a file, created with the first turn. Safe for threads and processes.

    Methods raise RecordingError if the file is locked, broken, foreign, or the disk is full."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, turn: RecordedTurn) -> None:
        statement = f"INSERT INTO turns ({COLUMNS}) VALUES ({', '.join('?' * len(NAMES))})"
        self._do(lambda open_: open_.execute(statement, _row(turn)), make=True)

    def judge(self, id: str, thumb: int, comment: str = "") -> bool:
        """Replace a student's feedback on an answer; return False for an unknown id."""
        values = (thumb, _text(comment), id)
        statement = "UPDATE turns SET thumb = ?, comment = ? WHERE id = ?"
        return bool(self._do(lambda open_: open_.execute(statement, values).rowcount, default=0))

    def turns(self) -> list[RecordedTurn]:
        statement = f"SELECT {COLUMNS} FROM turns ORDER BY number"
        rows = self._do(lambda open_: open_.execute(statement).fetchall(), default=[])
        try:
            return list(map(_turn, rows))
        except (ValueError, TypeError) as error:
            raise self._unusable(f"is damaged ({error}); remove it with `lmm asked delete`") from error

    def mark_proposed(self, ids: Iterable[str]) -> None:
        rows = [(turn_id,) for turn_id in ids]
        statement = 'INSERT OR IGNORE INTO proposed ("id") VALUES (?)'
        self._do(lambda open_: open_.executemany(statement, rows))

    def proposed(self) -> frozenset[str]:
        rows = self._do(lambda open_: open_.execute('SELECT "id" FROM proposed').fetchall(), default=[])
        return frozenset(row[0] for row in rows)

    def delete(self) -> int:
        """Delete all turns and return their number. A broken file, or one on a full disk, is removed."""
        try:
            return self._remove("1", [()])
        except RecordingError as error:
            if not (_is_broken(error.__cause__) or "full" in str(error.__cause__)):
                raise
            self._remove_files()
            return 0

    def forget(self, word: str) -> int:
        """Delete turns containing a word or phrase, ignoring case, and return their number."""
        wanted = _pattern(word)
        texts = {turn.id: f"{turn.question}\n{turn.answer}\n{turn.comment}" for turn in self.turns()}
        return self._remove('"id" = ?', [(id,) for id, text in texts.items() if wanted.search(_folded(text))])

    def expire(self, days: int, now: datetime | None = None) -> int:
        """Delete turns older than some days and return their number."""
        oldest = this_hour((now or datetime.now(UTC)) - timedelta(days=days))
        return self._remove("hour < ?", [(oldest,)])

    # The file

    def _remove(self, where: str, values: Sequence[tuple[str, ...]]) -> int:
        def work(open_: sqlite3.Connection) -> int:
            count = open_.executemany(f"DELETE FROM turns WHERE {where}", values).rowcount
            open_.execute('DELETE FROM proposed WHERE "id" NOT IN (SELECT "id" FROM turns)')
            return count

        if count := max(self._do(work, default=0), 0):
            self._do(lambda open_: open_.execute("VACUUM"))  # overwrites what moving rows has left behind
        return count

    def _do(self, work: Callable[[sqlite3.Connection], Result], *, make: bool = False, default: Any = None) -> Result:
        """Run work in a transaction, or return the default without a file. make: create it."""
        try:
            if not (make or os.path.lexists(self.path)):
                return default  # type: ignore[no-any-return]
            with closing(self._open()) as connection, connection:
                return work(connection)
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(_reason(error)) from error
        except FolderError as error:
            raise RecordingError(str(error)) from error

    def _unusable(self, why: str) -> RecordingError:
        return RecordingError(f"{self.path}: {why}")

    def _open(self) -> sqlite3.Connection:
        folder = self.path.parent
        for ending in BESIDE:
            check_inside(folder.parent, folder / f"{self.path.name}{ending}")
        if not self.path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            hide_from_git(folder)
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600))
        connection = sqlite3.connect(self.path, timeout=PATIENCE)
        try:
            self._prepare(connection)
        except (sqlite3.Error, RecordingError):
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA secure_delete = ON")  # overwrite deleted rows with zeros
        connection.execute("PRAGMA temp_store = MEMORY")  # keep temporary data off the disk
        connection.execute(f"PRAGMA max_page_count = {MOST_PAGES}")
        if _pragma(connection, "application_id") != OURS:
            with connection:
                self._make_table(connection)
        if _pragma(connection, "user_version") != VERSION:
            raise self._unusable("was written by another version of lmm; move it away, or use that version")
        connection.execute(PROPOSED)  # missing in older files of this version
        with suppress(sqlite3.OperationalError):  # older files have a write-ahead log, perhaps in use
            connection.execute("PRAGMA journal_mode = DELETE")

    def _make_table(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")  # let one process create it
        if _pragma(connection, "application_id") == OURS:
            return
        if connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            raise self._unusable("is the database of another program; move it away")
        connection.execute(SCHEMA)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(f"PRAGMA application_id = {OURS}")

    def _remove_files(self) -> None:
        for ending in BESIDE:
            place = self.path.with_name(f"{self.path.name}{ending}")
            try:
                place.unlink(missing_ok=True)
            except OSError as error:
                raise RecordingError(f"{place}: {error.strerror}") from error


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _reason(error: sqlite3.Error | OSError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if _is_broken(error):
        return f"is broken ({error}); move it away, or remove it with `lmm asked delete`"
    if "full" in str(error):
        return f"the disk is full, or the file has {MOST_PAGES // 256} MB; export and delete what is recorded"
    if "locked" in str(error):
        return "another process is writing to it; try again"
    return str(error)


def _is_broken(error: BaseException | None) -> bool:
    return isinstance(error, sqlite3.DatabaseError) and any(
        sign in str(error) for sign in ("not a database", "malformed", "corrupt")
    )


# Rows


def _row(turn: RecordedTurn) -> list[Any]:
    values = {name: getattr(turn, name) for name in NAMES}
    values["sources"] = json.dumps([astuple(source) for source in turn.sources])
    return [_text(value) if isinstance(value, str) else value for value in values.values()]


def _turn(row: Sequence[Any]) -> RecordedTurn:
    values = dict(zip(NAMES, row, strict=True))
    sources: Iterable[Any] = json.loads(values.pop("sources"))
    recorded = tuple(
        RecordedSource(section, tuple(titles), rank, score, cited) for section, titles, rank, score, cited in sources
    )
    return RecordedTurn(**values, sources=recorded)


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode("utf-8")


# Words to forget


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return folded.replace("’", "'")  # phones type O’Neil, teachers O'Neil


def _pattern(word: str) -> re.Pattern[str]:
    """Return a pattern for folded text; of whole words, if the script has spaces. Raise RecordingError."""
    words = _folded(word).split()
    if not words:
        raise RecordingError("The word is empty: say which one to forget.")
    inner = r"\s+".join(map(re.escape, words))
    letter = rf"(?![{UNSPACED}])[^\W_]"
    before = rf"(?<![^\W_{UNSPACED}])" if re.match(letter, words[0]) else ""
    after = rf"(?!{letter})" if re.match(letter, words[-1][-1]) else ""
    return re.compile(f"{before}{inner}{after}")
