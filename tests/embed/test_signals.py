"""Ctrl-C at any moment: each task is placed once, with its callback."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from schedframe import VirtualClock
from schedframe.embed import AsyncDriver, Embedding, Group, Task, Worker
from tests.interrupting import WORLDS_FACTOR, interrupted_at

LINES = 4_000


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("seed", range(6 * WORLDS_FACTOR))
def test_tasks(seed: int, groups: bool) -> None:
    """Interrupted while they are submitted, placed and reported."""
    rng, clock = Random(seed), VirtualClock()
    placed: Counter[str] = Counter()
    embedding = Embedding(
        [Worker(f"w{number}", {"cpu": 20}) for number in range(3)],
        on_place=lambda task, worker: placed.update([task.key]),
        clock=clock,
        groups=groups,
    )

    def step() -> None:
        while (deadline := embedding.step()) is not None and deadline <= clock():
            pass

    def submit(number: int) -> None:
        tasks = [Task(f"t{number}-{member}", {"cpu": 1}) for member in range(4)]
        if groups:
            embedding.submit_group(Group(tasks))
        else:
            for task in tasks:
                embedding.submit(task)

    failed: Counter[str] = Counter()
    interrupted = 0
    for number in range(10):
        drive = rng.choice([embedding.run_until_idle, step, embedding.waiting])
        calls: list[Callable[[], object]] = [lambda number=number: submit(number), drive]
        on_workers = [task.key for number in range(3) for task in embedding.tasks_on(f"w{number}")]
        if on_workers and not groups:
            key = rng.choice(on_workers)
            failures = embedding.failures_of(key)
            interrupted += interrupted_at(rng.randrange(80), lambda key=key: embedding.fail(key))
            failed[key] += embedding.failures_of(key) - failures
        for call in calls:
            interrupted += interrupted_at(int(LINES ** rng.random()), call)
    assert interrupted
    for _ in range(4):
        clock.advance(700)
        embedding.run_until_idle()
    embedding.check_invariants()
    assert not embedding.waiting()
    tasks = [task.key for number in range(3) for task in embedding.tasks_on(f"w{number}")]
    assert len(tasks) == len(embedding)
    assert placed == Counter({key: 1 + failed[key] for key in tasks})


def test_an_event_loop() -> None:
    """Its handler cancels the task that drives, after the step."""
    placed: list[str] = []

    def on_place(task: Task, worker: Worker) -> None:
        if not placed:
            signal.raise_signal(signal.SIGINT)
        placed.append(task.key)

    driver = AsyncDriver()
    embedding = Embedding(
        [Worker("w", {"cpu": 20})],
        [Task(str(number), {"cpu": 1}) for number in range(20)],
        on_place=on_place,
        wake_up=driver.wake_up,
    )
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(driver.run(embedding))
    embedding.check_invariants()
    assert len(placed) == len(embedding.tasks_on("w")) == 1
    embedding.run_until_idle()
    assert sorted(placed) == sorted(map(str, range(20)))
