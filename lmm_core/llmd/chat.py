"""Answer the last entry of an LLMD document."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from ..errors import ChangedError, LlmdError, ModelError
from ..logging import LoggerBase
from ..markdown.blocks import BOM
from ..markdown.files import MarkdownFile, read_markdown, write_markdown
from ..models.chat import ChatMessage, Request
from ..models.prompts import LLMD
from ..scan.documents.talk import keep_unmerged
from ..scan.requests import REPLY_TOKENS, Screen, ask_model
from ..settings.models import Models
from ..settings.project import load_project
from .document import TOOLS, Llmd, ThreadEntry, parse_llmd, unanswered
from .editing import UNWRITABLE, append_entry, append_reply, make_llmd
from .project import open_document

_ATTEMPTS = 5  # to write a reply despite concurrent changes


async def chat(path: Path, models: Models, logger: LoggerBase, screen: Screen | None = None) -> bool:
    """Answer the last unanswered entry, and write the reply into the document as it is by then.

    Return True if it was written; problems are reported. Raise OSError, MarkdownError and ConfigError."""
    opened = open_document(path, logger)
    entry = unanswered(opened.llmd)
    for problem in opened.llmd.problems:
        logger.warning(problem.message, problem.line)
    if entry is None:
        logger.info("No entry needs an answer. Write your request after the last **Human:**.")
        return False
    try:
        asker = models.asker(project := load_project(opened.path), "major")
        request, left_out = make_request(opened.llmd, entry, project.requests("major").context_tokens)
        if left_out:
            logger.warning(
                f"the conversation is too long for the model (context_tokens): {_name_entries(left_out)} not sent",
                entry.line,
            )
        reply = (await ask_model(asker, request, entry.human, screen)).replace("\r\n", "\n").strip()
        reply = UNWRITABLE.sub("\ufffd", reply)
    except ModelError as error:
        logger.error(f"entry {entry.number} was not answered: {error}", entry.line)
        return False
    is_saved = _save_reply(opened.file, entry, reply, logger)
    asker.forget(request)  # so that a retry gets another reply
    return is_saved


def make_request(llmd: Llmd, entry: ThreadEntry, tokens: int) -> tuple[Request, list[ThreadEntry]]:
    """Return the request for an entry, and earlier entries left out of it. Raise ModelError if it is too long."""
    from ..models.tokens import count_tokens

    earlier = [other for other in llmd.entries[: llmd.entries.index(entry)] if other.human or other.assistant]
    sizes = [count_tokens(other.human + (other.assistant or "")) for other in earlier]
    available = max(tokens - REPLY_TOKENS, tokens // 2)
    available -= count_tokens(_request(llmd, [entry], []).text)
    if available < 0:
        raise ModelError(
            f"the document without its conversation is {-available} tokens too long for the model "
            f"(context_tokens = {tokens}): take files out of its code context"
        )
    first = next(at for at in range(len(sizes) + 1) if sum(sizes[at:]) <= available)
    return _request(llmd, [*earlier[first:], entry], earlier[:first]), earlier[:first]


def _request(llmd: Llmd, entries: Sequence[ThreadEntry], left_out: Sequence[ThreadEntry]) -> Request:
    messages = [ChatMessage("user", entries[0].human)]
    for before, entry in pairwise(entries):
        messages += [ChatMessage("assistant", before.assistant)] if before.assistant else []
        messages += [ChatMessage("user", entry.human)]
    usual_tools = make_llmd("a project").parts[TOOLS].text
    values = {
        "document": llmd.text[: llmd.entries[0].start].removeprefix(BOM).strip(),
        "tools": "" if TOOLS in llmd.parts else f"\n\n{usual_tools}",
        "left_out": f"(Left out: {_name_entries(left_out)}.)\n\n" if left_out else "",
        "question": messages[0].content,
    }
    return LLMD.request(values, chat=messages[1:])


def _name_entries(entries: Sequence[ThreadEntry]) -> str:
    first, last = entries[0].number, entries[-1].number
    return f"entry {first}" if first == last else f"entries {first} to {last}"


def _save_reply(file: MarkdownFile, entry: ThreadEntry, reply: str, logger: LoggerBase) -> bool:
    """Write a reply into the document, which may have changed, or else into a file beside it.

    Return True if the document was written. Raise OSError and MarkdownError."""
    text = f"**Human:** {entry.human}\n\n**Assistant:** {reply}"
    why = "the entry has changed, or cannot take the reply, which"
    with contextlib.ExitStack() as otherwise:
        otherwise.callback(keep_unmerged, file.path, [text], logger, why)
        for _ in range(_ATTEMPTS):
            answered = _add_reply(parse_llmd(file.text), entry, reply)
            if answered is None:
                break
            with contextlib.suppress(ChangedError):
                write_markdown(file.path, answered.text, file)
                otherwise.pop_all()
                return True
            file = read_markdown(file.path)
    return False


def _add_reply(llmd: Llmd, entry: ThreadEntry, reply: str) -> Llmd | None:
    """Return the document with the reply, or None if the entry no longer needs one. Raise LlmdError."""
    waiting = [other for other in llmd.entries if other.assistant is None]
    same = [other for other in waiting if (other.number, other.human) == (entry.number, entry.human)]
    if not same:
        return None
    answered = append_reply(llmd, same[-1], reply)
    if llmd.entries[-1] == same[-1]:
        with contextlib.suppress(LlmdError):
            answered = append_entry(answered)
    return answered
