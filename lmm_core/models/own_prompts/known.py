"""The prompts that there are, by name, and what the own text of each may and has to hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...markdown.metadata.ownership import digest
from ..prompts import (
    ANNOTATIONS,
    ANSWER,
    CHAT,
    EDIT,
    LLMD,
    PLAN,
    QUERIES,
    RERANK,
    WANTED,
    Prompt,
    fields_in,
)

# Fields that a text may do without; it has to hold all others that ours holds.
OPTIONAL = frozenset({"titles", "language", "most"})
_PROMPTS = {
    "chat": (CHAT, "how a question in a document is answered (lmm chat)"),
    "edit": (EDIT, "how the new version of a text is written (lmm edit)"),
    "queries": (QUERIES, "how search queries are made of a student's question"),
    "rerank": (RERANK, "how passages are graded for a question"),
    "answer": (ANSWER, "how a student's question is answered (lmm ask, lmm serve)"),
    "plan": (PLAN, "how a plan for studying is made (lmm toc --plan)"),
    "llmd": (LLMD, "how the last entry of an LLMD document is answered"),
}
_ANNOTATED = {
    "questions": "which questions a section gets (lmm rag)",
    "summary": "which summary a section gets (lmm rag)",
}


@dataclass(frozen=True, slots=True)
class KnownPrompt:
    """A prompt that may be said otherwise.

    purpose: what for; text: ours, with fields in braces; fields: those that an own text may hold, with
    what each stands for; needed: those that it has to hold."""

    name: str
    purpose: str
    text: str
    fields: Mapping[str, str]

    @property
    def needed(self) -> list[str]:
        """The fields without which the prompt would not do its work."""
        return [field for field in fields_in(self.text) if field not in OPTIONAL]


def _known() -> dict[str, KnownPrompt]:
    made = [KnownPrompt(name, purpose, WANTED[name], _fields(ANNOTATIONS, "")) for name, purpose in _ANNOTATED.items()]
    frame = ANNOTATIONS.system
    made.append(KnownPrompt("annotations", "what surrounds these two", frame, _fields(ANNOTATIONS, frame)))
    for name, (prompt, purpose) in _PROMPTS.items():
        made.append(KnownPrompt(name, purpose, prompt.system, _fields(prompt, prompt.system)))
    return {one.name: one for one in made}


def _fields(prompt: Prompt, text: str) -> dict[str, str]:
    """Return the fields that a text may hold: those of ours, and the short ones of the request."""
    held = {*fields_in(text), *OPTIONAL}
    return {name: what for name, what in prompt.receives.items() if name in held}


KNOWN = _known()


# In place of ours


def own_prompt(name: str, own: Mapping[str, str]) -> Prompt:
    """Return the prompt of a name, with the own text (a template) in place of ours if there is one."""
    prompt, _ = _PROMPTS[name]
    return replace(prompt, system=own[name]) if name in own else prompt


def prompt_marks(own: Mapping[str, str]) -> dict[str, str]:
    """Return for each annotation the hash of the own texts by which it is made; none for ours.

    White space does not count: wrapping a text otherwise is no change."""
    marks = {}
    for key in _ANNOTATED:
        texts = [" ".join(own[name].split()) if name in own else "" for name in (key, "annotations")]
        if any(texts):
            marks[key] = digest(texts)
    return marks
