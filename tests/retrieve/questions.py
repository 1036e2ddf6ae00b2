"""The gold sets: questions to the sample book, one chapter of it in German, and what is answered to them."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lmm_core.indexing.passages import build_material
from lmm_core.quarto.ask_box.box import BoxRows, PageText, box_script
from lmm_core.retrieve.answer import make_conversation
from lmm_core.retrieve.library import open_library
from lmm_core.retrieve.search import search_points
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from lmm_core.store.places import LocalStorage, open_store

ROOT = Path(__file__).parents[2]
GOLD = Path(__file__).parent / "gold"
SETS = ("gold", "held_out")
BOX = ROOT / "quarto-ext" / "_extensions" / "lmm" / "ask"
SHOWN = 3  # sections of a list that are seen


@dataclass(frozen=True)
class Asked:
    """A question, the sections that answer it (none if the notes do not), and those that were cited."""

    question: str
    wanted: tuple[str, ...]
    cited: tuple[str, ...]

    @property
    def first(self):
        return bool(self.wanted) and self.cited[:1] != () and self.cited[0] in self.wanted

    @property
    def any(self):
        return not set(self.wanted).isdisjoint(self.cited)

    @property
    def right(self):
        return self.first if self.wanted else not self.cited


@dataclass(frozen=True)
class Figures:
    """Shares in percent: of the questions that the notes answer, and of those that they do not."""

    first: float
    any: float
    refused_wrongly: float
    refused_rightly: float


def figures(asked):
    answered, others = [one for one in asked if one.wanted], [one for one in asked if not one.wanted]

    def percent(found, of):
        return 100 * sum(found) / len(of)

    return Figures(
        percent((one.first for one in answered), answered),
        percent((one.any for one in answered), answered),
        percent((not one.cited for one in answered), answered),
        percent((not one.cited for one in others), others),
    )


def questions(name):
    """Questions and their sections (`file#anchor`) of a set: `gold` or `held_out`."""
    lines = (GOLD / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(one["question"], tuple(one["sections"])) for one in map(json.loads, lines)]


def section(source, anchor):
    return f"{source}#{anchor}" if anchor else source


# How each answers; the folder holds the book, indexed


async def ask(folder, asked):
    """What `lmm ask` cites without a model, the best first, with the answers."""
    project = load_project(Path(folder) / "-")
    library = await open_library(project, Models())
    made = []
    try:
        for question, wanted in asked:
            answer = await make_conversation(project, Models(), library, with_model=False).ask(question)
            sources = {source.number: source for source in answer.sources}
            cited = tuple(section(sources[one].source, sources[one].anchor) for one in answer.cited)
            made.append((Asked(question, wanted, cited), answer))
    finally:
        library.store.close()
    return made


async def search(folder, asked):
    """The sections that `lmm search` lists first. It refuses nothing as long as it finds a word."""
    project = load_project(Path(folder) / "-")
    store = open_store(LocalStorage(project.root / project.storage.folder))
    made = []
    try:
        library = await open_library(project, Models(), store)
        for question, wanted in asked:
            found = await search_points(library, question, 10)
            cited = dict.fromkeys(section(one.payload["source"], one.payload.get("anchor")) for one in found)
            made.append(Asked(question, wanted, tuple(cited)[:SHOWN]))
    finally:
        store.close()
    return made


def box(folder, asked, data):
    """The sections that the ask box lists first; RAG-only material is not in its data. Needs node."""
    write_box_data(folder, data)
    done = subprocess.run(
        ["node", ROOT / "tests" / "box_search.js", BOX, data], input="\n".join(one for one, _ in asked),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    made = []
    for (question, wanted), line in zip(asked, done.stdout.splitlines(), strict=True):
        cited = [section(one["source"], one["anchor"]) for one in json.loads(line)]
        made.append(Asked(question, wanted, tuple(cited[:SHOWN])))
    return made


def write_box_data(folder, data, language="en"):
    """Write the data of the ask box for a book of which every heading is on its page."""
    project = load_project(Path(folder) / "-")
    store = open_store(LocalStorage(project.root / project.storage.folder))
    points = list(store.scroll(project.database.collection_name))
    store.close()
    material = build_material(one for one in points if one.payload.get("type") in (None, "", "summary"))
    page, rows = PageText(frozenset(one.anchor for one in material.walk())), BoxRows(types=material.types)
    for one in material.documents:
        rows.add(one, one.source, one.source, page)
    Path(data, "data.js").write_bytes(box_script(rows, language, project.synonyms))
