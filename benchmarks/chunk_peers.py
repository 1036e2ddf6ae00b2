"""Other packages' splitters with a plain BM25: what a few lines of code give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version

from tables import say

from lmm_core.models.tokens import count_tokens

SIZES = (128, 256)  # tokens, as the package counts them
Splitter = Callable[[str], list[str]]


def llama_index(size: int) -> Splitter:
    """Return LlamaIndex's splitter, with its usual overlap in proportion. Raise ImportError."""
    from llama_index.core.node_parser import SentenceSplitter

    return SentenceSplitter(chunk_size=size, chunk_overlap=size // 5).split_text


def chonkie(size: int) -> Splitter:
    """Return chonkie's splitter. Raise ImportError."""
    from chonkie import RecursiveChunker

    chunker = RecursiveChunker(tokenizer=count_tokens, chunk_size=size)
    return lambda text: [chunk.text for chunk in chunker.chunk(text)]


PEERS = {"llama-index-core": llama_index, "chonkie": chonkie}


def splitters() -> dict[str, Splitter]:
    """Return the splitters that are installed, by name and size; one that is not is said."""
    found: dict[str, Splitter] = {}
    for package, make in PEERS.items():
        try:
            import rank_bm25  # noqa: F401

            found |= {f"{package} {version(package)}, {size} tokens": make(size) for size in SIZES}
        except ImportError as error:
            say(f"{package} is left out: {error}")
    return found


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"\w+", text.lower())


def fill(split: Splitter, texts: dict[str, str], asked: Sequence[str], budget: int) -> list[list[tuple[str, str]]]:
    """Return what fits into a budget of tokens for each question: chunks beside the names of their texts.

    They come best first, and one that does not fit is left out."""
    from rank_bm25 import BM25Okapi

    chunks = [(name, chunk) for name, text in texts.items() for chunk in split(text) if words(chunk)]
    index = BM25Okapi([words(chunk) for _, chunk in chunks])
    sizes = [count_tokens(chunk) for _, chunk in chunks]
    orders = (index.get_scores(words(question)).argsort()[::-1] for question in asked)
    return [[chunks[at] for at in fitting(order, sizes, budget)] for order in orders]


def fitting(order: Iterable[int], sizes: Sequence[int], budget: int) -> Iterator[int]:
    """Yield what has room, one after the other, until nothing can have any."""
    least = min(sizes)
    for at in order:
        if sizes[at] <= budget:
            budget -= sizes[at]
            yield at
        if budget < least:
            return
