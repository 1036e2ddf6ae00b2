"""Measure the speed of parsing, text -> blocks -> tree -> text, and what the filters add to pandoc's time.

python benchmarks/parse.py [corpora] [dense] [growth] [filters]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tables import machine, print_table, say, seconds
from texts import (
    MB,
    SAMPLE_BOOK,
    Corpus,
    annotate,
    corpora,
    count_blocks,
    dense,
    metadata_bytes,
    one_document,
    size,
)

from lmm_core.installation import packaged_pandoc
from lmm_core.markdown import blocks_to_tree, parse_markdown_text, serialize_blocks, serialize_tree

SPELLINGS = ("native", "div")
GROWTH = (1, 5, 10, 25, 50)
CHAPTERS = ("02-describing.md", "03-chance.md")
FILTER_RUNS = 9
NO_FILTER = f"""#!{sys.executable}
import panflute

panflute.run_filter(lambda elem, doc: None)
"""


def round_trip(texts: list[str]) -> None:
    """Parse each text, make its tree, and write the tree as text."""
    for text in texts:
        serialize_tree(blocks_to_tree(parse_markdown_text(text)))


def check(text: str) -> None:
    """A fast parser that loses bytes is none."""
    if serialize_blocks(parse_markdown_text(text)) != text:
        raise SystemExit("the text did not come back byte for byte: nothing is measured")


def speed(texts: list[str], runs: int = 9) -> float:
    """MB/s of the round trip."""
    return sum(map(size, texts)) / MB / seconds(lambda: round_trip(texts), runs)


# (a) the corpora


def stage_times(texts: list[str]) -> list[float]:
    """Seconds of parsing, of making trees, and of serializing."""
    blocks = [parse_markdown_text(text) for text in texts]
    trees = [blocks_to_tree(found) for found in blocks]
    stages: list[Callable[[], object]] = [
        lambda: [parse_markdown_text(text) for text in texts],
        lambda: [blocks_to_tree(found) for found in blocks],
        lambda: [serialize_tree(tree) for tree in trees],
    ]
    return [seconds(stage, 9) for stage in stages]


def corpus_row(corpus: Corpus) -> list[str]:
    """One corpus, file by file."""
    for text in corpus.texts:
        check(text)
    times = [f"{1000 * spent:.1f}" for spent in stage_times(corpus.texts)]
    counts = [str(len(corpus.texts)), f"{corpus.size / MB:.2f}"]
    return [corpus.name, *counts, *times, f"{speed(corpus.texts):.1f}"]


def corpora_table(found: list[Corpus]) -> None:
    """Table (a)."""
    everything = Corpus("all", [text for corpus in found for text in corpus.texts])
    single = Corpus("all, as one document", [one_document(everything.texts, everything.size)])
    rows = [corpus_row(corpus) for corpus in (*found, everything, single)]
    columns = ["corpus", "files", "MB", "parse ms", "tree ms", "serialize ms", "MB/s"]
    print_table("(a) Corpora: parse + tree + serialize", columns, rows)


# (b) densely annotated text


def dense_row(name: str, text: str) -> list[str]:
    """One densely annotated document."""
    check(text)
    _, metadata, headings = count_blocks(text)
    share = metadata_bytes(text) / size(text)
    section = (size(text) - metadata_bytes(text)) / max(headings, 1)
    return [name, f"{size(text) / MB:.2f}", str(headings), str(metadata), f"{section / 1000:.2f}",
            f"{share:.0%}", f"{speed([text]):.1f}"]  # fmt: skip


def dense_table(found: list[Corpus]) -> None:
    """Table (b)."""
    texts = [text for corpus in found for text in corpus.texts]
    rows = [dense_row(spelling, dense(texts, spelling)) for spelling in SPELLINGS]
    columns = ["spelling", "MB", "sections", "metadata blocks", "text KB/section", "metadata", "MB/s"]
    print_table("(b) A metadata block (~questions, ~summary, ~~hash) before every section", columns, rows)


# (c) growth


def growth_table(found: list[Corpus]) -> None:
    """Table (c): one document, longer and longer."""
    texts = [text for corpus in found for text in corpus.texts]
    rows: list[list[str]] = []
    per_mb: list[float] = []
    for megabytes in GROWTH:
        text = one_document(texts, megabytes * MB)
        spent = seconds(lambda text=text: round_trip([text]), 9)
        per_mb.append(spent / (size(text) / MB))
        rows.append([str(megabytes), f"{spent:.3f}", f"{1 / per_mb[-1]:.1f}", f"{per_mb[-1] / per_mb[0]:.2f}"])
    columns = ["MB in one document", "seconds", "MB/s", "time per MB, 1 MB = 1"]
    print_table("(c) Growth: level is linear", columns, rows)


# (d) filters


def filters_table(_found: list[Corpus]) -> None:
    """Table (d): what our filters add to pandoc's own time on a page with nothing left to do."""
    pandoc = shutil.which("pandoc") or packaged_pandoc()
    if pandoc is None:
        say("pandoc is not installed: no table of filters")
        return
    rows = []
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        page, nothing = Path(name, "notes.md"), Path(name, "nothing")
        page.write_text(annotated_chapters(), encoding="utf-8", newline="")
        nothing.write_text(NO_FILTER, encoding="utf-8")
        nothing.chmod(0o755)
        run_pandoc(pandoc, page, "-F", "lmm-rag", "-t", "markdown", "-o", page.name)
        for target, ours in (("markdown", "lmm-rag"), ("html", "lmm-knit")):
            filters = {"none": [], "panflute, does nothing": ["-F", str(nothing)], ours: ["-F", ours]}
            commands = [[*arguments, "-t", target] for arguments in filters.values()]
            times = [[run_pandoc(pandoc, page, *command) for command in commands] for _ in range(FILTER_RUNS)]
            medians = [1000 * median(column) for column in zip(*times, strict=True)]  # they take turns
            rows += [
                [target, label, f"{spent:.0f}", f"{spent - medians[0]:+.0f}"]
                for label, spent in zip(filters, medians, strict=True)
            ]
    title = f"(d) Filters on a page of {size(annotated_chapters()) / 1000:.0f} KB: processor time, {FILTER_RUNS} runs"
    print_table(title, ["-t", "filter", "ms", "added"], rows)


def annotated_chapters() -> str:
    """Return two chapters of the sample book as one document, annotated."""
    first, second = ((SAMPLE_BOOK / name).read_text(encoding="utf-8") for name in CHAPTERS)
    body = serialize_blocks(parse_markdown_text(second)[1:])
    return annotate(f"{first}\n{body}", "div")


def run_pandoc(pandoc: str | Path, page: Path, *arguments: str) -> float:
    """Run pandoc on a page, and return the seconds that the processors worked for it and its filters."""
    bins = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LMM_", "QUARTO_"))}
    environment |= {"PATH": os.pathsep.join(bins), "PYTHONPYCACHEPREFIX": str(page.parent / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = os.times()
    done = subprocess.run(
        [pandoc, *arguments, page.name], cwd=page.parent, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True,
    )  # fmt: skip
    after = os.times()
    if done.returncode:
        raise SystemExit(f"pandoc {' '.join(arguments)}: {done.stderr}")
    return after.children_user + after.children_system - before.children_user - before.children_system


TABLES = {
    "corpora": corpora_table,
    "dense": dense_table,
    "growth": growth_table,
    "filters": filters_table,
}


def main() -> None:
    """Print the tables that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], metavar="TABLE", help=", ".join(TABLES))
    wanted = parser.parse_args().tables or list(TABLES)
    found = corpora()
    print(machine())
    for name in wanted:
        TABLES[name](found)


if __name__ == "__main__":
    main()
