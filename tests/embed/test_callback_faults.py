"""Callbacks that raise: a fault with the key of the task, and all other tasks go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedframe import InMemoryCluster, Pod, Scheduler, Status, VirtualClock
from schedframe.cycle import observing
from schedframe.embed import Embedding, NotStarted, Requirements, Task, TaskState, Worker
from tests.cycle.build import make_node, make_pod

Faults = list[tuple[str, str]]


def reporter(faults: Faults) -> Callable[[Status, Pod | None], None]:
    """Return an ``on_fault`` that keeps the name of the callback and the key of the task."""
    return lambda status, pod: faults.append((status.plugin, "" if pod is None else pod.name))


def failing(error: BaseException) -> Callable[..., Any]:
    def callback(*arguments: Any) -> Any:
        raise error

    return callback


@pytest.mark.parametrize("is_reported", [True, False])
def test_on_place(is_reported: bool, caplog: pytest.LogCaptureFixture) -> None:
    """It ended ``run``, and all other tasks waited."""
    faults: list[tuple[str, str, type]] = []
    placed: list[str] = []

    def on_place(task: Task, worker: Worker) -> None:
        placed.append(task.key)
        raise ZeroDivisionError("no idea")

    def on_fault(status: Status, pod: Pod | None) -> None:
        if not is_reported:
            raise LookupError
        assert pod is not None
        faults.append((pod.name, status.message, type(status.error)))

    tasks = [Task(key, {"cpu": 1}) for key in ("t", "u")]
    embedding = Embedding(
        [Worker("w", {"cpu": 2})], tasks, on_place=on_place, observers=[observing(faulted=on_fault)]
    )
    embedding.run_until_idle()
    assert placed == ["t", "u"]
    assert embedding.state_of("t") is embedding.state_of("u") is TaskState.PLACED
    texts = [(key, f"on_place of task {key}: no idea", ZeroDivisionError) for key in ("t", "u")]
    assert faults == (texts if is_reported else [])
    assert all(text in caplog.text for _, text, _ in texts)
    assert ("observing.faulted failed" in caplog.text) is not is_reported
    embedding.check_invariants()


@pytest.mark.parametrize("error", [LookupError("x"), NotStarted("x")], ids=repr)
def test_on_unplaced(error: Exception) -> None:
    faults: Faults = []
    tasks = [Task("large", {"cpu": 9}), Task("small", {"cpu": 1})]
    embedding = Embedding(
        [Worker("w", {"cpu": 2})],
        tasks,
        on_unplaced=failing(error),
        observers=[observing(faulted=reporter(faults))],
    )
    embedding.run_until_idle()
    assert faults == [("on_unplaced", "large")]
    assert embedding.state_of("small") is TaskState.PLACED
    embedding.check_invariants()


@pytest.mark.parametrize("error", [LookupError("x"), NotStarted("x")], ids=repr)
def test_on_evict(error: Exception) -> None:
    """The task is to be stopped all the same."""
    faults: Faults = []
    embedding = Embedding(
        [Worker("w", {"cpu": 2})],
        [Task("low", {"cpu": 2})],
        on_evict=failing(error),
        observers=[observing(faulted=reporter(faults))],
        clock=(clock := VirtualClock()),
    )
    embedding.run_until_idle()
    embedding.submit(Task("high", {"cpu": 2}), Requirements(priority=5))
    embedding.run_until_idle()
    assert faults == [("on_evict", "low")]
    assert embedding.state_of("low") is TaskState.STOPPING
    assert embedding.finish("low")
    clock.advance(60)
    embedding.run_until_idle()
    assert embedding.state_of("high") is TaskState.PLACED
    embedding.check_invariants()


def test_the_first_error_of_wake_up_is_reported() -> None:
    """It left ``submit``, and the task was half there."""
    faults: Faults = []
    embedding = Embedding(
        [Worker("w")],
        wake_up=failing(LookupError("x")),
        observers=[observing(faulted=reporter(faults))],
        clock=VirtualClock(),
    )
    for number in range(3):
        embedding.submit(Task(str(number)))
    embedding.run_until_idle()
    assert embedding.fail("0")
    assert faults == [("", "")]
    assert len(embedding.tasks_on("w")) == 2
    embedding.check_invariants()


def test_wake_up_of_a_scheduler() -> None:
    faults: list[str] = []
    cluster = InMemoryCluster()
    scheduler = Scheduler(
        cluster,
        wake_up=failing(LookupError("no idea")),
        observers=[observing(faulted=lambda status, pod: faults.append(status.message))],
    )
    scheduler.sync()
    cluster.create(make_node("a"))
    cluster.create(make_pod("p"))
    scheduler.run_until_idle()
    assert cluster.get("Pod", "default/p").node_name == "a"
    assert faults == ["no idea"]


@pytest.mark.parametrize("name", ["needs", "limits"])
def test_an_error_of_needs_or_limits_leaves_the_call_that_changes_nothing(name: str) -> None:
    kwargs: dict[str, Any] = {name: failing(LookupError("x"))}
    embedding = Embedding(**kwargs)
    calls = {
        "needs": lambda: embedding.submit(Task("t")),
        "limits": lambda: embedding.add_worker(Worker("w")),
    }
    with pytest.raises(LookupError):
        calls[name]()
    assert len(embedding) == 0
    embedding.check_invariants()


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, SystemExit])
@pytest.mark.parametrize("name", ["on_place", "on_unplaced", "faulted"])
def test_an_interruption_leaves_the_method_that_drives(name: str, error: type[BaseException]) -> None:
    """What comes after it is done by the next call."""
    calls: list[None] = []
    placed: list[str] = []

    def once(*arguments: Any) -> None:
        if not calls:
            calls.append(None)
            raise error

    def on_place(task: Task, worker: Worker) -> None:
        placed.append(task.key)
        if name == "on_place":
            once()
        if name == "faulted":
            raise LookupError

    options: dict[str, Any] = {"on_place": on_place}
    if name == "on_unplaced":
        options["on_unplaced"] = once
    if name == "faulted":
        options["observers"] = [observing(faulted=once)]
    tasks = [Task("large", {"cpu": 9}), *[Task(str(number), {"cpu": 1}) for number in range(4)]]
    embedding = Embedding([Worker("w", {"cpu": 4})], tasks, clock=VirtualClock(), **options)
    with pytest.raises(error):
        embedding.run_until_idle()
    embedding.run_until_idle()
    assert placed == ["0", "1", "2", "3"]
    embedding.check_invariants()
