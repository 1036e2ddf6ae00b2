"""How near our estimate of tokens comes to what tokenizers count.

python benchmarks/tokens.py
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tables import print_table, say
from texts import ROOT, Corpus, corpora, size

from lmm_core.models import tokens

TOKENIZER = ROOT.parent / "shared" / "models" / "all-MiniLM-L6-v2-int8" / "tokenizer.json"
CHUNK = 1_000  # characters: about what a section of notes has
Count = Callable[[str], int]


def wordpiece() -> Count | None:
    """BERT's WordPiece; None, and a remark, where it is not there."""
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError:
        say("tokenizers is not installed: no column for WordPiece")
        return None
    if not TOKENIZER.is_file():
        say(f"{TOKENIZER} is not there: no column for WordPiece")
        return None
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def chunks(corpus: Corpus) -> list[str]:
    """The texts in pieces that end with a paragraph."""
    found = [""]
    for text in corpus.texts:
        for paragraph in re.split(r"(?<=\n\n)", text):
            if len(found[-1]) + len(paragraph) > CHUNK and found[-1]:
                found.append("")
            found[-1] += paragraph
    return found


def row_of(corpus: Corpus, name: str, count: Count) -> list[str]:
    """How the estimate compares with a tokenizer: of the whole, and of single chunks."""
    whole = [(sum(map(tokens.count_tokens, corpus.texts))), sum(map(count, corpus.texts))]
    parts = [(tokens.count_tokens(chunk) / count(chunk)) for chunk in chunks(corpus) if count(chunk) > 20]
    ranked = sorted(parts)
    low, high = ranked[len(ranked) // 20], ranked[-1 - len(ranked) // 20]
    megabytes = f"{sum(map(size, corpus.texts)) / 1e6:.2f}"
    ratio = f"{whole[0] / whole[1]:.3f}"
    return [corpus.name, name, megabytes, *(f"{n:,}" for n in whole), ratio, f"{low:.2f} to {high:.2f}"]


def main() -> None:
    """Print the table."""
    count = wordpiece()
    if count is None:
        say("nothing to compare with: nothing is measured")
        return
    rows = [row_of(corpus, "BERT's WordPiece", count) for corpus in corpora()]
    columns = ["corpus", "tokenizer", "MB", "estimate", "tokenizer's", "ratio", f"of {CHUNK} characters"]
    print_table("Tokens: our estimate, and a tokenizer", columns, rows)


if __name__ == "__main__":
    main()
