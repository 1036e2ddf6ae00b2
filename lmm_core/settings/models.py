"""Open the configured models, each once in a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..arguments import validated
from ..errors import ModelError
from ..logging import ConsoleLogger
from ..models.addresses import shown_address
from ..models.names import NO_MODEL, ModelName, parse_name
from ..models.sources import FASTEMBED, STAND_IN, ModelOptions, ModelSource, known_sources
from .project import Project, load_project, model_name

if TYPE_CHECKING:
    from ..models.annotators.annotator import Annotator
    from ..models.chat import Asker, Usage
    from ..models.embedders.embedder import Embedder
    from ..models.openai.chat import OpenAIChat


@dataclass
class Models:
    """The models of one run, one per server, so that request limits hold for all documents and roles.

    spec: a model's name that overrides documents and configuration
    jobs: overrides the configured parallel requests
    warn: called if the reply cache is unusable, or a file redirects a source"""

    spec: str = ""
    jobs: int | None = None
    warn: Callable[[str], None] = ConsoleLogger().warning
    _models: dict[tuple[ModelName, ModelSource], OpenAIChat] = field(default_factory=dict, init=False)
    _askers: list[Asker] = field(default_factory=list, init=False)
    _warned: set[ModelSource] = field(default_factory=set, init=False)
    _announced: set[ModelName] = field(default_factory=set, init=False)

    def name(self, project: Project, role: str) -> ModelName:
        """Return the model's name for a role. Raise ModelError."""
        if self.spec:
            models = dict.fromkeys(project.models, self.spec)
            parse_name(self.spec, known_sources(project.sources))
            project = replace(project, models=models)
        return model_name(project, role)

    def annotator(self, project: Project) -> Annotator:
        """Return the annotator, with the minor model. Raise ModelError."""
        name = self.name(project, "minor")
        if name.source == STAND_IN:
            from ..models.annotators.extractive import ExtractiveAnnotator

            return ExtractiveAnnotator()

        from ..models.annotators.model_annotator import ModelAnnotator

        def open_asker() -> Asker:
            asker, source = self.asker(project, "minor"), self.source(project, name)
            if not source.local and name not in self._announced:
                self._announced.add(name)
                address = shown_address(source.base_url)
                ConsoleLogger().info(f"annotating with {name}: what is annotated is sent to {address}")
            return asker

        return ModelAnnotator(str(name), open_asker, project.templates)

    def asker(self, project: Project, role: str) -> Asker:
        """Return a chat model with its cache. Raise ModelError without one, or without its key."""
        name = self.name(project, role)
        if name.source == STAND_IN:
            raise ModelError(
                f"{name} cannot chat: set OPENAI_API_KEY, or name a model (--model source/model, or LMM_MODEL_"
                f"{role.upper()} in the environment)",
                stop=True,
            )
        from ..models.cache import Cache
        from ..models.chat import Asker

        limits = project.requests(role)
        model = self._model(name, self.source(project, name), limits)
        for asker in self._askers:
            if asker.model is model and asker.options == limits:
                return asker
        self._askers.append(Asker(model, Cache(), self.warn, limits))
        return self._askers[-1]

    def embedder(self, project: Project) -> Embedder | None:
        """Return the embedding model, or None if none is named. Raise ModelError if unusable."""
        name = self.name(project, "embedding")
        if name == NO_MODEL:
            return None
        if name.source == FASTEMBED:
            from ..models.embedders.fastembed_models import FastEmbedder

            return FastEmbedder(name, project.root)
        from ..models.embedders.openai_embedder import OpenAIEmbedder

        return OpenAIEmbedder(name, self.source(project, name), project.requests("embedding"))

    def source(self, project: Project, name: ModelName) -> ModelSource:
        """Return a model's source. Warn once if a file replaces its server."""
        source = known_sources(project.sources)[name.source]
        if source.detour and source not in self._warned:
            self._warned.add(source)
            self.warn(source.detour)
        return source

    def _model(self, name: ModelName, source: ModelSource, limits: ModelOptions) -> OpenAIChat:
        """Return the model; projects may use different servers under one name."""
        from ..models.openai.chat import OpenAIChat

        if (name, source) not in self._models:
            limits = replace(limits, max_concurrency=self.jobs or limits.max_concurrency)
            self._models[name, source] = OpenAIChat(name, source, limits, self.warn)
        return self._models[name, source]

    @property
    def stopped(self) -> ModelError | None:
        """Return the error that ended requests to a model, or None."""
        return next((model.stopped for model in self._models.values() if model.stopped), None)

    @property
    def usage(self) -> Usage:
        from ..models.chat import Usage

        total = Usage()
        for model in self._models.values():
            total += model.usage
        return total

    async def close(self) -> None:
        for asker in self._askers:
            await asker.close()


# For the REPL and custom passes


@validated
def chat_model_from_config(role: Literal["major", "minor", "aux"] = "major", path: str | Path | None = None) -> Asker:
    """Return the chat model that a file's project configures for a role.

    path: of the file, None for the working folder's project. Ask the model with `ask`, or many times at once with
    `asyncio.gather`, and `close` it. Raise ConfigError and ModelError."""
    return Models().asker(load_project(Path(path) if path is not None else None), role)
