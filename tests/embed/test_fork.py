"""Forks of embeddings: what if, in tasks and workers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from schedframe.embed import Embedding, Requirements, Task, Worker
from schedframe.errors import InputError


def embedding(**options: object) -> Embedding[Task, Worker]:
    made: Embedding[Task, Worker] = Embedding(
        [Worker("w1", {"cpu": 2}), Worker("w2", {"cpu": 2})],
        [Task(f"t{i}", {"cpu": 1}) for i in range(3)],
        seed=1,
        **options,  # type: ignore[arg-type]
    )
    made.run_until_idle()
    return made


def test_workers_that_come_and_go() -> None:
    with embedding() as embedded, embedded.fork() as fork:
        placed = {f"t{i}": embedded.worker_of(f"t{i}") for i in range(3)}
        with fork.trial():
            lost = fork.remove_worker("w1")
            assert {task.key for task in lost} == {key for key, at in placed.items() if at and at.key == "w1"}
            found = fork.schedule()
            assert [bool(each) for each in found].count(False) == 1
            assert "1 Insufficient cpu" in next(each.why for each in found if not each)
            fork.add_worker(Worker("w3", {"cpu": 8}))
            assert all(fork.schedule())
        assert {key: fork.worker_of(key) for key in placed} == placed
        assert not fork.diff()


def test_tasks_that_are_tried() -> None:
    with embedding() as embedded, embedded.fork() as fork:
        large = fork.would_fit(Task("large", {"cpu": 3}))
        assert (bool(large), large.why) == (False, "0/2 workers are available: 2 Insufficient cpu.")
        (small,) = fork.schedule([Task("small", {"cpu": 1})])
        assert small.worker is not None
        assert not fork.would_fit(Task("x", {"cpu": 1}))
        fork.finish("small")
        assert fork.would_fit(Task("x", {"cpu": 1}))
        assert len(embedded) == 3
        with pytest.raises(InputError):
            fork.submit("no task")  # type: ignore[arg-type]


def test_a_task_that_has_to_stop_waits_again() -> None:
    made: Embedding[Task, Worker] = Embedding(
        [Worker("w", {"cpu": 1})], [Task("low", {"cpu": 1})], on_evict=lambda task, worker: None
    )
    with made as embedded:
        embedded.run_until_idle()
        with embedded.fork() as fork:
            fork.submit(Task("high", {"cpu": 1}), Requirements(priority=10))
            (high,) = fork.schedule(["high"])
            assert high.worker is not None
            assert fork.worker_of("low") is None
            assert [str(each.outcome) for each in fork.diff().pending] == ["pending"]


def test_an_embedding_imports_nothing_of_forks() -> None:
    program = (
        "import sys; from schedframe.embed import *\n"
        "with Embedding([Worker('w', {'cpu': 1})], [Task('t', {'cpu': 1})]) as e: e.run_until_idle()\n"
        "print([name for name in sys.modules if name.startswith('schedframe.fork')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
