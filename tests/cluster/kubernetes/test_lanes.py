"""The gate of all writes: priorities, requests at a time, requests a second."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from schedframe.cluster.kubernetes import lanes as lanes_module
from schedframe.cluster.kubernetes.lanes import Closed, Lanes, Priority
from schedframe.cluster.kubernetes.loop_time import loop_time
from schedframe.testing.virtual_loop import VirtualLoop

from .scripted import run


def order_of(lanes: Lanes, *priorities: Priority) -> list[Priority]:
    """In which order those get a turn that wait for one while another has it."""
    order: list[Priority] = []

    async def send(priority: Priority) -> None:
        async with lanes.turn(priority):
            order.append(priority)
            await asyncio.sleep(0.001)

    async def all_of_them() -> None:
        first = await lanes.take(Priority.EVENT)
        tasks = [asyncio.create_task(send(priority)) for priority in priorities]
        await asyncio.sleep(0.001)
        lanes.give_back(first)
        await asyncio.gather(*tasks)

    run(all_of_them)
    return order


def test_binds_go_first() -> None:
    event, write, bind = Priority.EVENT, Priority.WRITE, Priority.BIND
    assert order_of(Lanes(0, 1, width=1), event, write, bind, event, bind) == [
        bind,
        bind,
        write,
        event,
        event,
    ]


def test_no_more_at_a_time_than_allowed() -> None:
    lanes, most = Lanes(0, 1, width=3), [0, 0]

    async def send() -> None:
        async with lanes.turn(Priority.BIND):
            most[0] += 1
            most[1] = max(most)
            await asyncio.sleep(0.001)
            most[0] -= 1

    async def many() -> None:
        await asyncio.gather(*[send() for _ in range(20)])

    run(many)
    assert most == [0, 3]


def test_rounding_of_tokens_does_not_let_the_timer_spin() -> None:
    """A timer that fires a rounding error too early would set itself to the same moment again."""
    loop = VirtualLoop()
    for qps in (3.0, 7.0, 50.0, 333.0):
        for delay in range(30):
            loop.advance(0.1 * delay)
            loop.run(asyncio.wait_for(take_turns(Lanes(qps, 1), 3), 10))
    loop.finish()


async def take_turns(lanes: Lanes, count: int) -> None:
    for _ in range(count):
        async with lanes.turn(Priority.BIND):
            await asyncio.sleep(0)


def test_no_more_a_second_than_allowed() -> None:
    lanes = Lanes(200.0, 5)

    async def many() -> float:
        loop = asyncio.get_running_loop()
        start = loop.time()
        for _ in range(25):
            async with lanes.turn(Priority.BIND):
                pass
        return loop.time() - start

    assert run(many) >= 20 / 200 * 0.95


def test_closing_ends_all_waits() -> None:
    lanes = Lanes(0, 1, width=1)

    async def closed() -> None:
        await lanes.take(Priority.BIND)
        waiting = asyncio.create_task(lanes.take(Priority.BIND))
        await asyncio.sleep(0)
        lanes.close()
        with pytest.raises(Closed):
            await waiting
        with pytest.raises(Closed):
            await lanes.take(Priority.EVENT)

    run(closed)


def test_a_cancelled_wait_leaves_its_turn_to_the_next() -> None:
    lanes = Lanes(0, 1, width=1)

    async def cancelled() -> None:
        present = await lanes.take(Priority.BIND)
        first = asyncio.create_task(lanes.take(Priority.BIND))
        second = asyncio.create_task(lanes.take(Priority.BIND))
        await asyncio.sleep(0)
        lanes.give_back(present)  # the turn goes to the first, which is cancelled before it runs
        first.cancel()
        with suppress(asyncio.CancelledError):
            await first
        await second

    run(cancelled)


def test_a_pause_ends_when_nothing_is_sent_any_more() -> None:
    lanes = Lanes(0, 1)

    async def paused() -> None:
        pause = asyncio.create_task(lanes.pause(60.0))
        await asyncio.sleep(0)
        lanes.close()
        await asyncio.wait_for(pause, 1.0)

    run(paused)


def test_a_request_that_hangs_does_not_count_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_module, "SLOW_SECONDS", 0.02)
    lanes = Lanes(0, 1, width=1)

    async def hang() -> None:
        hanging = await lanes.take(Priority.BIND)
        began = loop_time()
        async with lanes.turn(Priority.BIND):
            assert loop_time() - began >= 0.02
            lanes.give_back(hanging)
            waiting = asyncio.create_task(lanes.take(Priority.BIND))
            await asyncio.sleep(0.001)
            assert not waiting.done()  # the end of a slow one makes no room a second time
        lanes.give_back(await waiting)
        assert lanes._begun == {}
        assert lanes._slow == set()

    run(hang)


def test_not_all_requests_may_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_module, "SLOW_SECONDS", 0.001)
    monkeypatch.setattr(lanes_module, "SLOW_AT_A_TIME", 2)
    lanes = Lanes(0, 1, width=1)

    async def hang() -> int:
        tasks = [asyncio.create_task(lanes.take(Priority.BIND)) for _ in range(5)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        return sum(task.done() for task in tasks)

    assert run(hang) == 3


def test_a_token_that_comes_first_is_not_waited_for_longer() -> None:
    """The timer for a slow request is moved forward when the rate is what holds back the next one."""
    lanes = Lanes(100.0, 2, width=2)

    async def send() -> float:
        first, _ = await lanes.take(Priority.BIND), await lanes.take(Priority.BIND)
        waiting = asyncio.create_task(lanes.take(Priority.BIND))
        await asyncio.sleep(0)
        began = loop_time()
        lanes.give_back(first)
        await waiting
        return loop_time() - began

    assert run(send) < 1.0


@pytest.mark.parametrize(("seconds", "most"), [(0.004, 2), (0.06, 3)])
def test_a_server_that_is_merely_slow_gets_no_more(
    monkeypatch: pytest.MonkeyPatch, seconds: float, most: int
) -> None:
    """Answers that come one after the other show that it is not hung; without any, more are tried."""
    monkeypatch.setattr(lanes_module, "SLOW_SECONDS", 0.02)
    lanes, under_way, answers = Lanes(0, 1, width=2), [0, 0], asyncio.Lock()

    async def send() -> None:
        async with lanes.turn(Priority.BIND):
            under_way[0] += 1
            under_way[1] = max(under_way)
            async with answers:  # one at a time, in order
                await asyncio.sleep(seconds)
            under_way[0] -= 1

    async def many() -> None:
        await asyncio.gather(*[send() for _ in range(4)])

    run(many)
    assert (under_way[1] > 2) == (most > 2)


def test_a_request_that_many_overtake_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_module, "SLOW_SECONDS", 0.02)
    monkeypatch.setattr(lanes_module, "PROBE_SECONDS", 1000.0)
    lanes = Lanes(0, 1, width=2)

    async def overtake() -> None:
        await lanes.take(Priority.BIND)
        for _ in range(lanes_module.OVERTAKEN * 2):
            async with lanes.turn(Priority.BIND):
                await asyncio.sleep(0.006)
        await lanes.take(Priority.BIND)
        await asyncio.wait_for(lanes.take(Priority.BIND), 0.1)
        assert lanes.slow() == 1

    run(overtake)


@pytest.mark.parametrize(("qps", "burst"), [(1.0, 1), (4.0, 3), (50.0, 10)])
def test_the_rate_is_that_of_the_configuration_from_the_first_request_on(qps: float, burst: int) -> None:
    """The burst at once, then one request each time that a token is there."""

    async def moments() -> list[float]:
        lanes, found = Lanes(qps, burst), []
        began = loop_time()
        for _ in range(burst + 6):
            async with lanes.turn(Priority.BIND):
                found.append(loop_time() - began)
        return found

    waits = [max(0.0, (number - burst + 1) / qps) for number in range(burst + 6)]
    assert run(moments) == pytest.approx(waits, abs=1e-4)


def test_a_pause_lasts_as_long_as_it_should() -> None:
    async def paused() -> float:
        began = loop_time()
        await Lanes(0, 1).pause(7.5)
        return loop_time() - began

    assert run(paused) == pytest.approx(7.5)


def test_a_request_keeps_its_place_for_a_second_however_many_overtake_it() -> None:
    """Hundreds of short answers are no sign that a request of half a second hangs."""

    async def overtaken() -> list[int]:
        lanes, slow = Lanes(0, 1, width=2), []
        first = await lanes.take(Priority.BIND)
        for _ in range(18):
            async with lanes.turn(Priority.BIND):
                waiting = asyncio.create_task(lanes.take(Priority.BIND))
                await asyncio.sleep(0.05)
            slow.append(lanes.slow())
            lanes.give_back(await waiting)
        await asyncio.sleep(0.2)
        async with lanes.turn(Priority.BIND), lanes.turn(Priority.BIND):
            slow.append(lanes.slow())
        lanes.give_back(first)
        return slow

    assert run(overtaken) == [0] * 18 + [1]


def test_further_requests_wait_for_a_second_without_any_answer() -> None:
    """An answer a moment ago shows that the server works, so a slow request is waited for.

    Requests that ended before it began have not overtaken it.
    """

    async def probed() -> float:
        lanes = Lanes(0, 1, width=2)
        for _ in range(50):
            async with lanes.turn(Priority.BIND):
                pass
        await lanes.take(Priority.BIND)
        other = await lanes.take(Priority.BIND)
        await asyncio.sleep(0.9)
        lanes.give_back(other)
        began = loop_time()
        await lanes.take(Priority.BIND)
        waiting = asyncio.create_task(lanes.take(Priority.BIND))
        await asyncio.sleep(0.6)
        another = asyncio.create_task(lanes.take(Priority.BIND))  # the lanes look again
        await waiting
        seconds = loop_time() - began
        await another
        return seconds

    assert run(probed) == pytest.approx(lanes_module.SLOW_SECONDS)
