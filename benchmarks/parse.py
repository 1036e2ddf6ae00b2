"""Speed of parsing: text -> blocks -> tree -> text.

python benchmarks/parse.py [corpora] [dense] [growth] [corners] [peers]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from corners import CORNERS, Corner
from tables import machine, print_table, say, seconds
from texts import CORPORA, MB, Corpus, corpora, count_blocks, dense, metadata_bytes, one_document, size

from lmm_core.markdown import blocks_to_tree, parse_markdown_text, serialize_blocks, serialize_tree

SPELLINGS = ("native", "div")
GROWTH = (1, 5, 10, 25, 50)
SLOW_RATIO, SLOW_SECONDS, SLOW_PER_MB = 3.0, 0.2, 5.0


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
    times = [f"{1000 * time:.1f}" for time in stage_times(corpus.texts)]
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
        time = seconds(lambda text=text: round_trip([text]), 9)
        per_mb.append(time / (size(text) / MB))
        rows.append([str(megabytes), f"{time:.3f}", f"{1 / per_mb[-1]:.1f}", f"{per_mb[-1] / per_mb[0]:.2f}"])
    columns = ["MB in one document", "seconds", "MB/s", "time per MB, 1 MB = 1"]
    print_table("(c) Growth: level is linear", columns, rows)


# (d) corners


def corner_row(corner: Corner) -> list[str]:
    """One corner at n and 2n; `SLOW` where the time grows faster than the text, or
    a megabyte of it takes seconds."""
    times: list[float] = []
    for n in (corner.n, 2 * corner.n):
        text = corner.make(n)
        check(text)
        times.append(seconds(lambda text=text: round_trip([text]), 5))
    ratio = times[1] / times[0]
    megabytes = size(corner.make(corner.n)) / MB
    slow = times[1] > SLOW_SECONDS and (ratio > SLOW_RATIO or times[1] > SLOW_PER_MB * 2 * megabytes)
    sizes = [f"{corner.n:,}", f"{megabytes:.2f}"]
    return [corner.name, *sizes, *(f"{1000 * time:.1f}" for time in times), f"{ratio:.1f}", "SLOW" if slow else ""]


def corners_table(_found: list[Corpus]) -> None:
    """Table (d)."""
    rows = [corner_row(corner) for corner in CORNERS]
    columns = ["corner", "n", "MB at n", "ms at n", "ms at 2n", "ratio", ""]
    print_table("(d) Corners: twice the text, twice the time (ratio 2)", columns, rows)
    slow = sum(row[-1] == "SLOW" for row in rows)
    rule = f"over {SLOW_SECONDS} s at 2n, and a ratio above {SLOW_RATIO:.0f} or over {SLOW_PER_MB:.0f} s for each MB"
    print(f"\n{slow} of {len(rows)} corners are slow: {rule}")


# (e) peers


def langchain(texts: list[str]) -> None:
    """LangChain's splitter at headings."""
    from langchain_text_splitters import MarkdownHeaderTextSplitter

    levels = [("#" * level, f"h{level}") for level in range(1, 7)]
    splitter = MarkdownHeaderTextSplitter(levels, strip_headers=False)
    for text in texts:
        splitter.split_text(text)


def llama_index(texts: list[str]) -> None:
    """LlamaIndex's splitter at headings."""
    from llama_index.core import Document
    from llama_index.core.node_parser import MarkdownNodeParser

    MarkdownNodeParser().get_nodes_from_documents([Document(text=text) for text in texts])


Work = Callable[[list[str]], None]


def peers() -> list[tuple[str, Work]]:
    """This package, and those of the peers that are installed."""
    found: list[tuple[str, Work]] = [(f"lmm {version('lmm-markdown')}", round_trip)]
    for package, work in (("langchain-text-splitters", langchain), ("llama-index-core", llama_index)):
        try:
            name = f"{package} {version(package)}"
        except PackageNotFoundError:
            say(f"{package} is not installed: left out (it comes with the extra `bench`)")
            continue
        found.append((name, work))
    return found


def peer_rows(name: str, texts: list[str], everybody: list[tuple[str, Work]]) -> list[list[str]]:
    """Everybody on the same texts, after a run to warm up."""
    rows: list[list[str]] = []
    megabytes = sum(map(size, texts)) / MB
    times: list[float] = []
    for who, work in everybody:
        work(texts[:1])
        times.append(seconds(lambda work=work: work(texts), 9))
        rows.append([name, f"{megabytes:.2f}", who, f"{1000 * times[-1]:.1f}", f"{megabytes / times[-1]:.1f}",
                     f"{times[-1] / times[0]:.2f}"])  # fmt: skip
    return rows


def peers_table(found: list[Corpus]) -> None:
    """Table (e)."""
    texts = [text for corpus in found for text in corpus.texts]
    cases = {
        f"{len(texts)} files": texts,
        "one document": [one_document(texts, MB)],
        "one document, native": [dense(texts, "native")],
        "one document, div": [dense(texts, "div")],
    }
    everybody = peers()
    rows = [row for name, case in cases.items() for row in peer_rows(name, case, everybody)]
    print_table("(e) Side by side", ["texts", "MB", "who", "ms", "MB/s", "time, lmm = 1"], rows)


TABLES = {
    "corpora": corpora_table,
    "dense": dense_table,
    "growth": growth_table,
    "corners": corners_table,
    "peers": peers_table,
}


def main() -> None:
    """Print the tables asked for, or all."""
    parser = argparse.ArgumentParser(description="Speed of parsing")
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], help=f"some of {', '.join(TABLES)}; else all")
    wanted = parser.parse_args().tables or list(TABLES)
    found = corpora()
    print(machine())
    if not CORPORA.is_dir():
        print(f"no corpora beside the repository: the texts are {found[0].name}")
    for name in wanted:
        TABLES[name](found)


if __name__ == "__main__":
    main()
