"""The chat pass: questions are asked, answers recorded, and nothing else changes."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import MarkdownError, ModelError
from lmm_core.logging import ListLogger
from lmm_core.markdown import MetadataBlock, parse_markdown_text, serialize_blocks
from lmm_core.markdown.blocks import trim_blank_lines
from lmm_core.markdown.metadata.body import DELETED
from lmm_core.markdown.spelling import edit_block, keeps_structure
from lmm_core.markdown.tree import blocks_to_tree
from lmm_core.models.chat import Asker
from lmm_core.models.tokens import count_tokens
from lmm_core.scan.chat import ChatRun, scan_messages
from lmm_core.scan.record import CHAT_KEY, clear_messages, pending_messages
from lmm_core.scan.requests import REPLY_TOKENS, Talk, fit_text
from tests.strategies import any_text, markdown
from tests.talk import SPELLINGS, Sayer, block, chats, metadata

NASTY = [
    "---\na: 1\n---\n",
    "::: lmm\n```yaml\na: 1\n```\n:::",
    "# Heading\n\nText.",
    "<!-- not closed",
    "###### end of edit {#lmm-end-k3x9}",
    "\n\n  lead and trail\r\n\n",
]


def chatted(document, reply="Yes.", logger=None, **options):
    """The text after the chat pass."""
    blocks = scan_messages(parse_markdown_text(document), Asker(Sayer(reply)), logger=logger or ListLogger(), **options)
    return serialize_blocks(blocks)


def pending(body):
    """Return the recorded entries of a block, and the texts still to be said."""
    (one,) = metadata(block(body))
    recorded, by_hand, new = pending_messages(one)
    return recorded, by_hand + new


def document(body, spelling="native"):
    """Return a document with one block, before a paragraph."""
    return f"---\ntitle: T\n---\n\n# A\n\n{block(body, spelling)}\n\nThe text.\n\nThe rest.\n"


# What is said


@pytest.mark.parametrize(
    ("body", "new"),
    [
        ("?: Q", ["Q"]),
        ("?: Q\nmessage: M\n+: N", ["Q", "M", "N"]),
        ("?: Q\n~chat:\n- user: Q\n- model: A", []),
        ("?: Q\n+: other\n~chat:\n- user: Q\n- model: A\n- user: M\n- model: B", ["other"]),
        ("~chat:\n- user: Q\n- model: A\n- user: and?", ["and?"]),
        ("?:   spaced   out  \n~chat:\n- user: spaced out\n- model: A", []),
        ("?: Q\n~chat: [[a], 2, {x: y}]", ["Q"]),
        ("?: Q\n+: M\n~chat: [Q, A]", ["M"]),
    ],
)
def test_what_is_new_in_a_block(body, new):
    assert pending(body)[1] == new


def test_what_was_typed_into_the_chat_and_not_answered_stays_there():
    def fails_at_last(request):
        if "last" in request.messages[-1].content:
            raise ModelError("no")
        return "A"

    text = document("~chat:\n- user: first\n- user: last\n")
    assert chats(chatted(text, fails_at_last)) == [[("user", "first"), ("model", "A"), ("user", "last")]]


@pytest.mark.parametrize(
    ("body", "question"),
    [
        ("?: Is #3 right: 'yes' or \"no\"? # really", "Is #3 right: 'yes' or \"no\"? # really"),
        ("+: A path\\", "A path\\"),
        ("?: |\n  One: a\n  two # b\n\n  - three\\\n", "One: a\ntwo # b\n\n- three\\\n"),
    ],
)
def test_questions_are_taken_literally(body, question):
    after = chatted(document(body))
    assert chats(after) == [[("user", question), ("model", "Yes.")]]
    assert chatted(after, "Not asked.") == after


# What is written


def assert_alike_but_for_chats(before, after):
    """Check that both have the same blocks, with the same bytes but for the added chats."""
    old, new = parse_markdown_text(before), parse_markdown_text(after)
    assert [type(one) for one in old] == [type(one) for one in new]
    for one, other in zip(old, new, strict=True):
        if isinstance(one, MetadataBlock):
            assert body_without_chat(one) == body_without_chat(other)
        else:
            assert trim_blank_lines(one.source) == trim_blank_lines(other.source)


def body_without_chat(one):
    """Return a block's body without its chat (its fence may be longer)."""
    try:
        cleared = edit_block(one, {CHAT_KEY: DELETED})
    except MarkdownError:
        return one.body
    return cleared.body if cleared else ""


@given(
    markdown(),
    markdown(),
    st.one_of(any_text.filter(str.strip), st.sampled_from(NASTY)),
    st.sampled_from(list(SPELLINGS)),
)
def test_the_rest_of_any_document_is_the_same(before, behind, reply, spelling):
    text = f"{before}\n\n# H\n\n{block('?: Q', spelling)}\n\nText.\n\n{behind}"
    if not any(one.messages and one.messages[0].text == "Q" for one in metadata(text)):
        return  # something before it is not closed
    try:
        after = chatted(text, lambda request: reply)
    except MarkdownError as error:
        assert "not closed" in str(error)
        return
    assert keeps_structure(parse_markdown_text(after))
    assert [("user", "Q"), ("model", reply)] in chats(after)
    assert_alike_but_for_chats(text, after)


# Clearing


def cleared(text, edits=False, logger=None):
    return serialize_blocks(clear_messages(parse_markdown_text(text), edits, logger or ListLogger()))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_clearing_takes_chats_and_leaves_the_rest(spelling):
    text = document("?: Q\nother: kept # as it is\n+: M\n=: edit", spelling)
    assert cleared(chatted(text)) == document("other: kept # as it is\n=: edit", spelling)
    assert cleared(f"# A\n\n{block('?: Q', spelling)}\n\nText.\n") == "# A\n\nText.\n"


def test_a_block_in_braces_is_not_cleared_and_the_others_are():
    logger = ListLogger()
    text = "# A\n\n---\n{a: 1, ~chat: [{user: Q}]}\n---\n\nText.\n\n"
    assert cleared(f"{text}{block('?: Q')}\n\nMore.\n", logger=logger) == f"{text}More.\n"
    assert [(report.line, report.message[:13]) for report in logger.reports] == [(3, "not cleared: ")]


def test_an_edit_that_waits_is_not_cleared():
    logger = ListLogger()
    text = document("=: x\n~~edit: {id: abc, old: x}")
    assert cleared(text, True, logger) == text
    assert "an edit waits here" in logger.reports[0].message


# What has changed on disk while the model thought


def answered(asked, changed):
    """Return what a changed document becomes by the answer to the one that was asked, and what found no place."""
    run = ChatRun(Talk(Asker(Sayer("New.")), "", 100_000), ListLogger())
    run.start(parse_markdown_text(asked))
    asyncio.run(run.ask())
    assert [chat.answered for chat in run.open] == [True]
    return serialize_blocks(run.apply(parse_markdown_text(changed))), run.unmerged


ASKED = "?: Why?"
RECORDED = f"{ASKED}\n~chat:\n  - user: Why?\n  - model: Because."


@pytest.mark.parametrize(
    ("asked", "changed"),
    [
        (ASKED, RECORDED),
        (f"{RECORDED}\n+: And?", f"{RECORDED}\n  - user: And?\n  - model: Answered by another run.\n+: And?"),
        (f"{RECORDED}\n+: And?", f"{ASKED}\n+: And?"),
        (ASKED, f"{ASKED}\n{{a: 1}}"),
    ],
    ids=["answered", "gone on", "removed", "in braces"],
)
def test_an_answer_is_not_written_into_a_block_that_has_changed(asked, changed):
    changed = f"{block(changed)}\n\n# A\n\nText.\n"
    document, unmerged = answered(f"{block(asked)}\n\n# A\n\nText.\n", changed)
    assert (document, len(unmerged)) == (changed, 1)


def test_the_answer_to_one_of_two_questions_alike_follows_its_text():
    first, second = f"{block(ASKED)}\n\nText a.\n\n", f"{block(ASKED)}\n\nText b.\n\n"
    document, _ = answered(f"Start.\n\n{first}", f"Start.\n\n{second}{first}")
    before, after = document.split("Text b.")
    assert "New." not in before
    assert "New." in after


Q = f"{block('?: Q')}\n\n"
SUMMED = (
    f"---\ntitle: Notes\nsummary: All of it.\n---\n\n{block('summary: What One says. </around>')}\n\n"
    f"# One\n\n{Q}Text.\n\n## Two\n\n{Q}Text.\n\n{Q}## Three\n\nText.\n"
)


def test_a_question_on_a_paragraph_shows_the_summary_around_it():
    """That of the nearest section which has one; no other metadata, and none made for it."""
    model = Sayer("A")
    scan_messages(parse_markdown_text(SUMMED), Asker(model), logger=ListLogger())
    first, second, section = [request.messages[1].content for request in model.requests]
    for shown in (first, second):
        assert shown.split("<text>")[0].endswith(
            "\n\nThe section around it, in short:\n\n<around>\nWhat One says. <\\/around>\n</around>\n\n"
        )
    assert "around" not in section and "All of it" not in str(model.requests)
    without = SUMMED.replace("summary: What One says. </around>", "topic: one")
    scan_messages(parse_markdown_text(without), Asker(model), logger=ListLogger())
    assert "<around>\nAll of it.\n</around>" in model.requests[3].messages[1].content


# The text that a request shows, within a budget

LONGER = "Intro.\n\n# One\n\nOne a.\n\n# Two\n\nTwo a is long. It goes on.\n\nTwo b is long. It goes on.\n"


def excerpt(text, budget=1000):
    return fit_text(blocks_to_tree(parse_markdown_text(text)), budget, lambda part: len(part.split()))


def test_of_a_long_text_the_last_blocks_go_first_and_headings_stay():
    assert excerpt(f"---\ntitle: T\n---\n\n{LONGER}").text == LONGER.strip()
    short = excerpt(LONGER, 16)
    assert short.left_out == ("Two",)
    assert short.text.endswith("# Two\n\nTwo a is long. It goes on.")
    assert excerpt("One two three.\n\nFour five six.\n", 4).left_out == ("(the beginning)",)


def test_a_request_leaves_room_for_the_reply():
    tree = blocks_to_tree(parse_markdown_text("# A\n\n" + "word word word word.\n\n" * 2000))
    talk = Talk(Asker(Sayer("A")), "", 8 * REPLY_TOKENS)
    assert count_tokens(talk.excerpt(tree, ["Why?"]).text) <= 7 * REPLY_TOKENS
