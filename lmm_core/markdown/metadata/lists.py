"""Metadata mistakenly written as a YAML list, as by LM markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .body import dump_entry, first_line, parse_metadata
from .keys import is_block_key

Tables = Sequence[dict[str, Any]]

_HEADING = re.compile(r"^#{1,6}[ \t]", re.M)


def listed_tables(body: str) -> Tables:
    """Return the mappings of a body that is a list of mappings, else []."""
    if not first_line(body).startswith("- ") or _HEADING.search(body):
        return []
    content = parse_metadata(f"list:\n{body}").content
    tables = content["list"] if content and len(content) == 1 else None
    return tables if isinstance(tables, list) and all(isinstance(table, dict) and table for table in tables) else []


def is_metadata(tables: Tables) -> bool:
    """Return True for one-key mappings with a key of this program."""
    return all(len(table) == 1 for table in tables) and any(is_block_key(str(key)) for table in tables for key in table)


def mapping_to_paste(tables: Tables, mark: str = "") -> str:
    """Return the error message with the mapping to paste between lines of `mark`."""
    entries = [dump_entry(str(key), value).rstrip("\n") for table in tables for key, value in table.items()]
    lines = "\n".join([mark, *entries, mark] if mark else entries)
    return f"metadata is a YAML list and has to be a mapping; put this in its place:\n{lines}"


def not_a_mapping(body: str) -> str:
    """Return the error message for YAML that is no mapping."""
    tables = listed_tables(body)
    return mapping_to_paste(tables) if tables else "metadata has to be a YAML mapping (`key: value`)"
