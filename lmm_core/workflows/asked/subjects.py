"""The words that say what a group of questions is about, and which of them the notes never use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...asked.turns import RecordedTurn
from ...retrieve.ranking.lexical import LexicalIndex
from ...retrieve.ranking.words import asked_words, names_subject
from ...study.missing_words import near_word, unknown_words

SHARED = 1 / 3  # of a group's questions that have a word of its subject
# A word in answered questions about so many sections, none of which has most of them, says nothing of a
# subject by itself: "thesis", "lost".
SCATTERED, MOST_OF = 4, 0.5


@dataclass(frozen=True)
class SubjectWords:
    """The words that questions have in common, the most frequent first; unknown: those that the notes never use."""

    words: tuple[str, ...]
    unknown: tuple[str, ...]


class SubjectFinder:
    """Finds the subjects of groups among all recorded questions."""

    def __init__(self, lexical: LexicalIndex, turns: Iterable[RecordedTurn]) -> None:
        self._lexical = lexical
        self._scattered = self._find_scattered(turns)

    def subject(self, questions: Sequence[str]) -> SubjectWords:
        """Return the words that a group's questions have in common; none if they have no subject."""
        named = [one for one in questions if names_subject(one, self._lexical.language)]
        counts, forms, unknown = Counter[str](), defaultdict[str, Counter[str]](Counter), set[str]()
        for question in named:
            missing = {word for _, word in unknown_words(question, self._lexical)}
            for stem, word in self._stems(question).items():
                counts[stem] += 1
                forms[stem][word] += 1
                unknown.update({stem} if word in missing and not near_word(word, self._lexical) else ())
        shared = [stem for stem, count in counts.most_common() if count >= SHARED * len(named)]
        if self._scattered.issuperset(shared):
            return SubjectWords((), ())
        kept = [stem for stem in shared if stem not in self._scattered & unknown]
        words = {stem: forms[stem].most_common(1)[0][0] for stem in kept}
        return SubjectWords(tuple(words.values()), tuple(words[stem] for stem in kept if stem in unknown))

    def _stems(self, question: str) -> dict[str, str]:
        """Return the words that a question asks for by the first of their stems."""
        words = asked_words(question, self._lexical.language)
        return {min(self._lexical.stemmers.meant(word)): word for word in words}

    def _find_scattered(self, turns: Iterable[RecordedTurn]) -> set[str]:
        found = defaultdict[str, Counter[str]](Counter)
        for turn in turns:
            cited = next((source.section for source in turn.sources if source.cited), "")
            if cited and turn.outcome == "answered":
                for stem in self._stems(turn.question):
                    found[stem][cited] += 1
        return {
            stem
            for stem, sections in found.items()
            if len(sections) >= SCATTERED and max(sections.values()) < MOST_OF * sections.total()
        }
