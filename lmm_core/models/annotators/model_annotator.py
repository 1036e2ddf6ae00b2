"""Annotations by a chat model, with one request for each section, and a second where the reply is no good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...errors import CutOffError, GateError, ModelError
from ..chat import Asker, ChatMessage, Request
from ..prompts import ANNOTATE_AGAIN, NOTHING_OWN, annotate_prompt, language_of
from ..tokens import count_tokens
from ..validation.annotations import CheckedReply, check_reply, described
from ..validation.faults import repeated_in, told_repetition
from .annotator import Annotation, AnnotatorSection

MOST_SAID = 1_000  # characters of a reply that the model is shown again


class ModelAnnotator:
    """The annotator that asks a chat model.

    own: templates in place of our prompts, by their names."""

    def __init__(self, asker: Asker, own: Mapping[str, str] = NOTHING_OWN) -> None:
        self.asker, self.own = asker, own
        self.name = asker.model.name

    @property
    def stopped(self) -> ModelError | None:
        """See `Annotator`."""
        return self.asker.model.stopped

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        """See `Annotator`.

        What is no good in the reply is asked for once more, with the reason. Raise ModelError if
        nothing is good in the second reply either."""
        request = make_request(section, wanted, instead, self.own)
        first = await self._ask(request, section, wanted)
        if not first.refused:
            return Annotation(first.questions, first.summary, remarks=first.remarks)
        left = [key for key in wanted if key in first.refused]
        again = request_again(request, make_request(section, left, instead, self.own), first)
        second = await self._ask(again, section, left)
        if len(second.refused) == len(wanted):
            raise GateError(f"{self.name}: {reasons(second)}")
        refused = {key: GateError(f"{self.name}: {reasons(second, key)}") for key in second.refused}
        questions, summary = first.questions or second.questions, first.summary or second.summary
        return Annotation(questions, summary, refused, first.remarks + second.remarks)

    async def _ask(self, request: Request, section: AnnotatorSection, wanted: Sequence[str]) -> CheckedReply:
        """Return the checked reply to a request. One of which nothing is good is not cached."""

        def read(text: str) -> CheckedReply:
            checked = check_reply(text, section, wanted)
            if len(checked.refused) == len(wanted):
                raise _NothingGood(checked)
            return checked

        try:
            return await self.asker.ask(request, read)
        except _NothingGood as nothing:
            return nothing.checked
        except CutOffError as error:
            if said := repeated_in(error.text):
                raise ModelError(f"{error}; {told_repetition(said)}") from None
            raise

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        """See `Annotator`."""
        return count_tokens(make_request(section, wanted, own=self.own).text)

    async def close(self) -> None:
        """See `Annotator`."""
        await self.asker.close()


class _NothingGood(GateError):
    """A reply of which nothing can be kept."""

    def __init__(self, checked: CheckedReply) -> None:
        super().__init__(reasons(checked))
        self.checked = checked


def reasons(checked: CheckedReply, only: str = "") -> str:
    """Return what is wrong with each key of a reply that was refused, or with the only one, in a sentence."""
    refused = {key: error for key, error in checked.refused.items() if key == (only or key)}
    said = (f"{key}: {described(error)}" if error.said else str(error) for key, error in refused.items())
    return "; ".join(dict.fromkeys(said))


def make_request(
    section: AnnotatorSection, wanted: Sequence[str], instead: str = "", own: Mapping[str, str] = NOTHING_OWN
) -> Request:
    """Return the request for the annotations of a section. own: see `ModelAnnotator`."""
    items = "\n".join(f"- {summary}" for summary in section.summaries)
    values = {
        "language": language_of(section.language),
        "titles": " > ".join(section.titles),
        "text": section.text,
        "summaries": f"\n\n<subsections>\n{items}\n</subsections>" if items else "",
    }
    return annotate_prompt(tuple(wanted), own).request(values, instead)


def request_again(before: Request, request: Request, reply: CheckedReply) -> Request:
    """Return the request for what a reply lacks, with that reply and what is wrong with it.

    before: the request that it replied to; request: the one for what is lacking alone."""
    said = ChatMessage("assistant", reply.said[:MOST_SAID] or "{}")
    why = ChatMessage("user", ANNOTATE_AGAIN.format(reasons=reasons(reply)))
    return replace(request, messages=(request.messages[0], before.messages[1], said, why))
