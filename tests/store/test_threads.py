"""Tasks take turns, in the order in which they came."""

import asyncio

import pytest

from lmm_core.store.threads import Turns, out_of_turn


async def work(turns, log, name, until=None):
    """Say the two steps of some work; until: an event that is waited for between them, out of turn."""
    async with turns.taken():
        log.append(f"{name}0")
        await asyncio.sleep(0)
        if until:
            async with out_of_turn():
                await until.wait()
        log.append(f"{name}1")


def test_one_task_is_at_its_end_before_the_next_begins():
    log = []

    async def together():
        turns = Turns(1)
        await asyncio.gather(*(work(turns, log, name) for name in "abc"))

    asyncio.run(together())
    assert log == ["a0", "a1", "b0", "b1", "c0", "c1"]


def test_others_go_on_while_one_waits_and_then_it_is_next():
    log = []

    async def together():
        turns, happens = Turns(1), asyncio.Event()
        asyncio.get_running_loop().call_soon(happens.set)
        await asyncio.gather(work(turns, log, "a", happens), *(work(turns, log, name) for name in "bc"))

    asyncio.run(together())
    assert log == ["a0", "b0", "b1", "a1", "c0", "c1"]


def test_who_gives_up_leaves_no_turn_behind():
    log = []

    async def together():
        turns = Turns(1)
        tasks = [asyncio.create_task(work(turns, log, name)) for name in "abcd"]
        await asyncio.sleep(0)
        tasks[1].cancel()  # waits
        await tasks[0]
        tasks[2].cancel()  # its turn has just come
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(5):
            await asyncio.gather(*(work(turns, log, name) for name in "ef"))

    asyncio.run(together())
    assert log[-6:] == ["d0", "d1", "e0", "e1", "f0", "f1"]


def test_who_gives_up_while_it_waits_out_of_turn_leaves_no_turn_behind():
    async def together():
        turns = Turns(1)

        async def fail():
            async with turns.taken(), out_of_turn():
                raise ValueError

        with pytest.raises(ValueError):
            await fail()
        log = []
        await asyncio.gather(*(work(turns, log, name) for name in "ab"))
        return log

    assert asyncio.run(together()) == ["a0", "a1", "b0", "b1"]


def test_who_is_stopped_while_it_waits_out_of_turn_waits_for_no_turn():
    log = []

    async def together():
        turns, never = Turns(1), asyncio.Event()
        first = asyncio.create_task(work(turns, log, "a", never))
        await asyncio.sleep(0.01)
        async with turns.taken():
            first.cancel()
            async with asyncio.timeout(5):
                await asyncio.wait([first])
        await work(turns, log, "b")

    asyncio.run(together())
    assert log == ["a0", "b0", "b1"]
