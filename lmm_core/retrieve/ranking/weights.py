"""The weights of the ranking, each with the reason for its value.

Figures are first hits / among five of 120 questions to three courses, then the share of the answers within 1,000
tokens of long texts, in percent (benchmarks/retrieval.py). With these weights: 93/109, 91.6; other values were
measured without `BEFORE`, beside 93/109, 90.9. (Today 93/108 without HTML comments, and 91.9 by a leaner context.)
A weight without a figure makes no difference there.
"""

from __future__ import annotations

Weights = tuple[float, float]  # of the rankings by words and by meaning

# BM25 over fields. Titles: 1.0 91/107, 90.7; 1.5 92/107, 90.8. Terms: 0.0 92/108; 2.0 91/107.
FIELDS = {"title": 2.0, "questions": 2.0, "summary": 1.0, "terms": 1.0, "text": 1.0}
K = 1.2  # how soon repetitions stop counting: 0.9 90.8
B = 0.7  # how much the length of a text counts: 0.5 89/107; 0.85 92/108
D = 0.5  # the least that a word counts

# What a word of a question may also stand for.
PREFIX = 0.5  # a word that goes on after it
FUZZY = 0.9  # a word for which it may be a typing error
OTHER_NAME = 0.5  # another name, of `[retrieve] synonyms`

# Passages and their spans.
PASSAGE = 2.0  # the score of a span's passage, beside its own: 1.0 92/107, 90.7; 3.0 92/107
BEFORE = 0.5  # a word that only the passage before has, in the same section: 0.0 90.9; 0.75 91/108, 90.9
LEAST = 0.5  # added to the share of the question that a passage has: 0.25 92/107, 1.0 93/107
ASIDE = 0.5  # exercises, solutions and topics, which do not explain their subject
SIZE, MOST = 250, 380  # bytes of a span, wanted and at most: 180, 280 90.4; 350, 520 90.6; 500, 760 90.2

# Annotated questions: 68 of 80 first hits on annotated courses, 65 with all questions of a section as one text.
QUESTION = 0.3  # beside the share of the question that is asked
EXACT = 4.0  # a question that has the words that are asked and no others

# Several rankings as one; relative scores were better than reciprocal ranks where meaning was compared.
WEIGHTS: dict[str, Weights] = {"words": (1.0, 0.0), "both": (1.0, 0.25), "meaning": (0.25, 1.0)}
UNDER_SUMMARY = 0.5  # a hit on a section's summary, for each of its passages

# `lmm ask` without a model refuses a question that the best section covers too little: each word counts by its score s
# as s / (s + HALF_COVERED), weighted by rarity, and LONGER * ln(1 + words) is added, since of a long question less need
# be found. Wrongly and rightly refused: courses 3 of 120 and 26 of 30 (by the share of the question alone: 6 and 25),
# sample book 4 of 123 and 42 of 45, annotated questions 10 of 416 (18), questions to another course 801 of 954 (777).
HALF_COVERED = 2.0
LONGER = 0.1
LEAST_COVER = 0.4
