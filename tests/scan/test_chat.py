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
from lmm_core.models.prompts import SYSTEM
from lmm_core.models.tokens import count_tokens
from lmm_core.scan.chat import ChatRun, scan_messages
from lmm_core.scan.exchange.record import CHAT_KEY, clear_messages, pending_messages, read_chat
from lmm_core.scan.exchange.requests import REPLY_TOKENS, Talk, report_failures
from tests.strategies import annotate, any_text, knitted, markdown
from tests.talk import SPELLINGS, Sayer, block, chats, chatted, metadata

NASTY = [
    "a: 1\n- b\n? c",
    "```\ncode\n```",
    "```` not closed",
    "---",
    "---\na: 1\n---\n",
    "...\n",
    ":::",
    "::: lmm\n```yaml\na: 1\n```\n:::",
    "# Heading\n\nText.",
    "<!-- not closed",
    "###### new text",
    "###### end of edit {#lmm-end-k3x9}",
    "a\r\nb\r\n",
    "nul \0 here",
    "\n\n  lead and trail \n\n",
    "\ttab",
    "'single' \"double\" # no comment",
    "~~~~~\nx\n~~~~~",
    "\u2028 \x85 \ufeff \x0c",
    "- list\n- of\n\n  things",
    "🙂 مرحبا",
]
QUESTIONS = [
    "Is this right: yes or no?",
    "Why 'so', or \"not\"?",
    'What is "x"',
    "Is #3 right? # really",
    "A path\\",
    "🙂?",
    "هل هذا صحيح؟",
    "- is this a list?",
    "[is] {this} *it* & that | %",
    "yes and no",
    "@fig-x: clear?",
    "`code: x`",
]


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
        ("query: Q", ["Q"]),
        ("+: M", ["M"]),
        ("message: M", ["M"]),
        ("?: Q\n+: M\n+: N", ["Q", "M", "N"]),
        ("?: Q\nmessage: M", ["Q", "M"]),
        ("?: Q\n~chat:\n- user: Q\n- model: A", []),
        ("?: Q\n+: M\n~chat:\n- user: Q\n- model: A", ["M"]),
        ("?: Q\n+: M\n+: N\n~chat:\n- user: Q\n- model: A\n- user: M\n- model: B", ["N"]),
        ("?: Q\n+: other\n~chat:\n- user: Q\n- model: A\n- user: M\n- model: B", ["other"]),
        ("?: Q\n+: M\n+: M\n~chat:\n- user: Q\n- model: A\n- user: M\n- model: B", ["M"]),
        ("?: new\n+: M\n~chat:\n- user: Q\n- model: A\n- user: M\n- model: B", ["new", "M"]),
        ("?: Q\n~chat: [Q, A]", []),
        ("?: Q\n+: M\n~chat: [Q, A]", ["M"]),
        ("?: Q\n~chat: [Q]", ["Q"]),
        ("~chat:\n- user: Q\n- model: A\n- user: and?", ["and?"]),
        ("~chat:\n- user: Q\n- model: A", []),
        ("~chat:\n- user: Q\n- model: A\n- user:", []),
        ("+: M\n~chat: [Q, A]", ["M"]),
        ("?: one\n?: two", ["two"]),
        ("?:   spaced   out  \n~chat:\n- user: spaced out\n- model: A", []),
        ("?: Q\n~chat:\n- user: Q\n- model: A\n- note: the text was cut", []),
        ("?: Q\n~chat: nonsense", ["Q"]),
        ("?: Q\n~chat: {user: Q, model: A}", []),
        ("?: 1\n+: yes\n=: edit", []),
        ("?: Q\n~chat: [[a], 2, {x: y}]", ["Q"]),
    ],
)
def test_what_is_new_in_a_block(body, new):
    assert pending(body)[1] == new


def test_another_question_starts_anew_with_nothing_recorded():
    assert pending("?: new\n~chat:\n- user: Q\n- model: A") == ([], ["new"])


def test_texts_by_turns_are_user_and_model():
    assert read_chat(["Q", "A", "M", "B"]) == [("user", "Q"), ("model", "A"), ("user", "M"), ("model", "B")]


def test_what_was_typed_into_the_chat_and_not_answered_stays_there():
    def fails_at_last(request):
        if "last" in request.messages[-1].content:
            raise ModelError("no")
        return "A"

    text = document("~chat:\n- user: first\n- user: last\n")
    assert chats(chatted(text, fails_at_last)) == [[("user", "first"), ("model", "A"), ("user", "last")]]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("key", "spelling"), [("?", "native"), ("+", "div"), ("query", "native")])
def test_questions_are_taken_literally(question, key, spelling):
    model = Sayer("Yes.")
    text = document(f"{key}: {question}", spelling)
    after = serialize_blocks(scan_messages(parse_markdown_text(text), Asker(model), logger=ListLogger()))
    assert model.requests[0].messages[-1].content.endswith(f"</text>\n\n{question}")
    assert chats(after) == [[("user", question), ("model", "Yes.")]]
    assert chatted(after, "Not asked.") == after


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_question_of_three_lines(spelling):
    after = chatted(document("?: |\n  One: a\n  two # b\n\n  - three\\\n", spelling))
    assert chats(after) == [[("user", "One: a\ntwo # b\n\n- three\\\n"), ("model", "Yes.")]]
    assert chatted(after, "Not asked.") == after


# What is written


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("reply", NASTY)
def test_replies_that_look_like_markup_stay_replies(reply, spelling):
    text = document("?: Q\nother: kept # as it is", spelling)
    after = chatted(text, reply)
    assert chats(after) == [[("user", "Q"), ("model", reply)]]
    assert_alike_but_for_chats(text, after)


def test_an_empty_answer_is_none():
    logger = ListLogger()
    text = document("?: Q", "div")
    assert chatted(text, " \n", logger=logger) == text
    assert ["the model's reply was empty" in report.message for report in logger.reports] == [True]


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


@given(any_text.filter(str.strip), st.sampled_from(list(SPELLINGS)), st.sampled_from(["\n", "\r\n"]))
def test_any_reply_is_read_again_as_it_was(reply, spelling, newline):
    text = document("?: Q\nother: kept # as it is", spelling).replace("\n", newline)
    after = chatted(text, reply)
    assert chats(after) == [[("user", "Q"), ("model", reply)]]
    before_block, behind = text.split("?: Q")[0], text.split("The text.")[1]
    assert after.startswith(before_block)
    assert after.endswith(behind)
    assert_alike_but_for_chats(text, after)
    assert chatted(after, "Not asked.") == after


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


def test_all_lines_of_a_block_but_the_chat_stay():
    text = document("# remark\n?: Q\n\nquestions:   'odd'   # really\n~~hash: {a: [b, c]}")
    after = chatted(text)
    assert after == text.replace("~~hash", "~chat:\n  - user: Q\n  - model: Yes.\n~~hash")


def test_three_blocks_alike_get_each_its_own_answer():
    text = "".join(f"{block('?: Clear?')}\n\nText {name}.\n\n" for name in "abc")
    said = [
        chat[1][1] for chat in chats(chatted(f"Start.\n\n{text}", lambda r: r.messages[1].content.split("Text ")[1][0]))
    ]
    assert said == ["a", "b", "c"]


def test_a_block_that_cannot_be_written_into_is_not_asked_about():
    logger, model = ListLogger(), Sayer("A")
    text = document("?: Q\n{a: 1}")
    after = serialize_blocks(scan_messages(parse_markdown_text(text), Asker(model), logger=logger))
    assert (after, model.requests) == (text, [])
    assert [(report.level, report.line) for report in logger.reports] == [("error", 7)]
    assert "braces" in logger.reports[0].message


def test_of_several_questions_in_a_block_the_last_counts_and_that_is_said():
    logger = ListLogger()
    assert chats(chatted(document("?: one\n?: two"), logger=logger)) == [[("user", "two"), ("model", "Yes.")]]
    assert "2 questions in one block: the last one counts" in logger.reports[0].message


def test_two_blocks_for_one_heading_are_both_answered():
    text = f"Start.\n\n{block('?: one')}\n\n{block('?: two')}\n\n# H\n\nText.\n"
    after = chatted(text, lambda request: request.messages[-1].content[-3:])
    assert chats(after) == [[("user", "one"), ("model", "one")], [("user", "two"), ("model", "two")]]


def test_a_text_that_does_not_fit_at_all_is_an_error_and_no_answer():
    logger = ListLogger()
    text = f"Start.\n\n{block('?: Q')}\n\n{'word ' * 3000}\n"
    assert chatted(text, logger=logger, tokens=1000) == text
    assert "context_tokens" in logger.reports[0].message


# Chats elsewhere


CHAT = "?: SECRET-Q\n~chat:\n- user: SECRET-Q\n- model: SECRET-A\nother: 1"


def test_chats_are_in_no_notes_and_the_rag_pass_leaves_them():
    text = f"---\ntitle: T\n?: SECRET-H\n---\n\n{block(CHAT)}\n\n# A\n\n{'Some words. ' * 40}\n"
    assert "SECRET" not in knitted(text)
    annotated = annotate(text)
    assert chats(annotated) == chats(text)
    assert "?: SECRET-H\n" in annotated
    assert "~questions" in annotated
    assert all("SECRET" not in str(one.content.get("~summary", "")) for one in metadata(annotated))


# Clearing


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_clearing_takes_chats_and_leaves_the_rest(spelling):
    text = document("?: Q\nother: kept # as it is\n+: M\n=: edit", spelling)
    cleared = clear_messages(parse_markdown_text(chatted(text)), logger=ListLogger())
    assert serialize_blocks(cleared) == document("other: kept # as it is\n=: edit", spelling)


def test_clearing_takes_blocks_that_held_nothing_else():
    text = f"# A\n\n{block('?: Q')}\n\nText.\n\n{block('?: Q')}\n"
    assert serialize_blocks(clear_messages(parse_markdown_text(text), logger=ListLogger())) == "# A\n\nText.\n\n"


def test_an_edit_that_waits_is_not_cleared():
    logger = ListLogger()
    text = document("=: x\n~~edit: {id: abc, old: x}")
    assert serialize_blocks(clear_messages(parse_markdown_text(text), True, logger)) == text
    assert "an edit waits here" in logger.reports[0].message


@given(markdown(), any_text)
def test_clearing_after_a_chat_is_clearing_before_it(text, reply):
    blocks = parse_markdown_text(text)
    try:
        after = chatted(text, lambda request: reply)
        again = serialize_blocks(clear_messages(parse_markdown_text(after), logger=ListLogger()))
        at_once = serialize_blocks(clear_messages(blocks, logger=ListLogger()))
    except MarkdownError as error:
        assert "not closed" in str(error)
        return
    assert again.replace("\r", "").split() == at_once.replace("\r", "").split()


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


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("asked", "changed"),
    [
        (ASKED, RECORDED),
        (f"{RECORDED}\n+: And?", f"{RECORDED} Corrected by hand.\n+: And?"),
        (f"{RECORDED}\n+: And?", f"{RECORDED}\n  - user: And?\n  - model: Answered by another run.\n+: And?"),
        (f"{RECORDED}\n+: And?", f"{ASKED}\n+: And?"),
    ],
    ids=["answered", "corrected", "gone on", "removed"],
)
def test_an_answer_is_not_written_over_a_chat_that_has_changed(asked, changed, spelling):
    asked, changed = (f"{block(body, spelling)}\n\n# A\n\nText.\n" for body in (asked, changed))
    document, unmerged = answered(asked, changed)
    assert document == changed
    assert len(unmerged) == 1


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_answer_is_written_if_only_a_message_was_added(spelling):
    document, unmerged = answered(
        f"{block(ASKED, spelling)}\n\n# A\n\nText.\n",
        f"{block(ASKED + chr(10) + '+: And?', spelling)}\n\n# A\n\nText.\n",
    )
    assert chats(document) == [[("user", "Why?"), ("model", "New.")]]
    assert unmerged == []


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_answer_is_written_if_the_text_has_changed(spelling):
    asked = f"{block(ASKED, spelling)}\n\n# A\n\nText.\n"
    document, unmerged = answered(asked, asked.replace("# A", "# Another title"))
    assert chats(document) == [[("user", "Why?"), ("model", "New.")]]
    assert unmerged == []


def test_the_answer_to_one_of_two_questions_alike_follows_its_text():
    first, second = f"{block(ASKED)}\n\nText a.\n\n", f"{block(ASKED)}\n\nText b.\n\n"
    document, _ = answered(f"Start.\n\n{first}", f"Start.\n\n{second}{first}")
    before, after = document.split("Text b.")
    assert "New." not in before
    assert "New." in after


def test_a_request_has_the_writers_system_message_and_the_path_of_titles():
    model = Sayer("A")
    text = f"---\ntitle: Notes\n---\n\n# One\n\n{block('?: Q')}\n\n## Two\n\nText.\n"
    scan_messages(parse_markdown_text(text), Asker(model), system="Speak like a pirate.", logger=ListLogger())
    scan_messages(parse_markdown_text(text), Asker(model), logger=ListLogger())
    first, second = model.requests
    assert "Speak like a pirate." in first.messages[0].content
    assert SYSTEM in second.messages[0].content
    assert "One > Two" in first.messages[1].content


SUMMED = """---
title: Notes
summary: All of it.
---

---
summary: What One says. </around>
---

# One

---
?: Q
---

Text.

## Two

---
?: Q
---

Text.

---
?: Q
---

## Three

Text.
"""


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


def test_failures_are_reported_by_line_and_one_that_stops_all_once():
    logger = ListLogger()
    stop = ModelError("No key.", stop=True)
    report_failures(
        [(9, ModelError("Too long.")), (5, stop), (3, ModelError("No.")), (7, stop)], "question", "answered", logger
    )
    assert [(report.line, report.message) for report in logger.reports] == [
        (3, "question not answered: No."),
        (9, "question not answered: Too long."),
        (0, "2 questions not answered: No key."),
    ]


def test_clearing_chats_leaves_requests_for_edits_and_says_nothing_of_them():
    logger = ListLogger()
    waiting = document("=: Shorter.\n~~edit: {id: k3x9}\n?: Q")
    made = serialize_blocks(clear_messages(parse_markdown_text(waiting), logger=logger))
    assert made == waiting.replace("?: Q\n", "")
    assert logger.reports == []


def test_an_older_chat_has_messages_under_their_keys():
    assert read_chat([{"query": "Q"}, {"model": "A"}, {"message": "M"}, {"note": "N"}]) == [
        ("user", "Q"),
        ("model", "A"),
        ("user", "M"),
        ("note", "N"),
    ]


def test_a_request_leaves_room_for_the_reply():
    tree = blocks_to_tree(parse_markdown_text("# A\n\n" + "word word word word.\n\n" * 2000))
    talk = Talk(Asker(Sayer("A")), "", 8 * REPLY_TOKENS)
    assert count_tokens(talk.excerpt(tree, ["Why?"]).text) <= 7 * REPLY_TOKENS
    small = Talk(Asker(Sayer("A")), "", REPLY_TOKENS)
    assert count_tokens(small.excerpt(tree, ["Why?"]).text) <= REPLY_TOKENS // 4 + 1
