"""The pieces of a document by which a page is searched for what is left out."""

from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.left_out import find_pieces


def pieces(text):
    """Return the text of each piece, under what becomes of it."""
    found = {"stays": [], "goes": [], "metadata": []}
    for piece in find_pieces(parse_markdown_text(text), KnitRules()):
        kind = "metadata" if piece.is_metadata else "goes" if piece.is_out else "stays"
        found[kind].append(piece.text.strip())
    return found


def test_the_values_of_the_header_that_knitting_takes_out():
    text = "---\nauthor: On the page\n~questions: Asked?\n?: What?\n---\n\nText.\n"
    assert pieces(text)["metadata"] == ["Asked?", "What?"]


def test_values_without_prose_are_not_looked_for():
    text = (
        "---\n~titles: A - B\ntype=: exercise\ntxthash: abc\n~~edit: {before: x}\nhint: {short: Think, long: [Think hard]}"
        "\n---\n\nText.\n"
    )
    assert pieces(f"Start.\n\n{text}")["metadata"] == ["Think", "Think hard"]
