"""Annotate with a chat model: one request per section, and a retry after a bad reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ...errors import CutOffError, ModelError, ReplyError
from ..chat import Asker, ChatMessage, Request
from ..prompts import ANNOTATE_AGAIN, NOTHING_OWN, annotate_prompt, language_of
from ..tokens import count_tokens
from ..validation import check_reply, described, repeated_in, repetition_fault
from .annotator import Annotation, AnnotatorSection

MOST_REPEATED = 1_000  # characters of a bad reply in the retry


class ModelAnnotator:
    """The annotator with a chat model.

    open_asker: opens the model on first use, because that is slow; may raise ModelError
    own: custom templates by prompt name"""

    def __init__(self, name: str, open_asker: Callable[[], Asker], own: Mapping[str, str] = NOTHING_OWN) -> None:
        self.name, self._open_asker, self.own = name, open_asker, own

    @cached_property
    def _asker(self) -> Asker:
        return self._open_asker()

    async def annotate(self, section: AnnotatorSection, keys: Sequence[str], instead: str = "") -> Annotation:
        """See `Annotator`. Bad parts are requested once more, with the reasons."""
        request = make_request(section, keys, instead, self.own)
        first = await self._ask(request, section, keys)
        if not first.refused:
            return first
        refused_keys = [key for key in keys if key in first.refused]
        second_request = request_again(request, make_request(section, refused_keys, instead, self.own), first)
        second = await self._ask(second_request, section, refused_keys)
        if len(second.refused) == len(keys):
            raise ReplyError(f"{self.name}: {reasons(second)}")
        refused = {key: ReplyError(f"{self.name}: {reasons(second, key)}") for key in second.refused}
        questions, summary = first.questions or second.questions, first.summary or second.summary
        return Annotation(questions, summary, refused, first.remarks + second.remarks)

    async def _ask(self, request: Request, section: AnnotatorSection, keys: Sequence[str]) -> Annotation:
        """Return the checked reply; one without any good part leaves the cache."""
        try:
            checked = await self._asker.ask(request, lambda text: check_reply(text, section, keys))
        except CutOffError as error:
            if repeated := repeated_in(error.text):
                raise ModelError(f"{error}; {repetition_fault(repeated)}") from None
            raise
        if len(checked.refused) == len(keys):
            self._asker.forget(request)
        return checked

    def cost(self, section: AnnotatorSection, keys: Sequence[str]) -> int:
        return count_tokens(make_request(section, keys, own=self.own).text)

    async def close(self) -> None:
        if "_asker" in vars(self):
            await self._asker.close()


def reasons(checked: Annotation, only: str = "") -> str:
    """Return the faults of a reply, or of one key, in a sentence."""
    refused = {key: error for key, error in checked.refused.items() if key == (only or key)}
    faults = (f"{key}: {described(error)}" if error.quote else str(error) for key, error in refused.items())
    return "; ".join(dict.fromkeys(faults))


def make_request(
    section: AnnotatorSection, keys: Sequence[str], instead: str = "", own: Mapping[str, str] = NOTHING_OWN
) -> Request:
    """Return the request for a section's annotations. own: see `ModelAnnotator`."""
    items = "\n".join(f"- {summary}" for summary in section.summaries)
    values = {
        "language": language_of(section.language),
        "titles": " > ".join(section.titles),
        "text": section.text,
        "summaries": f"\n\n<subsections>\n{items}\n</subsections>" if items else "",
    }
    return annotate_prompt(tuple(keys), own).request(values, instead)


def request_again(before: Request, request: Request, annotation: Annotation) -> Request:
    """Return the retry of a first request for its missing parts, with the reply and its faults."""
    answered = ChatMessage("assistant", annotation.reply[:MOST_REPEATED] or "{}")
    corrected = ChatMessage("user", ANNOTATE_AGAIN.format(reasons=reasons(annotation)))
    return replace(request, messages=(request.messages[0], before.messages[1], answered, corrected))
