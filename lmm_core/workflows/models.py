"""The models of one run, opened as the configuration names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..logging import ConsoleLogger
from ..models.annotators.annotator import Annotator, Deferred, stand_in
from ..models.roles import NO_MODEL, ModelName, Requests, parse_name
from ..models.sources import FASTEMBED, STAND_IN, ModelSource, known_sources
from ..settings.project import Project, model_name

if TYPE_CHECKING:
    from ..models.chat import Asker, Usage
    from ..models.embedders.embedder import Embedder


def _say(message: str) -> None:
    ConsoleLogger().warning(message)


@dataclass
class Models:
    """The models of one run: each is opened once at each server, however many documents it serves,
    so that its limit on requests holds for all of them.

    spec: a name that goes over what documents and configuration say; jobs: requests at
    the same time, over what the configuration says; warn: is told what goes on without
    the reply cache, and what goes elsewhere than its source's name says."""

    spec: str = ""
    jobs: int | None = None
    warn: Callable[[str], None] = _say
    _askers: dict[tuple[ModelName, ModelSource], Asker] = field(default_factory=dict, init=False)
    _told: set[ModelSource] = field(default_factory=set, init=False)

    def name(self, project: Project, role: str) -> ModelName:
        """The model for a role. Raises ModelError."""
        if self.spec:
            models = dict.fromkeys(project.models, self.spec)
            parse_name(self.spec, known_sources(project.sources))
            project = replace(project, models=models)
        return model_name(project, role)

    def annotator(self, project: Project) -> Annotator:
        """What annotates: the minor model. Raises ModelError where none is named."""
        name = self.name(project, "minor")
        if name.source == STAND_IN:
            return stand_in()

        def make() -> Annotator:
            from ..models.annotators.model_annotator import ModelAnnotator

            return ModelAnnotator(self.asker(project, "minor"))

        return Deferred(str(name), make)

    def asker(self, project: Project, role: str) -> Asker:
        """A chat model with the reply cache before it. Raises ModelError where there is
        none: the stand-in cannot chat, a key is missing."""
        name = self.name(project, role)
        if name.source == STAND_IN:
            raise ModelError(
                f"{name} cannot chat: set OPENAI_API_KEY, or name a model (--model source/model, or LMM_MODEL_"
                f"{role.upper()} in the environment)",
                stop=True,
            )
        source = self.source(project, name)  # two projects may have two servers of one name
        if (name, source) not in self._askers:
            self._askers[name, source] = self._open(name, source, project.requests[role])
        return self._askers[name, source]

    def embedder(self, project: Project) -> Embedder | None:
        """The embedding model, None where none is named and none is there. Raises
        ModelError where the one that is named cannot be had."""
        name = self.name(project, "embedding")
        if name == NO_MODEL:
            return None
        if name.source == FASTEMBED:
            from ..models.embedders.fastembed_embedder import FastEmbedder

            return FastEmbedder(name, project.root)
        from ..models.embedders.openai_embedder import OpenAIEmbedder

        return OpenAIEmbedder(name, self.source(project, name), project.requests["embedding"])

    def source(self, project: Project, name: ModelName) -> ModelSource:
        """Where a model is. Tells once where a file leads what goes to a source of ours elsewhere."""
        source = known_sources(project.sources)[name.source]
        if source.detour and source not in self._told:
            self._told.add(source)
            self.warn(source.detour)
        return source

    def _open(self, name: ModelName, source: ModelSource, limits: Requests) -> Asker:
        from ..models.chat import Asker
        from ..models.openai_chat import OpenAIChat
        from ..models.reply_cache import ReplyCache

        limits = replace(limits, max_concurrency=self.jobs or limits.max_concurrency)
        model = OpenAIChat(name, source, limits)
        return Asker(model, ReplyCache(), self.warn)

    @property
    def stopped(self) -> ModelError | None:
        """The error after which a model is asked nothing more, if there was one."""
        return next((asker.model.stopped for asker in self._askers.values() if asker.model.stopped), None)

    @property
    def usage(self) -> Usage:
        """What all models together have cost."""
        from ..models.chat import Usage

        total = Usage()
        for asker in self._askers.values():
            total += asker.model.usage
        return total

    async def close(self) -> None:
        """Close all models."""
        for asker in self._askers.values():
            await asker.close()
