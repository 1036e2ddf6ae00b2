"""Answer with citations by a model that reads a context; without a model, show the best matches."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import CutOffError, ModelError, ToolError
from ..models.chat import Asker, ChatMessage, Reply, Request, Show, ToolCall
from ..models.names import parse_name
from ..models.prompts import ANSWER, OF_TYPE, RULES, USE_TOOLS, Prompt, own_prompt, teacher_text
from ..models.sources import FASTEMBED, STAND_IN, STAND_IN_NAME, known_sources
from ..models.tokens import count_tokens
from ..models.validation import AnswerWatch
from ..settings.models import Models
from ..settings.project import Project
from .citations import NO_ANSWER, CitedText
from .context import CitedSource, Context, build_context
from .library import PATIENCE, Library
from .matches import best_matches
from .plain_text import escape, titles_path
from .ranking.fusion import Ranked
from .search import Retrieval, Retriever

if TYPE_CHECKING:  # not needed without a model
    from .library_tools import Result
    from .models import ModelQueries, Reranker
    from .tools import Tools

MOST_CHARACTERS = 10_000  # of a question to the model
ROOM_FOR_REPLY = 4_000  # tokens of a request reserved for the answer
NEAREST = 3  # sections named without an answer
AGAIN = "(This broke off. The answer again:)"
NO_MORE_CALLS = "There are no more calls for this answer: answer from what you have."
Cite = Callable[[tuple["CitedSource", ...]], None]
NO_ROOM = "There is no room for what this gives back: answer from what you have, or ask for less of it."


@dataclass(frozen=True)
class Answer:
    """An answer to a question.

    sources: all that could be cited, cited ones first, numbered from 1; cited: numbers of the cited ones
    answered: False if the notes do not answer, or nothing was cited; notes: remarks, such as dropped citations
    nearest: sections near an unanswered question; types: available types of material"""

    question: str
    text: str
    sources: tuple[CitedSource, ...]
    cited: tuple[int, ...]
    answered: bool
    by: str
    context: Context
    notes: tuple[str, ...] = ()
    nearest: tuple[Ranked, ...] = ()
    types: tuple[str, ...] = ()


class BrokenAnswer(ModelError):
    """An interrupted answer; `answer` holds the part already shown."""

    def __init__(self, error: ModelError, answer: Answer) -> None:
        super().__init__(str(error), error.stop)
        self.answer = answer


@dataclass
class Conversation:
    """Questions and answers, each in the light of earlier ones.

    asker: the model, None for best matches; tools: for the model, at most `tool_calls` times an answer; budget: tokens
    of the passages it is shown; tokens: the largest size of a request; system: how the teacher wants answers to sound,
    in addition to the library's."""

    retriever: Retriever
    asker: Asker | None = None
    tools: Tools | None = None
    budget: int = 1000
    tool_calls: int = 4
    tokens: int = 100_000
    system: str = ""
    prompt: Prompt = ANSWER
    history: list[tuple[str, str]] = field(default_factory=list)

    async def look(self, question: str, type: str = "", as_for_model: bool = False) -> tuple[Retrieval, Context]:
        """Return a question's search result and context, or without a model the best matches.

        as_for_model: build the model's context in any case. Raise as `Retriever.retrieve`."""
        earlier = [previous for previous, _ in self.history]
        retrieval = await self.retriever.retrieve(question, type, earlier, whole=self.tools is not None)
        if self.asker is None and not as_for_model:
            return retrieval, Context("", await asyncio.to_thread(best_matches, retrieval))
        return retrieval, await asyncio.to_thread(build_context, retrieval, self.budget, count_tokens)

    async def ask(self, question: str, show: Show | None = None, type: str = "") -> Answer:
        """Return the answer to a question, and pass its parts to `show` on arrival.

        type: of material. Raise StoreError, RetrieveError or ModelError; BrokenAnswer if a part was shown."""
        retrieval, context = await self.look(question, type)
        return await self.answer(question, retrieval, context, show)

    async def answer(
        self, question: str, retrieval: Retrieval, context: Context, show: Show | None = None, cite: Cite | None = None
    ) -> Answer:
        """Answer a question after its search; see `ask`. cite: called with the sources before a new citation."""
        show = show or (lambda part: None)
        if self.asker is None:
            answer = matches_answer(question, retrieval, context)
            show(answer.text)
        else:
            turn = _Turn(self, self.asker, retrieval, context, show, cite)
            try:
                answer = await turn.answer(question)
            except asyncio.CancelledError:  # stopped: the next question may refer to this answer
                if shown_text := turn.cited.text.strip():
                    self.history.append((question, shown_text))
                raise
        self.history.append((question, answer.text))
        return answer

    def request(self, question: str, retrieval: Retrieval, context: Context) -> Request:
        values = {
            "rules": RULES,
            "teacher": teacher_text(self.system, retrieval.material.system),
            "type": OF_TYPE.format(type=retrieval.type) if retrieval.type else "",
            "tools": USE_TOOLS if self.tools and self.tool_calls else "",
            "context": context_text(retrieval, context),
            "question": question[:MOST_CHARACTERS],
        }
        prompt = self.prompt.request(values)
        earlier = self._recent_turns(count_tokens(prompt.text))
        return replace(prompt, messages=(prompt.messages[0], *earlier, *prompt.messages[1:]))

    def _recent_turns(self, spent: int) -> list[ChatMessage]:
        """Return the latest turns that fit. spent: tokens of the request so far."""
        messages: list[ChatMessage] = []
        for question, answer in reversed(self.history):
            spent += count_tokens(question + answer)
            if spent > self.tokens:
                break
            reply = ChatMessage("assistant", answer or NO_ANSWER)  # servers refuse an empty one
            messages = [ChatMessage("user", question[:MOST_CHARACTERS]), reply, *messages]
        return messages


def matches_answer(question: str, retrieval: Retrieval, context: Context) -> Answer:
    """Return the best matches as an answer; they are the context's sources."""
    sources = context.sources
    titles = [escape(titles_path(source.titles, " › ") or source.source) for source in sources]
    parts = zip(titles, sources, strict=True)
    text = "\n\n".join(f"**{title}** [{source.number}]\n\n{source.text}" for title, source in parts)
    cited = tuple(source.number for source in sources)
    nearest = () if sources else retrieval.sections[:NEAREST]
    return Answer(
        question, text, sources, cited, bool(sources), STAND_IN_NAME, context, (), nearest, retrieval.types
    )  # fmt: skip


def context_text(retrieval: Retrieval, context: Context) -> str:
    """Return a context's text, or in brackets why it is empty."""
    reason = "nothing of what was found fits into so few tokens" if retrieval.passages else "nothing was found"
    return context.text or f"({reason})"


@dataclass
class _Turn:
    """A model's answer in progress."""

    talk: Conversation
    asker: Asker
    retrieval: Retrieval
    context: Context
    show: Show
    cite: Cite | None = None
    sources: dict[int, CitedSource] = field(default_factory=dict, init=False)
    cited: CitedText = field(init=False)
    _reported: int = field(default=0, init=False)  # number of cited sources passed to `cite`

    async def answer(self, question: str) -> Answer:
        self.sources = {source.number: source for source in self.context.sources}
        self.cited = CitedText(self.sources, self._is_in_sources)
        broken: ModelError | None = None
        try:
            await self._converse(self.talk.request(question, self.retrieval, self.context))
        except ModelError as error:
            broken = error
        self._show(self.cited.finish())
        answer = self._answer(question)
        if broken:
            if not answer.text:
                raise broken
            raise BrokenAnswer(broken, answer) from broken
        return answer

    def _answer(self, question: str) -> Answer:
        cited = self.cited
        answered = bool(cited.numbers) and not cited.refused
        dropped = ", ".join(dict.fromkeys(cited.dropped))
        return Answer(
            question, cited.text.strip(), self._numbered_sources(), tuple(cited.numbers.values()), answered,
            self.asker.model.name, self.context,
            (f"left out of the answer, since no source has it: {dropped}",) if dropped else (),
            () if answered else self.retrieval.sections[:NEAREST], self.retrieval.types,
        )  # fmt: skip

    def _show(self, part: str) -> None:
        if self.cite and len(self.cited.numbers) > self._reported:
            self._reported = len(self.cited.numbers)
            self.cite(self._numbered_sources())
        self.show(part)

    def _numbered_sources(self) -> tuple[CitedSource, ...]:
        rest = [number for number in self.sources if number not in self.cited.numbers]
        order = [*self.cited.numbers, *rest]
        return tuple(replace(self.sources[number], number=at) for at, number in enumerate(order, 1))

    async def _converse(self, request: Request) -> None:
        tools = self.talk.tools
        calls_left = self.talk.tool_calls if tools else 0
        while True:
            offered = tuple(tools.openai()) if tools and calls_left > 0 else ()
            reply = await self._turn(replace(request, tools=offered))
            if not (reply.calls and offered and tools):
                return
            results = await asyncio.gather(*(_use(tools, call) for call in reply.calls[:calls_left]))
            calls = ChatMessage("assistant", reply.text, reply.calls)
            messages = self._tool_messages(reply.calls, results, request)
            request = replace(request, messages=(*request.messages, calls, *messages))
            calls_left -= len(results)

    def _tool_messages(
        self, calls: Sequence[ToolCall], results: Sequence[Result | str], request: Request
    ) -> list[ChatMessage]:
        """Return tool results as messages with numbered texts; NO_ROOM where one does not fit."""
        room = self.talk.tokens - count_tokens(request.text)
        messages = []
        for at, call in enumerate(calls):
            result = results[at] if at < len(results) else NO_MORE_CALLS
            size = count_tokens(_as_text(result))
            if size > room:
                result, size = NO_ROOM, 0
            self._number(result)
            room -= size
            messages.append(ChatMessage("tool", _as_text(result), answers=call.id))
        return messages

    async def _turn(self, request: Request) -> Reply:
        """Return one reply, shown in parts on arrival; shown whole if the stream is missing or broken."""
        parts: list[str] = []

        def hear(part: str) -> None:
            parts.append(part)
            self._show(self.cited.feed(part))

        watch = AnswerWatch(request)
        try:
            reply = await self.asker.turn(request, watch.around(hear))
            watch.check(reply.text)
        except CutOffError:
            self.asker.forget(request)
            if watch.stopped:
                self.cited.drop_rest()
            raise
        heard = "".join(parts).encode("utf-8", "replace").decode("utf-8")
        if heard.strip() == reply.text.strip():
            return reply
        if reply.text.startswith(heard):
            hear(reply.text[len(heard) :])
        else:
            self._show(f"{self.cited.finish()}\n\n{AGAIN}\n\n")
            self.cited = CitedText(self.sources, self._is_in_sources, numbers=self.cited.numbers)
            hear(reply.text)
        return reply

    def _number(self, result: Any) -> None:
        if isinstance(result, list):
            for item in result:
                self._number(item)
        elif isinstance(result, dict):
            if result.get("text") and (source := self._source(result)):
                self.sources[source.number] = source
                result["cite"] = f"[{source.number}]"
            self._number(list(result.values()))

    def _source(self, result: Mapping[str, Any]) -> CitedSource | None:
        """Return the source of a text in a tool's result, reused if it holds the text; None for an unknown section."""
        section = self.retrieval.material.find_section(str(result.get("section", "")))
        file, _, lines = str(result.get("place", "")).rpartition(":")
        start, _, end = lines.partition("-")
        if section is None or not start.isdigit():
            return None
        text = str(result["text"])
        holding = (source for source in self.sources.values() if source.key == section.key and text in source.text)
        return next(holding, None) or CitedSource(
            len(self.sources) + 1, section.titles, section.docid, file, section.anchor, section.path, int(start),
            int(end) if end.isdigit() else int(start), (), section.depth, text,
        )  # fmt: skip

    def _is_in_sources(self, address: str) -> bool:
        if not address or address.isspace():
            return False
        pattern = re.compile(rf"(?<!\w){re.escape(address)}(?![\w\-/%~?&=#+@]|[.:]\w)")
        return any(
            pattern.search(source.text) or address in (f"#{source.anchor}", source.source)
            for source in self.sources.values()
        )


async def _use(tools: Tools, call: ToolCall) -> Result | str:
    try:
        return await tools.call(call.name, json.loads(call.arguments or "{}"))
    except ToolError as error:
        return str(error)
    except (ValueError, RecursionError):
        return f"{call.name}: the arguments are not JSON"


def _as_text(result: Result | str) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


# Configuration


def make_conversation(
    project: Project, models: Models, library: Library, with_model: bool = True, tools: Tools | None = None,
    patience: float = PATIENCE,
) -> Conversation:  # fmt: skip
    """Return a conversation about a library, as configured under `[ask]`. Raise ModelError and ConfigError.

    with_model: False for best matches; tools: available to the model; patience: see `Retriever`"""
    ask = project.ask
    chats = with_model and models.name(project, "major").source != STAND_IN
    asker = models.asker(project, "major") if chats else None
    queries, reranker = _queries(project, models, chats), _reranker(project, models, chats)
    retriever = Retriever(library, queries, reranker, models.warn, patience)
    tokens = max(project.requests("major").context_tokens - ROOM_FOR_REPLY, 0)
    prompt = own_prompt("answer", project.templates)
    tools = tools if asker else None
    return Conversation(retriever, asker, tools, ask.budget, ask.tool_calls, tokens, prompt=prompt)


def _queries(project: Project, models: Models, chats: bool) -> ModelQueries | None:
    if not chats or models.name(project, "aux").source == STAND_IN or project.ask.queries == "keywords":
        return None
    from .models import ModelQueries

    return ModelQueries(models.asker(project, "aux"))


def _reranker(project: Project, models: Models, chats: bool) -> Reranker | None:
    choice = project.ask.rerank.strip()
    if choice in ("", "none"):
        return None
    from .models import CrossEncoderReranker, ModelReranker

    if choice == "model":
        return ModelReranker(models.asker(project, "aux")) if chats else None
    name = parse_name(choice, known_sources(project.sources))
    if name.source != FASTEMBED:
        raise ModelError(f"[ask] rerank = {choice!r}: nothing is called that. Use none, model or fastembed/MODEL.")
    from ..models.embedders.fastembed_models import CrossEncoder

    return CrossEncoderReranker(CrossEncoder(name, project.root))
