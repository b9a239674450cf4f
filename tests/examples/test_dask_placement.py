"""The dask plugin in a dask of one process: nothing but its event loop and the threads of its workers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from attrs import define, field
from distributed import Client, Scheduler, Worker, get_worker

from .loading import load
from .running import EXAMPLES

PATIENCE = 60.0


@define(eq=False)
class Cluster:
    """A dask whose tasks the plugin places."""

    module: Any
    scheduler: Any
    placement: Any
    client: Any
    _stack: AsyncExitStack

    async def worker(self, name: str, **resources: float) -> Any:
        address = self.module.NO_DASHBOARD
        worker = Worker(
            self.scheduler.address, name=name, nthreads=4, resources=resources, dashboard_address=address
        )
        return await self._stack.enter_async_context(worker)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Cluster], Awaitable[None]]], None]:
    module = load(EXAMPLES / "09-dask" / "dask_placement.py", monkeypatch)

    @asynccontextmanager
    async def cluster() -> AsyncIterator[Cluster]:
        placement = module.Placement(retry=lambda failures: 0.01)
        async with AsyncExitStack() as stack:
            scheduler = Scheduler(protocol="inproc://", dashboard_address=module.NO_DASHBOARD)
            await stack.enter_async_context(scheduler)
            await placement.start(scheduler)
            scheduler.add_plugin(placement)
            client = await stack.enter_async_context(Client(scheduler.address, asynchronous=True))
            yield Cluster(module, scheduler, placement, client, stack)

    async def bounded(test: Callable[[Cluster], Awaitable[None]]) -> None:
        async with asyncio.timeout(PATIENCE), cluster() as ready:
            await test(ready)

    return lambda test: asyncio.run(bounded(test))


@define(eq=False)
class Meter:
    """What runs at the same time, by worker."""

    used: dict[str, float] = field(factory=dict)
    peak: dict[str, float] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def add(self, worker: str, amount: float) -> None:
        with self._lock:
            self.used[worker] = self.used.get(worker, 0) + amount
            self.peak[worker] = max(self.peak.get(worker, 0), self.used[worker])


METER = Meter()


def measured(number: int, amount: float) -> int:
    name = str(get_worker().name)
    METER.add(name, amount)
    METER.add(name, -amount)
    return number


def test_room_is_never_given_twice(run: Any) -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.worker("a", gpu=1)
        await cluster.worker("b", gpu=1.5)
        amounts = [0.25, 0.5, 1] * 10
        futures = [
            cluster.client.submit(measured, i, amount, resources={"gpu": amount}, pure=False)
            for i, amount in enumerate(amounts)
        ]
        assert await cluster.client.gather(futures) == list(range(30))
        assert METER.peak["a"] <= 1
        assert METER.peak.get("b", 0) <= 1.5
        cluster.placement.embedding.check_invariants()
        assert len(cluster.placement.embedding) == 0

    run(test)


BARRIER = threading.Barrier(2)


def meet() -> int:
    return BARRIER.wait(PATIENCE)


def test_what_fits_together_runs_together(run: Any) -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.worker("a", gpu=1)
        futures = [cluster.client.submit(meet, resources={"gpu": 0.5}, pure=False) for _ in range(2)]
        assert sorted(await cluster.client.gather(futures)) == [0, 1]

    run(test)


ATTEMPTS: list[str] = []


def second_time_lucky() -> str:
    ATTEMPTS.append(str(get_worker().name))
    if len(ATTEMPTS) == 1:
        raise OSError("not yet")
    return "lucky"


def test_retries_of_dask_are_placed_like_everything_else(run: Any) -> None:
    async def test(cluster: Cluster) -> None:
        await cluster.worker("a", gpu=1)
        future = cluster.client.submit(second_time_lucky, resources={"gpu": 1}, retries=1)
        assert await future == "lucky"
        hopeless = cluster.client.submit(int, "x", resources={"gpu": 1})
        with pytest.raises(ValueError, match="invalid literal"):
            await hopeless
        assert await cluster.client.submit(int, "7", resources={"gpu": 1}) == 7

    run(test)


STARTED, RELEASED = threading.Event(), threading.Event()


def until_released() -> str:
    STARTED.set()
    assert RELEASED.wait(PATIENCE)
    return str(get_worker().name)


def test_the_tasks_of_a_lost_worker_go_to_another(run: Any) -> None:
    async def test(cluster: Cluster) -> None:
        lost = await cluster.worker("lost", gpu=1)
        future = cluster.client.submit(until_released, resources={"gpu": 1})
        assert await asyncio.to_thread(STARTED.wait, PATIENCE)
        await cluster.worker("other", gpu=1)
        STARTED.clear()
        await lost.close(executor_wait=False)
        assert await asyncio.to_thread(STARTED.wait, PATIENCE)
        RELEASED.set()
        assert await future == "other"

    run(test)


def test_a_task_waits_for_a_worker_that_suits_it(run: Any) -> None:
    async def test(cluster: Cluster) -> None:
        first = await cluster.worker("first", gpu=1)
        camera = cluster.client.submit(str, 1, resources={"camera": 1}, priority=7)
        pinned = cluster.client.submit(str, 2, workers=[first.address], resources={"gpu": 1})
        assert await pinned == "2"
        embedding = cluster.placement.embedding
        while not (embedding.waiting() and embedding.waiting()[0].why):
            await asyncio.sleep(0)
        (waiting,) = embedding.waiting()
        assert str(waiting.why) == "0 of 1 workers can take it: 1 Insufficient camera"
        assert waiting.task.needs.priority == 7
        given_up = cluster.client.submit(str, 3, resources={"camera": 1})
        given_up.release()
        await cluster.worker("second", camera=1)
        assert await camera == "1"

    run(test)
