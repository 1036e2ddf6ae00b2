"""The RAG pass without a model: what is not written costs nothing, and what was written can be renewed."""

from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text, serialize_blocks
from lmm_core.markdown.metadata.ownership import digest
from lmm_core.models.annotators.lazy import stand_in
from lmm_core.scan import scan_rag
from tests.strategies import LONG, CountingAnnotator, annotate

HEADER = "---\ntitle: T\ndocid: d\n---\n\n"
SILENT = f"{HEADER}# On\n\nBut nothing here stands by itself. {'It goes on like that. ' * 20}\n"
RESIDUALS = f"{HEADER}# Residuals\n\nA residual is a distance between a point and the line. {LONG}\n"
MORE = "\n# More\n\nShort.\n"


def by_stand_in(text, refresh=False):
    made = scan_rag(parse_markdown_text(text), annotator=stand_in(), refresh=refresh, logger=ListLogger())
    return serialize_blocks(made)


def old(text):
    """Return the text as a former stand-in annotated it."""

    class Former(CountingAnnotator):
        name = "extractive/default"

    return annotate(text, Former())


def test_nothing_is_written_where_nothing_is_found():
    assert by_stand_in(SILENT) == SILENT


def test_what_is_written_is_written_once():
    once = by_stand_in(RESIDUALS)
    assert "~questions:\n  - What does “residual” mean?" in once
    assert "~~annotator: extractive/default" in once
    assert by_stand_in(once) == once


def test_a_model_is_asked_for_what_the_stand_in_left_out():
    annotator = CountingAnnotator()
    annotate(by_stand_in(f"{RESIDUALS}\n# On\n\n{SILENT.partition('# On')[2]}"), annotator)
    assert [asked.titles[-1] for asked in annotator.sections] == ["Residuals", "On", "T"]


def test_what_a_former_stand_in_wrote_stays_until_a_refresh():
    assert by_stand_in(old(RESIDUALS)) == old(RESIDUALS)
    assert by_stand_in(old(RESIDUALS), refresh=True) == by_stand_in(RESIDUALS)


def test_a_file_that_only_a_former_stand_in_annotated_is_after_a_refresh_as_it_was_before():
    assert by_stand_in(old(f"{SILENT}{MORE}"), refresh=True) == f"{SILENT}{MORE}"


def test_what_the_writer_corrected_is_kept():
    filled = old(RESIDUALS)
    summary = next(line for line in filled.split("\n") if line.startswith("~summary"))
    made = by_stand_in(filled.replace(summary, "~summary: By hand."), refresh=True)
    assert "~summary: By hand." in made
    assert "~questions:\n  - What does “residual” mean?" in made


def test_an_empty_reply_that_was_noted_is_forgotten():
    nothing = f"~~hash: {{questions: [0123456789, {digest(None)}], summary: [0123456789, {digest(None)}]}}"
    text = SILENT.replace("# On", f"---\n{nothing}\n~~annotator: extractive/default\n---\n\n# On")
    assert by_stand_in(text) == SILENT
