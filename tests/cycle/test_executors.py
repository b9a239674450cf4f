"""Who runs the binding cycle: the core, threads, an event loop; ``async`` plugins in each of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from schedframe import AsyncioExecutor, CycleState, OutcomeUnknown, PluginError, Pod, Status, ThreadExecutor
from schedframe.cycle import Executor, InlineExecutor
from schedframe.cycle.binding.attempt import Attempt
from schedframe.framework.binding import drive, drive_on_loop
from schedframe.queue import QueuedPodInfo

from .build import PROFILE, World, make_node, make_pod, plugin_class

PATIENCE = 30
"""Seconds after which a test gives up; nothing waits for that long unless something is broken."""


@contextmanager
def running_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        assert not thread.is_alive()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


@pytest.fixture(params=["inline", "threads", "asyncio"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Each kind of executor, closed at the end."""
    if request.param == "inline":
        yield InlineExecutor()
    elif request.param == "threads":
        threads = ThreadExecutor(workers=4)
        yield threads
        threads.close()
    else:
        with running_loop() as loop:
            yield AsyncioExecutor(loop)


class Results:
    """What executors told, and a way to wait for it."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self._come = threading.Condition()

    def __call__(self, result: Any) -> None:
        with self._come:
            self.found.append(result)
            self._come.notify_all()

    def wait_for(self, count: int) -> list[Any]:
        """The results, once there are *count* of them."""
        with self._come:
            assert self._come.wait_for(lambda: len(self.found) >= count, PATIENCE)
            return self.found


async def _later(result: Any) -> Any:
    await asyncio.sleep(0)
    return result


async def _never() -> None:
    raise ValueError("asynchronously")


async def _cancelled() -> None:
    raise asyncio.CancelledError


def _raise(error: BaseException) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


def test_every_work_is_told_once(executor: Executor) -> None:
    results = Results()
    for i in range(20):
        executor.submit(lambda i=i: i if i % 2 else _later(i), results)  # type: ignore[misc]
    assert sorted(results.wait_for(20)) == list(range(20))
    if executor.inline:
        assert results.found == list(range(20))


@pytest.mark.parametrize("work", [_raise(ValueError("at once")), _never], ids=["plain", "coroutine"])
def test_work_that_raises_is_told_as_an_error(executor: Executor, work: Callable[[], Any]) -> None:
    results = Results()
    executor.submit(work, results)
    (status,) = results.wait_for(1)
    assert isinstance(status, Status)
    assert isinstance(status.error, ValueError)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_that_ends_its_thread_is_told_too() -> None:
    results = Results()
    threads = ThreadExecutor(workers=1)
    threads.submit(_raise(SystemExit("enough")), results)
    threads.submit(lambda: "next", results)
    status, following = results.wait_for(2)
    assert isinstance(status.error, SystemExit)
    assert following == "next"
    threads.close()
    threads.close()


def test_cancelled_work_is_told_too() -> None:
    results = Results()
    with running_loop() as loop:
        AsyncioExecutor(loop).submit(_cancelled, results)
        (status,) = results.wait_for(1)
    assert isinstance(status.error, asyncio.CancelledError)


def test_closing_waits_for_what_was_submitted() -> None:
    results = Results()
    with running_loop() as loop:
        executor = AsyncioExecutor(loop)
        for i in range(10):
            executor.submit(lambda i=i: _later(i), results)  # type: ignore[misc]
        executor.close()
        assert sorted(results.found) == list(range(10))
        executor.close()
        # Code on the thread of the loop may not wait for the loop.
        asyncio.run_coroutine_threadsafe(_close(executor), loop).result(PATIENCE)


async def _close(executor: AsyncioExecutor) -> None:
    executor.close()


# ---- async plugins ---------------------------------------------------------------------------------------


def test_async_plugins_bind_with_every_executor(executor: Executor) -> None:
    seen: list[str] = []

    async def pre_bind(self: Any, pod: Pod) -> None:
        await asyncio.sleep(0)
        seen.append(f"pre_bind {pod.name}")

    async def bind(self: Any, pod: Pod) -> Status | None:
        await asyncio.sleep(0)
        seen.append(f"bind {pod.name}")
        return Status.skip()

    plugin = plugin_class(pre_bind=pre_bind, bind=bind)
    world = World({"Async": plugin}, executor, only={"bind": ["Async", "DefaultBinder"]})
    world.create(make_node(), *(make_pod(f"p{i}") for i in range(3)))
    world.scheduler.run_until_idle()
    world.scheduler.close()
    assert [world.node_of(f"p{i}") for i in range(3)] == ["n", "n", "n"]
    assert sorted(seen) == sorted(f"{point} p{i}" for point in ("pre_bind", "bind") for i in range(3))
    assert not world.faults


@pytest.mark.parametrize("mistake", ["raises", "is cancelled", "talks nonsense", "is silent"])
def test_async_plugins_that_fail(executor: Executor, mistake: str) -> None:
    failures = iter([True])

    async def pre_bind(self: Any, pod: Pod) -> Any:
        await asyncio.sleep(0)
        if not next(failures, False):
            return None
        if mistake == "raises":
            raise RuntimeError("no luck")
        if mistake == "is cancelled":
            raise asyncio.CancelledError
        if mistake == "is silent":
            raise OutcomeUnknown("no answer")
        return 7

    world = World({"Async": plugin_class(pre_bind=pre_bind)}, executor)
    world.create(make_node(), make_pod())
    world.scheduler.run_until_idle()
    assert world.where() == "error_backoff"
    assert world.fault_plugins() == ["Async"]
    world.clock.advance(3)
    world.scheduler.run_until_idle()
    assert world.node_of() == "n"
    world.scheduler.close()


@pytest.mark.parametrize("returns_at_once", [True, False])
def test_a_binding_that_is_cancelled_on_its_loop_ends_as_cancelled(returns_at_once: bool) -> None:
    """What the plugin awaits may be cancelled as well: that is a fault of the plugin."""
    begun: list[asyncio.Future[None]] = []

    def bind(self: Any) -> asyncio.Future[None]:
        begun.append(asyncio.get_running_loop().create_future())
        return begun[-1]

    world = World({"Slow": plugin_class(bind=bind)}, only={"bind": ["Slow"]})
    pod = make_pod().with_node_name("n")
    attempt = Attempt(QueuedPodInfo(pod, 0.0), pod, world.scheduler.core.frameworks[PROFILE], CycleState())
    attempt.assumed, attempt.node_name = pod, "n"

    async def outcome(*, cancel_task: bool) -> Status | None:
        steps = attempt.framework.binding_steps(attempt)
        task = asyncio.create_task(drive_on_loop(steps) if returns_at_once else drive(steps))
        await asyncio.sleep(0)
        (task if cancel_task else begun[-1]).cancel()
        return await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(outcome(cancel_task=True))
    status = asyncio.run(outcome(cancel_task=False))
    assert status is not None
    assert status.plugin == "Slow"
    assert "what it awaited was cancelled" in status.message


def test_what_follows_an_async_call_does_not_block_the_loop() -> None:
    threads: dict[str, str] = {}

    async def pre_bind(self: Any) -> None:
        await asyncio.sleep(0)
        threads["pre_bind"] = threading.current_thread().name

    def bind(self: Any) -> Status:
        threads["bind"] = threading.current_thread().name
        return Status.skip()

    plugin = plugin_class(pre_bind=pre_bind, bind=bind)
    with running_loop() as loop:
        loop_thread = asyncio.run_coroutine_threadsafe(_thread_name(), loop).result(PATIENCE)
        world = World({"Mixed": plugin}, AsyncioExecutor(loop), only={"bind": ["Mixed", "DefaultBinder"]})
        world.create(make_node(), make_pod())
        world.scheduler.run_until_idle()
        world.scheduler.close()
    assert world.node_of() == "n"
    assert threads["pre_bind"] == loop_thread
    assert threads["bind"] not in (loop_thread, threading.current_thread().name)


async def _thread_name() -> str:
    return threading.current_thread().name


def test_in_a_notebook_whose_loop_is_running_async_plugins_bind_as_well() -> None:
    async def pre_bind(self: Any) -> None:
        await asyncio.sleep(0)

    world = World({"Async": plugin_class(pre_bind=pre_bind)})
    world.create(make_node(), make_pod())

    async def drive() -> None:
        world.scheduler.run_until_idle()

    asyncio.run(drive())
    assert world.node_of() == "n"


# ---- what plugins see off the core -----------------------------------------------------------------------


@pytest.mark.parametrize("hook", ["reserve", "bind"])
def test_a_snapshot_is_taken_in_the_core(hook: str) -> None:
    seen: list[list[str]] = []

    def look(self: Any, pod: Pod) -> Status | None:
        seen.append([info.name for info in self.handle.snapshot()])
        return Status.skip() if hook == "bind" else None

    plugin = plugin_class(__init__=_keep_handle, **{hook: look})
    only = {hook: ["Reader", "DefaultBinder"] if hook == "bind" else ["Reader"]}
    world = World({"Reader": plugin}, ThreadExecutor(1), only=only)
    world.create(make_node(), make_pod())
    world.scheduler.run_until_idle()
    world.scheduler.close()
    if hook == "reserve":
        assert seen == [["n"]]
        assert world.node_of() == "n"
    else:
        assert isinstance(world.faults[0][0].error, PluginError)
        assert "take the snapshot in reserve" in world.faults[0][0].message


def _keep_handle(self: Any, handle: Any) -> None:
    self.handle = handle
