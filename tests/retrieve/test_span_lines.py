"""Spans name the lines that their text has in the file, and repeat the lines around a table or code."""

import pytest

from lmm_core.retrieve.ranking.spans import cut_spans
from tests.retrieve.materials import material

CODE = "```python\n" + "".join(f"def step_{n}(x):\n    return x + {n}\n\n" for n in range(90)) + "```\n"
TABLE = "| bird | speed |\n|---|---|\n" + "".join(f"| bird {n} | {n} km/h on a long road |\n" for n in range(90))


@pytest.mark.parametrize("text", [CODE, TABLE, f"Before.\n\n{CODE}\nAfter.\n\n{TABLE}"])
def test_a_span_has_the_lines_of_its_text(text):
    lines = text.split("\n")
    for passage in material(text, size=900).passages.values():
        for span in cut_spans(passage):
            own = passage.text[span.start : span.end].strip("\n").split("\n")
            own = [line for line in own if line and not line.startswith(("```", "| bird | speed", "|---"))]
            assert set(own) <= set(lines[span.line_start - 1 : span.line_end])
            assert own[0] in lines[span.line_start - 1 : span.line_start + 2]  # after the head, at most
            assert own[-1] in lines[span.line_end - 3 : span.line_end]


def test_a_wide_table_has_its_head_in_each_span():
    rows = [f"| {f'bird {n}':70} | {f'{n} km in an hour':70} |" for n in range(60)]
    head = f"| {'bird':70} | {'speed':70} |\n|{'-' * 72}|{'-' * 72}|\n"
    (passage,) = material(head + "\n".join(rows) + "\n", size=9000).passages.values()
    spans = cut_spans(passage)
    assert len(spans) > 1
    assert all(span.text.startswith(head) for span in spans)
