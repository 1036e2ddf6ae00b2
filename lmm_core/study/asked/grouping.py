"""Group recorded questions of similar meaning.

A row holds the words of a question and, if the notes answered it, the sections that did. The similarity of two
questions is the dot product of their rows."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...models.embedders.bm25 import Bm25Encoder
from ...retrieve.library import Library
from ...retrieve.ranking.words import asked_words
from .recordings import RecordedTurn, found_sections

FEWEST = 3  # conversations from which a group is shown, or gets a proposal
THRESHOLD = 0.25  # mean product with a group's rows from which a question joins it
MOST_COMPARED = 2_000  # most frequent questions, which make the groups; others only join them
WORDS_OF_ANSWERED, SECTIONS = 0.2, 0.4  # shares of words and sections in a row's product with itself
OTHER_QUESTIONS = 200  # questions assumed in addition, to smooth the rarity of words

Row = Mapping[str, float]  # weights of words and sections


@dataclass(frozen=True)
class QuestionGroup:
    """Questions of similar meaning, the most typical first."""

    turns: tuple[RecordedTurn, ...]

    @property
    def name(self) -> str:
        return self.turns[0].question

    @property
    def size(self) -> int:
        return count_askers(self.turns)


def count_askers(turns: Sequence[RecordedTurn]) -> int:
    """Return the number of conversations. A question without a recorded conversation counts as one."""
    conversations = {turn.conversation for turn in turns if turn.conversation}
    return len(conversations) + sum(not turn.conversation for turn in turns)


# The rows


async def make_rows(library: Library, turns: Sequence[RecordedTurn]) -> list[Row]:
    """Return a row for each turn. Raise StoreError and RetrieveError."""
    languages, language = sorted(filter(None, (await library.material()).languages)), library.language
    encoder, words = Bm25Encoder(language), {}
    for question in {turn.question for turn in turns}:
        vector = encoder.encode_query(" ".join(asked_words(question, language)), languages)
        words[question] = dict(zip(vector.indices, vector.values, strict=True))
    rarity = _rarity(words[turn.question] for turn in turns)
    return [make_row(turn, words[turn.question], rarity) for turn in turns]


def _rarity(questions: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Return the root of each word's inverse frequency, so that the rarest one does not dominate."""
    counts, size = Counter[int](), OTHER_QUESTIONS
    for words in questions:
        counts.update(words.keys())
        size += 1
    return {word: math.sqrt(math.log(1 + (size - count + 0.5) / (count + 0.5))) for word, count in counts.items()}


def make_row(turn: RecordedTurn, words: Mapping[int, float], rarity: Mapping[int, float]) -> Row:
    """Return the row of a question. words: their weights; rarity: see `_rarity`."""
    weighed = {f"word {word}": weight * rarity[word] for word, weight in words.items()}
    sections = {f"section {address}": weight for address, weight in found_sections(turn).items()}
    if not sections:
        return _scaled(weighed, 1.0)
    return _scaled(weighed, WORDS_OF_ANSWERED) | _scaled(sections, SECTIONS)


def _scaled(row: Row, share: float) -> dict[str, float]:
    length = math.sqrt(sum(value * value for value in row.values()))
    return {key: value * math.sqrt(share) / length for key, value in row.items()} if length else {}


# The groups


def group_turns(turns: Sequence[RecordedTurn], rows: Sequence[Row]) -> list[QuestionGroup]:
    """Return groups of turns, the largest first. rows: see `make_rows`."""
    bundles = _bundle(turns, rows)
    groups = [QuestionGroup(_central_first([bundles[at] for at in group])) for group in _join_nearest(bundles)]
    return sorted(groups, key=lambda group: (-len(group.turns), _order(group.turns[0])))


Bundle = tuple[list[RecordedTurn], Row]


def _bundle(turns: Sequence[RecordedTurn], rows: Sequence[Row]) -> list[Bundle]:
    bundles: dict[tuple[object, ...], Bundle] = {}
    for turn, row in sorted(zip(turns, rows, strict=True), key=lambda pair: _order(pair[0])):
        key = tuple(sorted(row.items(), key=repr)) or (turn.id,)
        bundles.setdefault(key, ([], row))[0].append(turn)
    return sorted(bundles.values(), key=lambda bundle: -len(bundle[0]))


def _order(turn: RecordedTurn) -> tuple[int, str, str, str]:
    return len(turn.question), turn.question, turn.hour, turn.id


def _join_nearest(bundles: Sequence[Bundle]) -> list[list[int]]:
    """Return groups of bundle numbers, each joined to the group with the nearest mean row."""
    import numpy as np

    compared = bundles[:MOST_COMPARED]
    columns = {key: column for column, key in enumerate(dict.fromkeys(key for _, row in compared for key in row))}
    sums = np.zeros((len(compared), len(columns)), np.float32)
    sizes = np.zeros(len(compared), np.float32)
    groups: list[list[int]] = []
    for number, (turns, row) in enumerate(bundles):
        at = [columns[key] for key in row if key in columns]
        values = np.array([value for key, value in row.items() if key in columns], np.float32)
        there = min(len(groups), len(compared))
        near = sums[:there, at] @ values / sizes[:there]
        best = int(near.argmax()) if there else 0
        if there and near[best] >= THRESHOLD:
            groups[best].append(number)
        else:
            best = len(groups)
            groups.append([number])
        if best < len(compared):
            sums[best, at] += values * len(turns)
            sizes[best] += len(turns)
    return groups


def _central_first(bundles: Sequence[Bundle]) -> tuple[RecordedTurn, ...]:
    total: defaultdict[str, float] = defaultdict(float)
    for turns, row in bundles:
        for key, value in row.items():
            total[key] += value * len(turns)
    near = {id(row): round(sum(value * total[key] for key, value in row.items()), 5) for _, row in bundles}
    ordered = sorted(bundles, key=lambda bundle: (-near[id(bundle[1])], _order(bundle[0][0])))
    return tuple(turn for turns, _ in ordered for turn in turns)
