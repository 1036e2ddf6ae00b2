"""The edit pass: new versions beside the old ones, until they are accepted or rejected."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import MarkdownError
from lmm_core.logging import ListLogger
from lmm_core.markdown import MetadataBlock, TextBlock, parse_markdown_text
from lmm_core.markdown.blocks import ends_blank
from lmm_core.markdown.edits import broken_edits, read_edit
from tests.strategies import DIV, LONG, NATIVE, CountingAnnotator, annotate, any_text, knitted, markdown
from tests.talk import SPELLINGS, accepted, block, edited, metadata, rejected

NASTY = [
    "# Heading\n\nText.",
    "---\na: 1\n---",
    "```\nnot closed",
    "\n\nblank lines, nul \0\n\n\n",
]


def document(text="The text.\n", spelling="native", body="=: Shorter."):
    return f"---\ntitle: T\n---\n\n# A\n\n{block(body, spelling)}\n\n{text}\nThe rest.\n"


def edits(text):
    """Return all edits that wait."""
    return [edit for one in parse_markdown_text(text) if (edit := read_edit(one))]


def undone(text):
    """Return a text without the record of edits made."""
    return re.sub(r"~~edit: [^\n]*\n", "", text)


# Proposing


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_markers_stand_around_the_old_and_the_new_text(spelling):
    after = edited(document(spelling=spelling), "New.")
    (edit,) = edits(after)
    region = (
        f"###### old text {{#lmm-old-{edit.ident}}}\n\nThe text.\n\n"
        f"###### new text {{#lmm-new-{edit.ident}}}\n\nNew.\n\n###### end of edit {{#lmm-end-{edit.ident}}}\n"
    )
    assert undone(after) == document(region, spelling)
    assert "above:" not in after, "which is recorded only where no blank line stood above"
    assert edited(after, "Not asked.") == after


def test_where_there_is_no_text_only_a_new_one_is_proposed():
    after = edited(f"# A\n\n{block('=: Write something.')}\n", "New.")
    assert "old text" not in after
    assert [(edit.old, edit.new) for edit in edits(after)] == [(None, "New.")]
    assert accepted(after) == "# A\n\nNew.\n"
    assert edited(rejected(after), "Not asked.") == rejected(after)


def test_an_empty_version_leaves_the_document_and_is_said():
    logger = ListLogger()
    assert edited(document(), " \n\t", logger) == document()
    assert "the model's new version is empty" in logger.reports[0].message


KEPT = block("~summary: Kept.\ntype: exercise")
SECTION = f"## Two\n\nOld two.\n\n### Three\n\n{KEPT}\n\nOld three.\n\n## Next\n\nText.\n"


def test_a_section_with_its_subsections_is_one_edit():
    after = edited(document(SECTION), "## Two\n\nNew two.\n\n### Three\n\nOld three.")
    (edit,) = edits(after)
    assert edit.old.startswith("## Two\n") and edit.old.endswith("Old three.")
    assert undone(rejected(after)) == document(SECTION)
    kept = accepted(after)
    assert "New two." in kept and "Old two." not in kept
    assert f"{KEPT}\n\nOld three.\n\n## Next" in kept


def test_the_header_asks_for_the_whole_document():
    text, requests = f"---\ntitle: T\n=: All of it.\n---\n\n# A\n\n{block('a: 1')}\n\nText.\n\n## B\n\nMore.\n", []
    after = edited(text, lambda request: requests.append(request) or "# New\n\nAll.")
    assert "# A\n\nText.\n\n## B\n\nMore.\n</text>" in requests[0].text
    assert undone(rejected(after)) == text
    assert accepted(after).endswith("---\n\n# New\n\nAll.\n")


def test_requests_inside_a_part_that_is_edited_wait():
    after = edited(document(f"## Two\n\n{block('=: inner')}\n\nOld.\n"), "## Two\n\nNew.")
    assert len(edits(after)) == 1
    assert edited(after, "Not asked.") == after
    assert len(edits(edited(rejected(after), "Inner new."))) == 1


def test_a_second_request_refines_the_new_text():
    after = edited(document(), "New.")
    more, requests = after.replace("=: Shorter.\n", "=: Shorter.\n=: And nicer.\n"), []
    refined = edited(more, lambda request: requests.append(request) or "Nicer.")
    said = [(message.role, message.content.split("</text>\n\n")[-1]) for message in requests[0].messages[1:]]
    assert said == [("user", "Shorter."), ("assistant", "New."), ("user", "And nicer.")]
    assert [(edit.old, edit.new) for edit in edits(refined)] == [("The text.", "Nicer.")]
    assert undone(rejected(refined)) == document(body="=: Shorter.\n=: And nicer.")


def test_a_rejected_request_is_not_asked_again_but_a_further_one_is():
    after = rejected(edited(document(), "New."))
    assert edited(after, "Not asked.") == after
    assert edits(edited(after.replace("=: Shorter.", "=: Shorter.\n=: More."), "More."))[0].new == "More."


def test_nothing_is_left_of_an_accepted_request_unless_there_is_a_further_one():
    after = edited(document(), "New.")
    assert accepted(after) == "---\ntitle: T\n---\n\n# A\n\nNew.\n\nThe rest.\n"
    more = accepted(after.replace("=: Shorter.", "=: Shorter.\n=: More."))
    assert edits(edited(more, "Third."))[0].new == "Third."
    noted = accepted(edited(document(body="note: mine\n=: Shorter."), "New."))
    assert noted == document(body="note: mine").replace("The text.", "New.")


# Deciding


@pytest.mark.parametrize("reply", NASTY)
def test_replies_that_look_like_markup_stay_in_their_region(reply):
    text = document()
    after = edited(text, reply)
    assert edits(after)[0].new == reply
    assert broken_edits(parse_markdown_text(after)) == []
    assert undone(rejected(after)) == text
    decided = accepted(after)
    assert decided == after or (reply.strip("\n") in decided and decided.endswith("The rest.\n"))


def test_a_new_text_that_would_swallow_the_rest_is_not_accepted():
    logger = ListLogger()
    after = edited(document(), "<!-- not closed")
    assert accepted(after, logger=logger) == after
    assert "not accepted: in the new text" in logger.reports[0].message


ASK = block("=: Q")
KEY = block("key: value")
REJECTED = {
    "blanks behind": document("The text.  \n\t\n"),
    "a heading directly under code": document("```\ncode\n```\n# Next\n"),
    "CRLF": document("The text.\n").replace("\n", "\r\n"),
    "a byte-order mark": "\ufeff" + document("\ttab\n"),
    "no line end at the end": document("# Odd\n\n- a\n").rstrip("\n"),
    "directly under two blocks": f"# A\n\n{ASK}\n\n{KEY}\nText.\n",
    "directly under the block": f"# A\n\n{ASK}\nText.\n\nMore.\n",
}


@pytest.mark.parametrize("text", REJECTED.values(), ids=REJECTED)
def test_rejecting_gives_the_bytes_back(text):
    after = edited(text, "New\n\n# text.")
    assert after != text
    assert undone(rejected(after)) == text


def test_what_was_written_under_an_edit_at_the_end_stays_apart():
    after = edited("# A\n\n---\n=: x\n---\n\nOld.", "New.")
    assert rejected(after + "\nMore.\n").endswith("\n\nOld.\n\nMore.\n")
    assert accepted(after + "\nMore.\n").endswith("\n\nNew.\n\nMore.\n")
    before_a_heading = edited("# A\n\n---\n=: x\n---\n\n```\ncode\n```\n# Next\n", "A paragraph.")
    assert accepted(before_a_heading).endswith("# A\n\nA paragraph.\n\n# Next\n")


def test_one_edit_is_decided_by_its_line():
    text = f"# A\n\n{block('=: one')}\n\nOne.\n\n{block('=: two')}\n\nTwo.\n"
    after = edited(text, "New.")
    lines = after.split("\n")
    for at in (lines.index("=: two") + 1, lines.index("Two.") + 1, len(lines) - 1):
        decided = accepted(after, at)
        assert "One.\n\n###### new" in decided
        assert decided.count("###### old text") == 1 and "=: two" not in decided
    logger = ListLogger()
    assert accepted(after, 1, logger) == after
    assert "no edit waits at line 1" in logger.reports[0].message


def test_an_old_text_that_was_changed_by_hand_is_taken_as_it_is():
    logger = ListLogger()
    after = edited(document(), "New.")
    changed = after.replace("The text.", "The changed text.")
    assert undone(rejected(changed, logger=logger)) == document("The changed text.\n")
    assert "changed by hand" in logger.reports[0].message


@given(markdown(), markdown(), st.one_of(any_text, markdown()), st.sampled_from([NATIVE, DIV]))
def test_propose_and_decide_leave_the_rest_of_any_document(before, behind, reply, spelling):
    behind = behind.replace("\ufeff", "")  # a mark in the middle of a file is no text of anybody's
    text = f"{before}\n\n# H\n\n{spelling.format('=: Q')}\n\n{behind}"
    blocks = parse_markdown_text(text)
    if not any(isinstance(one, MetadataBlock) and one.body == "=: Q\n" for one in blocks):
        return  # something before it is not closed
    texts = [one.source for one in blocks if isinstance(one, TextBlock)]
    if any(not ends_blank(one) for one in texts[:-1]):
        return  # a text that directly follows another (a fence, what is not closed) is set apart by a blank line
    try:
        after = edited(text, lambda request: reply)
    except MarkdownError as error:
        assert "not closed" in str(error)
        return
    if after == text:
        return
    assert not broken_edits(parse_markdown_text(after))
    assert without_asking(rejected(after)) == without_asking(text)
    whole = accepted(after)
    for part in parts_between(after, lambda part: asks(part) or read_edit(part)):
        assert part in whole


def parts_between(text, is_left_out):
    """Return the parts of a text between the blocks that are left out."""
    parts = [""]
    for part in parse_markdown_text(text):
        if is_left_out(part):
            parts.append("")
        else:
            parts[-1] += part.source
    return parts


def asks(part):
    return isinstance(part, MetadataBlock) and bool(part.messages)


def without_asking(text):
    """Return the parts of a text between requests, without the white space after these."""
    first, *rest = parts_between(text, asks)
    return [first, *(part.lstrip("\r\n") for part in rest)]


# Other passes, while an edit waits


HARD = ["```\nnot closed", "# Up\n\n" + LONG]


def notes():
    return (
        f"---\ntitle: T\n---\n\n# A\n\n{LONG}\n\n{block('=: Shorter.')}\n\n## Two\n\n{LONG} Two.\n\n"
        f"### Three\n\n{LONG} Three.\n\n## Four\n\n{LONG} Four.\n"
    )


@pytest.mark.parametrize("reply", HARD)
def test_annotating_takes_the_old_text_and_writes_nothing_into_the_edit(reply):
    text = notes().replace(f"### Three\n\n{LONG} Three.\n\n", "")
    after = edited(text, reply)
    with_edit = annotate(after)
    assert edits(with_edit) == edits(after)
    found = [{k: v for k, v in one.content.items() if k != "~~edit"} for one in metadata(with_edit)]
    assert found == [one.content for one in metadata(annotate(text))]
    assert annotate(with_edit) == with_edit


def test_no_annotation_is_made_again_when_an_edit_is_proposed_or_rejected():
    first = annotate(notes())
    after = edited(first, "## Two\n\nNew.")
    annotator = CountingAnnotator()
    assert annotate(after, annotator) == after
    assert annotate(rejected(after), annotator) == rejected(after)
    assert annotator.calls == 0
    annotate(accepted(after), annotator)
    assert [section.titles[-1] for section in annotator.sections] == ["A"]


@pytest.mark.parametrize("reply", HARD)
def test_notes_have_the_old_text(reply):
    assert knitted(edited(notes(), reply)) == knitted(notes())
