"""Each reason for which a part is left out holds on all routes; a new one that a route forgets fails here."""

import json
import re
from pathlib import Path

import pytest

from lmm_core.indexing.chunks import blocks_to_chunks
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.metadata.keys import DECIDING, KEYS
from lmm_core.markdown.visibility import REASONS, KnitRules, in_index, in_notes, may_be_quoted, own_types
from lmm_core.scan.left_out import find_pieces
from tests.routes import by_ask_data, by_filter, by_index, by_text, read_all
from tests.strategies import knitted

# For each reason a value that leaves a part out
LEAVING_OUT = {"knit": False, "type": "exercise", "skip": True}
RULES = KnitRules()


def native(key, value):
    return f"---\n{key}: {json.dumps(value)}\n---\n\nsecret1\n"


def section(key, value):
    return f"---\n{key}: {json.dumps(value)}\n---\n\n## secret2\n\nsecret1\n\n### secret3\n\nsecret4\n"


def comment(key, value):
    return f"<!-- lmm\n{key}: {json.dumps(value)}\n-->\n\nsecret1\n"


def block_in_div(key, value):
    return f"::: note\n\n::: lmm\n``` yaml\n{key}: {json.dumps(value)}\n```\n:::\n\nsecret1\n:::\n"


def block_in_item(key, value):
    return f"- one\n\n  ::: lmm\n  ``` yaml\n  {key}: {json.dumps(value)}\n  ```\n  :::\n\n  secret1\n\n- two\n"


def attribute(key, value):
    return f"::: {{.note {key}={str(value).lower()}}}\nsecret1\n:::\n"


def html_attribute(key, value):
    return f'<div {key}="{str(value).lower()}">\n\nsecret1\n\n</div>\n'


FORMS = [native, section, comment, block_in_div, block_in_item, attribute, html_attribute]


def test_the_table_of_keys_names_the_reasons():
    assert {reason.key for reason in REASONS} == DECIDING == set(LEAVING_OUT)
    assert len({key.name for key in KEYS}) == len(KEYS)


@pytest.fixture
def words(monkeypatch):
    """Have the routes of `tests.routes` look for these words."""
    monkeypatch.setattr("tests.routes.WORD", re.compile(r"\b(secret|shown)\d\b"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.key)
def test_all_routes_know_a_reason(reason, form, pandoc, words):
    value = LEAVING_OUT[reason.key]
    text = f"# shown1\n\nshown2\n\n{form(reason.key, value)}\n# shown3\n\nshown4\n"
    said = {reason.key: value}
    secret, shown = {f"secret{at}" for at in range(1, 5)}, {f"shown{at}" for at in range(1, 5)}
    Path("page.md").write_text(text)
    is_out, is_indexed, types = in_notes(said, RULES) is False, in_index(said) is not False, own_types(said) or [None]
    assert is_out or not is_indexed, "a value of LEAVING_OUT leaves nothing out"

    ast = read_all({"page.md": text}, pandoc)["page.md"]
    for notes in (by_text("page.md"), by_filter(ast, pandoc, text)):
        assert bool(notes & secret) != is_out and shown <= notes, "the notes"
    if form not in (native, section):  # their places are lost among elements
        assert bool(by_filter(ast, pandoc) & secret) != is_out, "the filter from elements"
    pieces = [*find_pieces(parse_markdown_text(text), RULES)]
    assert any("secret1" in piece.text for piece in pieces if piece.is_out) == is_out, "the leak check"

    chunks = by_index("page.md")
    chunks.pop("titles")
    assert {kind for kind, found in chunks.items() if "secret1" in found} == ({types[0]} if is_indexed else set())
    assert shown - {"shown1", "shown3"} <= chunks[None], "the index"
    assert not by_ask_data("page.md") & secret, "the ask box"
    if types != [None]:
        assert not may_be_quoted(types) and may_be_quoted(types, types[0]), "answers"


@pytest.mark.parametrize("reason", [one for one in REASONS if one.in_header], ids=lambda reason: reason.key)
def test_a_header_says_it_of_the_whole_document(reason):
    value = LEAVING_OUT[reason.key]
    text = f"---\n{reason.key}: {json.dumps(value)}\n---\n\n# A\n\nsecret\n"
    assert ("secret" not in knitted(text, logger=ListLogger())) == (in_notes({reason.key: value}, RULES, True) is False)
    chunks = blocks_to_chunks(parse_markdown_text(text), docid="d")
    assert bool(chunks) == (in_index({reason.key: value}) is not False)


def test_a_type_in_a_header_is_another_programs():
    assert "shown" in knitted("---\ntype: exercise\n---\n\nshown\n")
