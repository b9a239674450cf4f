"""When a failed task is tried again, also if the retry option is wrong."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Any

import pytest

from schedframe import InputError, Pod, Status, VirtualClock
from schedframe.cycle import observing
from schedframe.embed import AsyncDriver, Backoff, Embedding, Task, TaskState, Worker

PATIENCE = 20
NOT_SECONDS: list[Any] = [math.inf, math.nan, -1, -math.inf, "soon", None, True, [1], 1j]


class Faults:
    """Keeps what ``on_fault`` reports."""

    def __init__(self) -> None:
        self.reported: list[tuple[str, Status]] = []

    def __call__(self, status: Status, pod: Pod | None) -> None:
        assert pod is not None
        self.reported.append((pod.name, status))


def placed(**options: Any) -> Embedding[Task, Worker]:
    embedding = Embedding([Worker("w", {"cpu": 4})], [Task("a", {"cpu": 1})], **options)
    embedding.run_until_idle()
    return embedding


@pytest.mark.parametrize("answer", NOT_SECONDS, ids=repr)
def test_a_wrong_answer_of_retry_is_a_fault_and_the_default_is_used(answer: Any) -> None:
    clock, faults = VirtualClock(), Faults()
    embedding = placed(clock=clock, observers=[observing(faulted=faults)], retry=lambda failures: answer)
    assert embedding.fail("a")
    embedding.run_until_idle()
    embedding.check_invariants()
    ((name, status),) = faults.reported
    assert name == "a"
    assert "task a" in status.message
    assert repr(answer) in status.message
    assert embedding.state_of("a") is TaskState.HELD
    assert embedding.step() == clock() + Backoff()(1)
    clock.advance_to(clock() + Backoff()(1))
    embedding.run_until_idle()
    assert embedding.state_of("a") is TaskState.PLACED
    embedding.check_invariants()


def test_an_error_of_retry_is_a_fault_and_the_default_is_used() -> None:
    def retry(failures: int) -> float:
        raise RuntimeError("no idea")

    clock, faults = VirtualClock(), Faults()
    embedding = placed(clock=clock, observers=[observing(faulted=faults)], retry=retry)
    for failures in range(1, 4):
        assert embedding.fail("a")
        assert embedding.failures_of("a") == failures
        deadline = embedding.step()
        assert deadline is not None
        while deadline <= clock():  # the report is a message of its own
            deadline = embedding.step() or math.inf
        assert deadline == clock() + Backoff()(failures)
        embedding.check_invariants()
        clock.advance_to(deadline)
        embedding.run_until_idle()
        assert embedding.state_of("a") is TaskState.PLACED
    assert [name for name, _ in faults.reported] == ["a"] * 3
    assert all("no idea" in status.message for _, status in faults.reported)
    assert all(isinstance(status.error, RuntimeError) for _, status in faults.reported)


def test_what_is_no_error_passes_through_retry_and_changes_nothing() -> None:
    def retry(failures: int) -> float:
        raise KeyboardInterrupt

    embedding = placed(retry=retry)
    with pytest.raises(KeyboardInterrupt):
        embedding.fail("a")
    assert embedding.state_of("a") is TaskState.PLACED
    assert embedding.failures_of("a") == 0
    embedding.check_invariants()


@pytest.mark.parametrize("seconds", [value for value in NOT_SECONDS if value is not None], ids=repr)
def test_a_wrong_retry_after_is_refused_and_changes_nothing(seconds: Any) -> None:
    embedding = placed()
    with pytest.raises(InputError, match="retry_after"):
        embedding.fail("a", retry_after=seconds)
    assert embedding.state_of("a") is TaskState.PLACED
    assert embedding.failures_of("a") == 0
    embedding.check_invariants()


@pytest.mark.parametrize("options", [{"initial": math.nan}, {"initial": -1}, {"longest": math.inf}], ids=str)
def test_a_wrong_backoff_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        Backoff(**options)


def test_retry_is_called_without_a_lock() -> None:
    """Another thread may use the embedding while ``retry`` works."""
    seen: list[int] = []

    def retry(failures: int) -> float:
        other = threading.Thread(target=lambda: seen.append(len(embedding.tasks_on("w"))))
        other.start()
        other.join(PATIENCE)
        return 0

    embedding = placed(retry=retry)
    assert embedding.fail("a")
    assert seen == [1]


def test_a_task_that_leaves_while_retry_works_has_not_failed() -> None:
    def retry(failures: int) -> float:
        assert embedding.finish("a")
        embedding.submit(Task("a", {"cpu": 1}))
        return 60

    embedding = placed(retry=retry)
    assert not embedding.fail("a")
    assert embedding.failures_of("a") == 0
    embedding.run_until_idle()
    assert embedding.state_of("a") is TaskState.PLACED
    embedding.check_invariants()


@pytest.mark.parametrize("seconds", [1e12, 1e300])
def test_a_very_long_wait_does_not_end_run(seconds: float) -> None:
    """Longer than a lock of Python can wait."""
    arrived = threading.Event()
    embedding = Embedding(
        [Worker("w", {"cpu": 4})],
        [Task("a", {"cpu": 1})],
        on_place=lambda task, worker: arrived.set(),
    )
    driver = threading.Thread(target=embedding.run)
    driver.start()
    for task in "bc":
        assert arrived.wait(PATIENCE)
        arrived.clear()
        embedding.fail("a", retry_after=seconds)
        embedding.submit(Task(task, {"cpu": 1}))
    assert arrived.wait(PATIENCE)
    assert embedding.state_of("a") is TaskState.HELD
    embedding.close()
    driver.join(PATIENCE)
    assert not driver.is_alive()


@pytest.mark.parametrize("seconds", [1e12, 1e300])
def test_a_very_long_wait_does_not_end_an_event_loop(seconds: float) -> None:
    async def main() -> None:
        placed = asyncio.Event()
        driver = AsyncDriver()
        embedding = Embedding(
            [Worker("w", {"cpu": 4})],
            [Task("a", {"cpu": 1})],
            on_place=lambda task, worker: placed.set(),
            wake_up=driver.wake_up,
        )
        driving = asyncio.create_task(driver.run(embedding))
        for task in "bc":
            await placed.wait()
            placed.clear()
            embedding.fail("a", retry_after=seconds)
            embedding.submit(Task(task, {"cpu": 1}))
        await placed.wait()
        driver.stop()
        await driving

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_the_next_deadline_of_an_embedding_knows_retries() -> None:
    clock = VirtualClock()
    embedding = placed(clock=clock)
    assert embedding.fail("a")
    embedding.run_until_idle()
    assert embedding.next_deadline() == embedding.step() == clock() + Backoff()(1)
    assert embedding.scheduler.next_deadline() != embedding.next_deadline()
    clock.advance_to(clock() + Backoff()(1))
    embedding.run_until_idle()
    assert embedding.state_of("a") is TaskState.PLACED
