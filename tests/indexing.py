"""What the tests of the index share: documents, the command, what is stored."""

import json
from pathlib import Path

from lmm_core.errors import StoreError
from lmm_core.indexing.refresh import Refresh
from lmm_core.logging import ListLogger
from lmm_core.models.chat import run as run_async
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from lmm_core.store.places import LocalStorage, open_store
from tests.commands import in_process

MINILM = Path(__file__).parents[2] / "shared" / "models" / "all-MiniLM-L6-v2-int8"
WRITES = ("write_ahead", "upsert", "set_payload", "delete", "create", "drop")  # of a store
LONG = "that is told at some length, so that the text is no short one which is pooled with what stands around it."

EXERCISE = (
    "# Count them\n\n::: {.exercise}\nHow many rings has the oak of the garden? Solution: count, and get eighty.\n:::\n"
)


def section(word):
    """A section that is one chunk, found by one word."""
    return f"# About {word}\n\nHere the {word} is explained, and only here, in a paragraph {LONG}\n\n"


def document(*words, header="title: T"):
    """A document of sections."""
    return f"---\n{header}\n---\n\n" + "".join(map(section, words))


def lmm(command, status=0, env=None):
    """Return what a command prints on standard output and standard error; it runs in this process."""
    done = in_process(command, env=env)
    assert done.exit_code == status, done.output
    return done.stdout, done.stderr


def counts(command, **options):
    """The counts that `lmm index … --json` prints: written, moved, removed, unchanged,
    documents that were looked into."""
    found = json.loads(lmm(f"index {command} --json", **options)[0])
    return tuple(found[key] for key in ("written", "moved", "removed", "unchanged", "documents"))


def found(query, **options):
    """The payloads that `lmm search … --json` prints."""
    return json.loads(lmm(f"search --json {query}", **options)[0])


def stored(collection="chunks", folder=".lmm/index"):
    """All points of a collection by their ids: payloads."""
    store = open_store(LocalStorage(folder))
    try:
        return {point.id: point.payload for point in store.scroll(collection) if "whole" not in point.payload}
    finally:
        store.close()


def without_time(payload):
    """A point's payload but for when it was written, which a record tells."""
    return {key: value for key, value in payload.items() if key != "written"}


def send(store, *paths, project=None, logger=None, **options):
    """Index files in a store, in this process."""
    logger = logger or ListLogger()
    project = project or load_project(None)
    return run_async(Refresh(project, store, Models(), logger=logger, **options).run([Path(path) for path in paths]))


class FailingStore:
    """A store that fails when it is written to for the n-th time; it reads on."""

    def __init__(self, store, after, methods=("upsert",)):
        self.store, self.left, self.methods = store, after, methods

    def __getattr__(self, name):
        if name in self.methods:
            self.left -= 1
            if self.left < 0:
                raise StoreError("the disk is full")
        return getattr(self.store, name)
