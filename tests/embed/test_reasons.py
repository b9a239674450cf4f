"""Reasons of tasks that wait, and whose attempts are not made because their result is known."""

from __future__ import annotations

from schedframe import VirtualClock
from schedframe.embed import Embedding, Requirements, Task, Worker


def test_waiting_tells_the_reasons_as_they_are_now() -> None:
    workers = [Worker(name, {"cpu": 4, "mem": 4}) for name in "ab"]
    with Embedding(workers, clock=VirtualClock()) as embedding:
        for key in ("one", "two"):
            embedding.submit(Task(key, {"cpu": 3}))
        for key in ("three", "four"):
            embedding.submit(Task(key, {"cpu": 2, "mem": 1}))
        embedding.run_until_idle()
        before = [task.why for task in embedding.waiting()]
        where = embedding.worker_of("one")
        embedding.finish("one")
        embedding.submit(Task("urgent", {"mem": 4}), Requirements(priority=10))
        embedding.run_until_idle()
        after = [task.why for task in embedding.waiting()]
        assert embedding.worker_of("urgent") == where
    assert [why and why.reasons for why in before] == 2 * [{"Insufficient cpu": 2}]
    assert [why and why.reasons for why in after] == 2 * [{"Insufficient cpu": 1, "Insufficient mem": 1}]
