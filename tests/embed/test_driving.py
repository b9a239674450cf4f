"""Driving by a thread of its own or by an event loop, while other threads use the embedding."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from schedframe import InMemoryCluster, InputError, SchedframeError, Scheduler, VirtualClock
from schedframe.embed import AsyncDriver, Embedding, Task, Worker

PATIENCE = 60.0
"""Seconds after which something that must happen is taken for hanging."""


def test_threads_submit_and_finish_while_one_drives() -> None:
    done = threading.Semaphore(0)
    counting = threading.Lock()
    at_once = peak = 0
    over: list[str] = []
    reports: list[threading.Thread] = []

    def on_place(task: Task, worker: Worker) -> None:
        nonlocal at_once, peak
        with counting:
            at_once += 1
            peak = max(peak, at_once)
        reports.append(threading.Thread(target=finish, args=(task, worker)))
        reports[-1].start()

    def finish(task: Task, worker: Worker) -> None:
        nonlocal at_once
        with counting:
            at_once -= 1  # its room is free with the next line, not before
        assert embedding.finish(task, on=worker.key)
        over.append(task.key)
        done.release()

    def submit_ten(source: int) -> None:
        for i in range(10):
            embedding.submit(Task(f"{source}.{i}", {"slots": 1}))

    embedding = Embedding([Worker("a", {"slots": 2}), Worker("b", {"slots": 1})], on_place=on_place)
    with embedding:
        driver = threading.Thread(target=embedding.run)
        driver.start()
        sources = [threading.Thread(target=submit_ten, args=(source,)) for source in range(4)]
        for thread in sources:
            thread.start()
        for _ in range(40):
            assert done.acquire(timeout=PATIENCE)
        embedding.stop()
        driver.join(PATIENCE)
        assert not driver.is_alive()
        for thread in (*sources, *reports):
            thread.join(PATIENCE)
    assert sorted(over) == sorted(f"{source}.{i}" for source in range(4) for i in range(10))
    assert len(embedding) == 0
    assert 1 <= peak <= 3


def test_threads_change_everything_while_one_drives() -> None:
    """Tasks are withdrawn, workers come and go, in the middle of whatever is being decided."""
    embedding: Embedding[Task, Worker] = Embedding([Worker("always", {"slots": 5})])
    driver = threading.Thread(target=embedding.run)
    driver.start()

    def submit_and_withdraw(source: int) -> None:
        for i in range(60):
            embedding.submit(Task(f"{source}.{i}", {"slots": 1}))
            if i % 2:
                assert embedding.finish(f"{source}.{i}")
            else:
                embedding.fail(f"{source}.{i}", retry_after=0)

    def come_and_go() -> None:
        for i in range(60):
            embedding.add_worker(Worker(f"guest {i}", {"slots": 3}))
            embedding.update_worker(Worker(f"guest {i}", {"slots": 1}))
            if i % 3:
                embedding.remove_worker(f"guest {i}")

    threads = [threading.Thread(target=submit_and_withdraw, args=(source,)) for source in range(2)]
    threads.append(threading.Thread(target=come_and_go))
    for thread in threads:
        thread.start()
    for thread in (*threads, driver):
        if thread is driver:
            embedding.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()
    embedding.run_until_idle()
    embedding.check_invariants()
    assert len(embedding) == 60
    embedding.add_worker(Worker("large", {"slots": 100}))
    while embedding.waiting():  # tasks whose worker was removed while they were being placed back off
        deadline = embedding.step()
        assert deadline is not None
    embedding.check_invariants()
    embedding.close()


def test_a_failure_wakes_a_sleeping_driver_in_time() -> None:
    placed = threading.Semaphore(0)
    embedding = Embedding(
        [Worker("a", {"slots": 1})],
        [Task("t", {"slots": 1})],
        on_place=lambda task, worker: placed.release(),
        retry=lambda failures: 0.0,
    )
    driver = threading.Thread(target=embedding.run)
    driver.start()
    for _ in range(3):
        assert placed.acquire(timeout=PATIENCE)
        assert embedding.fail("t")
    assert placed.acquire(timeout=PATIENCE)
    embedding.close()
    driver.join(PATIENCE)
    assert not driver.is_alive()


def test_stop_before_run_ends_that_run() -> None:
    embedding: Embedding[Task, Worker] = Embedding()
    embedding.stop()
    embedding.run()
    assert embedding.step() is None
    embedding.close()
    embedding.close()


# ---- event loops -----------------------------------------------------------------------------------------


def in_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_an_event_loop_drives_and_other_tasks_get_their_turn() -> None:
    async def main() -> None:
        turns: list[int] = []

        async def other() -> None:
            while len(embedding.tasks_on("a")) < 200:
                turns.append(len(embedding.tasks_on("a")))
                await asyncio.sleep(0)

        driver = AsyncDriver(budget=0)
        tasks = [Task(str(i), {"slots": 1}) for i in range(200)]
        embedding = Embedding([Worker("a", {"slots": 200})], tasks, wake_up=driver.wake_up)
        driving = asyncio.create_task(driver.run(embedding))
        await other()
        driver.stop()
        await driving
        # Between any two steps the loop was free: no two tasks were placed without a turn of the other.
        assert sorted(set(turns)) == list(range(200))

    in_loop(main)


def test_it_sleeps_until_a_thread_wakes_it() -> None:
    async def main() -> None:
        placed = asyncio.Event()
        driver = AsyncDriver()
        embedding: Embedding[Task, Worker] = Embedding(
            [Worker("a", {"slots": 1})], on_place=lambda task, worker: placed.set(), wake_up=driver.wake_up
        )
        steps = 0
        step = embedding.step

        def counted() -> float | None:
            nonlocal steps
            steps += 1
            return step()

        embedding.step = counted  # type: ignore[method-assign]  # to see that it does not poll
        driving = asyncio.create_task(driver.run(embedding))
        for _ in range(50):
            await asyncio.sleep(0)
        idle = steps
        for _ in range(50):
            await asyncio.sleep(0)
        assert steps == idle
        await asyncio.to_thread(embedding.submit, Task("t", {"slots": 1}))
        await placed.wait()
        driving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driving
        embedding.finish("t")  # the driver is gone, which is no error

    in_loop(main)


def test_deadlines_wake_it_too() -> None:
    async def main() -> None:
        places = asyncio.Queue[str]()
        driver = AsyncDriver()
        embedding = Embedding(
            [Worker("a", {"slots": 1})],
            [Task("t", {"slots": 1})],
            on_place=lambda task, worker: places.put_nowait(worker.key),
            retry=lambda failures: 0.001 * failures,
            wake_up=driver.wake_up,
        )
        driving = asyncio.create_task(driver.run(embedding))
        for _ in range(3):
            assert await places.get() == "a"
            embedding.fail("t")
        driver.stop()
        await driving

    in_loop(main)


def test_run_goes_on_after_errors_of_callbacks_and_after_interruptions() -> None:
    async def main() -> None:
        errors = [ZeroDivisionError, GeneratorExit, ZeroDivisionError]

        def on_place(task: Task, worker: Worker) -> None:
            raise errors[int(task.key)]

        driver = AsyncDriver()
        tasks = [Task(str(number)) for number in range(3)]
        embedding = Embedding([Worker("a")], tasks, on_place=on_place, wake_up=driver.wake_up)
        with pytest.raises(GeneratorExit):
            await driver.run(embedding)
        driver.stop()
        await driver.run(embedding)
        embedding.run_until_idle()
        assert len(embedding.tasks_on("a")) == 3
        embedding.check_invariants()

    in_loop(main)


def test_it_drives_a_scheduler_as_well() -> None:
    async def main() -> None:
        driver, bound = AsyncDriver(), asyncio.Event()
        cluster = InMemoryCluster(clock=VirtualClock())
        node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"pods": "1"}}}
        scheduler = Scheduler(cluster, wake_up=driver.wake_up)
        cluster.watch(lambda event: bound.set() if event.new.node_name else None, ["Pod"])
        driving = asyncio.create_task(driver.run(scheduler))
        await asyncio.sleep(0)
        with pytest.raises(SchedframeError, match="runs already"):
            await driver.run(scheduler)
        cluster.create({"kind": "Pod", "metadata": {"name": "p"}})
        cluster.create(node)
        await bound.wait()
        driver.stop()
        await driving
        scheduler.close()

    in_loop(main)


def test_a_budget_is_not_negative() -> None:
    with pytest.raises(InputError, match=r"budget: -1 is below 0"):
        AsyncDriver(budget=-1)
