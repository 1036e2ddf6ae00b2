"""Rank by BM25 over fields of passages and sections (BM25+: Lv and Zhai, "Lower-bounding term frequency normalization",
CIKM 2011).

A section's titles, annotated questions and summary add to the score of each passage. Emphasised words are a field,
since lecture notes introduce terms so. The sum is multiplied by the share of the question that matches, weighted by
rarity (the coordination factor of vector-space retrieval). The ask box computes the same.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import add, mul
from typing import Any

from ...indexing.passages import Key, Material, Passage
from ...indexing.statistics import TermStatistics, count_terms, texts_about, texts_of
from ...models.languages.stemming import Stemmers
from ...settings.tables import EmbeddingOptions
from ..items import may_be_shown
from . import weights
from .spans import Span, best_first, cut_spans, whole_span
from .synonyms import Synonymous, Synonyms
from .words import Vocabulary, asked_words, other_words

MOST_ALTERNATIVES = 4  # alternatives for an unknown word
CUT = 20  # best passages that are cut into spans

Weighed = Mapping[str, float]  # stem scores of a text, without rarity
WeightedStems = Mapping[str, float]  # possible stems of a word, with weights


def fields_left_out(options: EmbeddingOptions) -> tuple[str, ...]:
    """Return the fields that the configured `annotations` exclude."""
    annotated = {*options.annotations, *options.own_annotations}
    return tuple(name for name, of in (("title", "titles"), ("questions", "questions")) if of not in annotated)


def weights_data(left_out: Collection[str] = ()) -> dict[str, Any]:
    """Return the ask box's weights; it counts all questions of a section as one text."""
    fields = weights.FIELDS | {"questions": 1.4}
    return {
        "fields": {name: weight for name, weight in fields.items() if name not in left_out},
        "k": weights.K,
        "b": weights.B,
        "d": weights.D,
        "before": weights.BEFORE,
        "least": weights.LEAST,
        "aside": weights.ASIDE,
        "prefix": weights.PREFIX,
        "fuzzy": weights.FUZZY,
        "otherName": weights.OTHER_NAME,
    }


class LexicalIndex:
    """The lexical ranking of a material's passages.

    statistics: of all words searched, by default the material's; left_out: excluded fields"""

    def __init__(
        self,
        material: Material,
        language: str,
        synonyms: Synonymous | None = None,
        statistics: TermStatistics | None = None,
        left_out: Collection[str] = (),
    ) -> None:
        self.left_out = left_out
        self.material, self.language = material, language
        self.stemmers = Stemmers(language)
        self.statistics = statistics or count_terms(material, self.stemmers)
        self.synonyms = Synonyms(self.stemmers.of(""), language, synonyms or {})
        self.vocabulary = Vocabulary(self.statistics, self.stemmers)

    def within(self, material: Material) -> LexicalIndex:
        """Return the same ranking for another part of the collection."""
        other = copy.copy(self)
        other.material = material
        return other

    def _about(self, key: Key) -> list[Weighed]:
        section = self.material.sections[key]
        texts = {name: text for name, text in texts_about(section).items() if name not in ("questions", *self.left_out)}
        return self._weighed(texts, section.language)

    def _questions(self, key: Key) -> list[Weighed]:
        section = self.material.sections[key]
        stems = self.stemmers.of(section.language).stems
        questions = [] if "questions" in self.left_out else section.questions
        counters = filter(None, (Counter(stems(question)) for question in questions))
        return [
            {stem: weights.FIELDS["questions"] * term_score(n, 1, 1) for stem, n in counts.items()}
            for counts in counters
        ]

    def _best_question(self, key: Key, terms: QueryTerms) -> list[float]:
        """Return the scores of the most similar annotated question alone: many do not raise a section's score."""
        best = [0.0] * terms.size
        for question in self._questions(key):
            share, scores = len(terms.matching_stems(question)) / len(question), terms.scores([question])
            weight = weights.EXACT if share == 1 and all(scores) else weights.QUESTION + share
            scores = [weight * score for score in scores]
            best = max(best, scores, key=lambda scores: sum(map(mul, scores, terms.rarity)))
        return best

    def _spans(self, passage: Passage) -> list[tuple[Span, Counter[str], int]]:
        stems = self.stemmers.of(passage.language).stems
        counters = ((span, Counter(stems(span.text))) for span in cut_spans(passage))
        return [(span, counts, counts.total()) for span, counts in counters]

    def weighted_stems(self, question: str) -> list[dict[str, float]]:
        """Return the possible stems of each word, with weights."""
        return self.synonyms.weighted_stems(question, self.vocabulary)

    def corrected(self, question: str) -> str:
        """Return a question with unknown words replaced by their nearest known ones, "" if unchanged."""
        words = asked_words(question, self.language)
        nearest = [word for word_asked in words for word in self.vocabulary.known_words(word_asked)[:MOST_ALTERNATIVES]]
        return " ".join(nearest) if nearest != words else ""

    def share(self, question: str, passages: Sequence[Passage]) -> float:
        """Return the share of a question that passages cover together, 0 to 1."""
        terms = self._query_terms(self.weighted_stems(question))
        return share_found(self._best_scores(passages, terms), terms.rarity)

    def covers(self, question: str, section: Sequence[Passage]) -> bool:
        """Return True if passages of a section together cover a question well enough to answer it; see `LEAST_COVER`.

        Words that say little of a subject count where its titles or summary have them."""
        word_stems = self.weighted_stems(question)
        terms, others = self._query_terms(word_stems), self._other_terms(question, word_stems)
        covered = _saturated(self._best_scores(section, terms), terms.rarity)
        covered += _saturated(others.scores(self._about(section[0].key)), others.rarity)
        return covered / (sum(terms.rarity) or 1) + weights.LONGER * math.log(1 + terms.size) >= weights.LEAST_COVER

    def _best_scores(self, passages: Sequence[Passage], terms: QueryTerms) -> list[float]:
        return list(map(max, zip([0.0] * terms.size, *self.scores(passages, terms), strict=True)))

    def _query_terms(self, word_stems: Sequence[WeightedStems]) -> QueryTerms:
        return QueryTerms(word_stems, [self.rarity(stems) for stems in word_stems])

    def scores(self, passages: Iterable[Passage], terms: QueryTerms) -> Iterator[list[float]]:
        """Yield each passage's scores by word, without rarity.

        Missing words count from the passage before it in the section: a subject is often named once."""
        about = cache(lambda key: list(map(add, terms.scores(self._about(key)), self._best_question(key, terms))))
        own = self.material.passages
        of_text = cache(lambda ident: terms.scores(self._weighed(texts_of(own[ident]), own[ident].language)))
        for passage in passages:
            scores = list(map(add, of_text(passage.id), about(passage.key)))
            before = None if all(scores) else self._previous_passage(passage)
            earlier_scores = of_text(before.id) if before else scores
            yield [score or weights.BEFORE * earlier for score, earlier in zip(scores, earlier_scores, strict=True)]

    def _previous_passage(self, passage: Passage) -> Passage | None:
        own = self.material.sections[passage.key].passages
        at = bisect_left(own, passage.sequence, key=lambda other: other.sequence)
        return own[at - 1] if 0 < at < len(own) and own[at].id == passage.id else None

    def rank_spans(self, question: str, passages: Sequence[Passage], type: str = "") -> list[Span]:
        """Return the scored spans of passages, the best first. type: requested type of material.

        A span's score includes its passage's: a sentence's subject is often named before it or in a title."""
        word_stems = self.weighted_stems(question)
        terms = self._query_terms(word_stems)
        rarity, scores = terms.rarity, list(self.scores(passages, terms))
        others = self._other_terms(question, word_stems)  # a section scores for them by its titles and summary alone
        about = cache(lambda key: sum(map(mul, others.scores(self._about(key)), others.rarity)))
        sums = [sum(map(mul, own, rarity)) + about(passage.key) for passage, own in zip(passages, scores, strict=True)]
        shares = [weights.LEAST + share_found(own, rarity) for own in scores]
        factors = [aside(passage, type) * share for passage, share in zip(passages, shares, strict=True)]
        order = sorted(range(len(passages)), key=lambda at: -sums[at] * factors[at])
        cut = {at: self._spans(passages[at]) for at in order[:CUT]}
        lengths = [length for spans in cut.values() for _, _, length in spans]
        usual = max(1.0, sum(lengths) / max(len(lengths), 1))
        ranked = [whole_span(passages[at]).scored(factors[at] * weights.PASSAGE * sums[at]) for at in order[CUT:]]
        for at, spans in cut.items():
            for span, stems, length in spans:
                weighed = {stem: term_score(stems[stem], length, usual) for stem in terms.matching_stems(stems)}
                own = sum(map(mul, terms.scores([weighed]), rarity), 0.0)
                ranked.append(span.scored(factors[at] * (own + weights.PASSAGE * sums[at])))
        return best_first(ranked)

    def _other_terms(self, question: str, word_stems: Sequence[WeightedStems]) -> QueryTerms:
        """Return the known stems of `other_words`, unless asked for anyway."""
        known, asked_stems = self.statistics.stems.keys(), set().union(*word_stems)
        stems = (self.stemmers.stems_of(word) for word in other_words(question, self.language))
        return self._query_terms([dict.fromkeys(own & known, 1.0) for own in stems if not own & asked_stems])

    def rarity(self, word_stems: WeightedStems) -> float:
        """Return a word's inverse document frequency."""
        counts, size = self.statistics.stems, self.statistics.texts
        likely = max(word_stems.values(), default=0.0)
        count = max((counts[stem] for stem, weight in word_stems.items() if weight == likely), default=0)
        return math.log(1 + (size - count + 0.5) / (count + 0.5))

    def _weighed(self, texts: Mapping[str, str], language: str) -> list[Weighed]:
        stems, statistics, weighed = self.stemmers.of(language).stems, self.statistics, list[Weighed]()
        for name, text in texts.items():
            counts = Counter(stems(text))
            length, usual = counts.total(), max(statistics.lengths[name] / max(statistics.fields[name], 1), 1.0)
            weighed.append({stem: weights.FIELDS[name] * term_score(n, length, usual) for stem, n in counts.items()})
        return weighed


class QueryTerms:
    """The words of a question: possible stems with weights, and rarity."""

    def __init__(self, word_stems: Sequence[WeightedStems], rarity: Sequence[float]) -> None:
        self.size, self.rarity = len(word_stems), rarity
        self._stems: dict[str, list[tuple[int, float]]] = {}
        for at, stems in enumerate(word_stems):
            for stem, weight in stems.items():
                self._stems.setdefault(stem, []).append((at, weight))

    def matching_stems(self, stems: Mapping[str, Any]) -> list[str]:
        """Return the matching stems of a text, sorted for reproducible sums."""
        return sorted(self._stems.keys() & stems.keys())

    def scores(self, fields: Iterable[Weighed]) -> list[float]:
        """Return a text's scores by word, without rarity."""
        scores = [0.0] * self.size
        for weighed in fields:
            for stem in self.matching_stems(weighed):
                for at, weight in self._stems[stem]:
                    scores[at] += weight * weighed[stem]
        return scores


def term_score(times: int, length: int, usual: float) -> float:
    """Return a stem's BM25+ score, without rarity. times: occurrences; length: stems of the text; usual: the mean."""
    return weights.D + times * (weights.K + 1) / (times + weights.K * (1 - weights.B + weights.B * length / usual))


def _saturated(scores: Sequence[float], rarity: Sequence[float]) -> float:
    """Return the sum of scores by rarity, each at most 1; see `HALF_COVERED`."""
    return sum(rare * score / (score + weights.HALF_COVERED) for score, rare in zip(scores, rarity, strict=True))


def share_found(scores: Sequence[float], rarity: Sequence[float]) -> float:
    """Return the share of a question's words with a score, weighted by rarity."""
    return sum(rare for score, rare in zip(scores, rarity, strict=True) if score) / (sum(rarity) or 1)


def aside(passage: Passage, type: str) -> float:
    """Return a passage's weight by its type. type: the requested type."""
    return 1.0 if type or may_be_shown(passage) else weights.ASIDE
