"""Find probable solutions in documents without hidden parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...markdown.regions import split_fences

_WORDS = (
    r"(?:model |sample |muster)?(?:solutions?|answers?|answer key|lösung(?:en)?|antwort(?:en)?|corrigés?|réponses?|"
    r"solución|soluciones|respuestas?|soluzion[ei]|rispost[ae])"
)
_NUMBERED = r"[ \t]*(?:\d[\w.]*)?[ \t]*[:.]?[ \t]*"
_SOLUTION = re.compile(
    rf"^#+[ \t]+(?:\d[\d.]*[ \t]+)?{_WORDS}(?:[ \t]+(?:to|for|zu|zur|der|de|di)\b[^\n]*)?{_NUMBERED}"
    rf"(?:\{{[^\n]*\}})?[ \t]*$"
    rf"|^[ \t]*:{{3,}}[ \t]*(?:\{{[^}}\n]*\.)?{_WORDS}\b"
    rf"|<summary[^<>]*>[ \t]*(?:<[^<>]*>)?{_WORDS}{_NUMBERED}<",
    re.I | re.M,
)


def find_solutions(text: str) -> Iterator[int]:
    """Yield lines of headings, divs and summaries that begin a solution."""
    line = 1
    for is_code, piece in split_fences(text):
        for solution in () if is_code else _SOLUTION.finditer(piece):
            yield line + piece.count("\n", 0, solution.start())
        line += piece.count("\n")
