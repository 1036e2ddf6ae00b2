"""Files that become chunks in other processes: the same chunks and reports, whatever becomes of these."""

import asyncio
import os
from concurrent.futures.process import BrokenProcessPool
from functools import partial

import pytest

from lmm_core.index import workers
from lmm_core.index.encoding import Encoder, EncodingModel, QdrantEmbeddingModel
from lmm_core.index.workers import Workers, in_order
from lmm_core.logging import ListLogger
from lmm_core.markdown.files import read_markdown
from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.settings.project import load_project
from lmm_core.workflows.indexing import encoding
from lmm_core.workflows.indexing.encoding import Task, encode_files
from lmm_core.workflows.indexing.waiting import Waiting
from tests.commands import write

TEXT = "The mean of a sample is the sum of its values, divided by their number.\n\n"


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Files of which one has a wrong setting in its header, and one a misspelt word."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(encoding, "ENOUGH", 0)
    for number in range(8):
        write(f"{number}.md", f"---\ntitle: Chapter {number}\n---\n\n# A\n\n{TEXT * 20}# B\n\n{TEXT * (number + 1)}")
    write("3.md", f"---\ntitle: Three\nsplit: {{threshold: many}}\n---\n\n# A\n\n{TEXT}")
    write("5.md", f"# A\n\n::: exercisse\n{TEXT}:::\n")
    project = load_project(tmp_path / "-")
    return [Task(read_markdown(tmp_path / f"{number}.md"), project, f"mark {number}", False) for number in range(8)]


def encoded(tasks, processes):
    """What is made of files, what is reported, and whether other processes were started."""
    logger, others = ListLogger(), Workers(processes)
    encoder = Encoder(QdrantEmbeddingModel.BM25, sparse=Bm25Encoder(), encoding=EncodingModel.BM25)

    async def all_made():
        return [one async for one in encode_files(tasks, encoder, others, logger)]

    try:
        return [(one.fingerprint, one.unpack()) for one in asyncio.run(all_made())], logger.reports, others.are_started
    finally:
        others.stop()


def test_other_processes_make_the_same_chunks_and_reports(tasks):
    made, reports, are_started = encoded(tasks, 1)
    assert [mark for mark, _ in made] == [f"mark {number}" for number in (0, 1, 2, 4, 5, 6, 7)]
    assert [(os.path.basename(one.path), one.level) for one in reports] == [("3.md", "error"), ("5.md", "warning")]
    assert not are_started
    assert encoded(tasks, 2) == (made, reports, True)


def test_what_an_ended_process_has_not_made_is_made_here(tasks, monkeypatch):
    made, reports, _ = encoded(tasks, 1)
    monkeypatch.setattr(workers, "begin_work", partial(os._exit, 9))
    assert encoded(tasks, 2) == (made, reports, True)


def test_a_document_is_compressed_only_if_it_waits_for_all_others(tasks):
    (_, made), *_ = encoded(tasks, 1)[0]
    short, long = (Waiting(made, "", is_long) for is_long in (False, True))
    assert len(long._packed) < len(short._packed) / 3
    assert short.unpack() == long.unpack() == made


def test_words_are_weighed_where_a_text_is_cut(tasks):
    for _, made in encoded(tasks, 2)[0]:
        assert made.chunks
        assert [one.words for one in made.chunks] == Bm25Encoder().encode([one.texts.sparse for one in made.chunks])


def test_little_is_worked_on_in_advance():
    """Tasks of sizes 1 to 9: another is begun while the size of those that wait is 10 at most."""
    begun, seen = [], []

    async def begin():
        for size in range(1, 10):
            begun.append(size)
            yield size, size, asyncio.get_running_loop().create_future()

    async def take():
        async for task, made in in_order(begin(), 10):
            seen.append((task, len(begun)))
            made.set_result(None)

    asyncio.run(take())
    assert seen == [(1, 5), (2, 5), (3, 5), (4, 6), (5, 6), (6, 7), (7, 8), (8, 9), (9, 9)]


def test_what_is_done_is_taken_at_once():
    async def begin():
        for number in range(3):
            made = asyncio.get_running_loop().create_future()
            made.set_result(number)
            begun.append(number)
            yield number, 1, made

    async def take():
        return [(task, len(begun)) async for task, _ in in_order(begin(), 10)]

    begun = []
    assert asyncio.run(take()) == [(0, 1), (1, 2), (2, 3)]


def test_what_is_submitted_after_a_process_has_ended_fails_as_what_was_before(monkeypatch):
    monkeypatch.setattr(workers, "begin_work", partial(os._exit, 9))
    others = Workers(1)
    others.start()
    try:
        for _ in range(2):
            assert isinstance(others.submit(os.getpid).exception(), BrokenProcessPool)
    finally:
        others.stop()
    others.stop()
    assert not others.are_started


def test_few_texts_are_not_worth_a_process(tasks, monkeypatch):
    monkeypatch.setattr(encoding, "ENOUGH", 10**6)
    assert encoded(tasks, 2)[2] is False
