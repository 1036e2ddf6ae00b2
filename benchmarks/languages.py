"""Measure how often the paragraph that answers a question is found, in other languages than English.

python benchmarks/languages.py [--encodings bm25 hybrid]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from evaluation import EVAL, index_project, keep_cache, without_model
from tables import machine, print_table, say

from lmm_core.indexing.passages import Passage
from lmm_core.retrieve.library import open_library
from lmm_core.retrieve.search import Retriever
from lmm_core.store.places import LocalStorage, open_store

LANGUAGES = ("de", "ru", "zh")
ENCODINGS = ("bm25", "hybrid")
FEW = 5
Paragraph = tuple[str, int]  # language and number


@dataclass
class Text:
    """A language's paragraphs, by the title of the article that they are from, and its questions."""

    language: str
    articles: dict[str, list[tuple[int, str]]]
    asked: list[tuple[str, Paragraph]]


def read_text(language: str) -> Text:
    """Read a language's data."""
    data = json.loads((EVAL / "languages" / f"xquad-{language}.json").read_text(encoding="utf-8"))
    articles: dict[str, list[tuple[int, str]]] = {}
    for one in data["paragraphs"]:
        text = one["text"].replace("\ufeff", "").strip()
        articles.setdefault(one["title"], []).append((one["id"], text))
    return Text(language, articles, [(one["question"], (language, one["paragraph"])) for one in data["questions"]])


def write_articles(folder: Path, text: Text, with_lang: bool) -> None:
    """Write a language's articles as notes: each paragraph a section whose title is its number."""
    Path(folder, text.language).mkdir(parents=True)
    header = f"---\ntitle: {text.language}\nlang: {text.language}\n---\n\n" if with_lang else ""
    for title, paragraphs in text.articles.items():
        body = "\n\n".join(f"## {number}\n\n{paragraph}" for number, paragraph in paragraphs)
        Path(folder, text.language, f"{title}.md").write_text(f"{header}{body}\n", encoding="utf-8", newline="")


def paragraph_of(passage: Passage) -> Paragraph:
    """Return the paragraph that a passage is of."""
    return passage.source.partition("/")[0], int(passage.titles[-1])


async def ranks(folder: Path, encoding: str, texts: Sequence[Text], with_lang: bool) -> dict[str, list[int]]:
    """Return the ranks of the right paragraphs among all that `lmm ask` finds in one index, by language; 0: not found.

    folder: a new one."""
    for text in texts:
        write_articles(folder, text, with_lang)
    store = open_store(LocalStorage(folder / ".lmm" / "index"))
    project, models = await index_project(folder, store, encoding)
    retriever = Retriever(await open_library(project, models, store))
    found = {}
    for text in texts:
        retrieved = [(await retriever.retrieve(question)).passages for question, _ in text.asked]
        paragraphs = [list(dict.fromkeys(map(paragraph_of, passages))) for passages in retrieved]
        wanted = [paragraph for _, paragraph in text.asked]
        found[text.language] = [
            all_found.index(one) + 1 if one in all_found else 0
            for one, all_found in zip(wanted, paragraphs, strict=True)
        ]
    await models.close()
    store.close()
    return found


def row(encoding: str, texts: Sequence[Text], together: bool, with_lang: bool) -> list[str]:
    """Return the share of the questions whose paragraph comes first, and among the first five."""
    found: dict[str, list[int]] = {}
    for group in [texts] if together else [[text] for text in texts]:
        with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
            found |= asyncio.run(ranks(Path(name), encoding, group, with_lang))
    hits = [[mean(0 < rank <= most for rank in found[text.language]) for most in (1, FEW)] for text in texts]
    cells = [*hits, [mean(column) for column in zip(*hits, strict=True)]]
    return [
        encoding,
        "all together" if together else "one each",
        "given" if with_lang else "not given",
        *(" / ".join(f"{100 * one:.1f}" for one in both) for both in cells),
    ]


def print_languages(title: str, encodings: Sequence[str]) -> None:
    """Print the table."""
    texts = [read_text(language) for language in LANGUAGES]
    rows = []
    for encoding in encodings:
        for together in (False, True):
            for with_lang in (True, False):
                say(f"languages: {encoding}, {'all together' if together else 'one each'}")
                rows.append(row(encoding, texts, together, with_lang))
    print_table(title, ["encoding", "index", "lang", *LANGUAGES, "mean"], rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Retrieval in other languages")
    parser.add_argument("--encodings", nargs="+", default=ENCODINGS, metavar="NAME")
    chosen = parser.parse_args()
    if not (EVAL / "languages").is_dir():
        say(f"{EVAL / 'languages'} is not there: nothing is measured")
        return
    print(machine())
    keep_cache()
    print_languages(f"Paragraphs found: hit@1 / hit@{FEW}, in percent", without_model(chosen.encodings))


if __name__ == "__main__":
    main()
