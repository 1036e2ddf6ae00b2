"""Recordings as lines of JSON, for other programs and for `lmm bench --questions`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from .turns import RecordedTurn


def export_lines(turns: Iterable[RecordedTurn]) -> str:
    """Return a line of JSON for each turn."""
    return "".join(json.dumps(_data(turn), ensure_ascii=False) + "\n" for turn in turns)


def _data(turn: RecordedTurn) -> dict[str, object]:
    """Return everything about a turn, beginning with the section that answered it, if one did."""
    data = asdict(turn)
    return {"question": data.pop("question"), "section": answering_section(turn), **data}


def answering_section(turn: RecordedTurn) -> str:
    """Return the best section that an answer cites; "" for an answer without one, or with a thumb down."""
    return next((source.section for source in turn.sources if source.cited and turn.thumb >= 0), "")
