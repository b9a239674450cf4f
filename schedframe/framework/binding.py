"""The binding sequence of one pod, pre_bind and then bind, as steps; and the drivers that run steps.

The rules stand in :func:`binding_steps` alone. It yields what an ``async`` plugin returned, and is sent the
result of that. Where the steps run is the driver's: :func:`run` runs them inline, :func:`drive` in a thread
of an executor, :func:`drive_on_loop` on the thread of an event loop.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import isfinite
from typing import Any, Final

from .._base.plugin_faults import cancellations, plugin_faults
from ..api import Pod
from ..errors import PluginError
from ..queue import ClusterEvent, EventOf
from .cycle_state import CycleState
from .extender import Extender
from .faults import as_error, from_exception, invalid_answer, read_status
from .hook_calls import Call
from .plan import Plan
from .status import Code, Status

logger = logging.getLogger("schedframe")

NO_BINDER: Final = Status.from_error("no bind plugin took the pod; enable one under plugins.bind")
_CANCELLED: Final = "what it awaited was cancelled"
_ALSO: Final = frozenset({Code.WAIT})
_ALSO_AT_BIND: Final = frozenset({Code.WAIT, Code.SKIP})

Steps = Generator[Any, Any, None]
"""Yields awaitables, and is sent what they give. Ends with success; or yields at last a status, why not."""
Move = Callable[[], Any]
"""Runs steps up to what they yield next."""
_Answer = Generator[Any, Any, Status | None]
"""A part of steps, with its status; ``None`` is success."""


class Binding:
    """A pod that has a node, and how far its binding came."""

    # Defaults on the class are not set for each pod.
    pre_bound: int = 0
    """How many of ``pre_binders`` are done."""
    check_may_write: Callable[[], object] | None = None
    """Raises if this replica must not write; called before an extender binds on its behalf."""

    def __init__(
        self,
        state: CycleState,
        assumed: Pod | None = None,
        node_name: str = "",
        pre_binders: tuple[str, ...] = (),
    ) -> None:
        self.state = state
        self.assumed = assumed
        """The pod with its node; ``None`` before that is chosen."""
        self.node_name = node_name
        self.pre_binders = pre_binders
        """Names of the plugins whose pre_bind has something to do."""
        self.binders: tuple[Extender, ...] = ()
        """Extenders that bind it in place of the bind plugins."""

    def begin_bind(self) -> Status | None:
        """Called between pre_bind and bind; return a status to end with instead of binding."""
        return None


# ---- the sequence ----------------------------------------------------------------------------------------


def binding_steps(plan: Plan, binding: Binding) -> Steps:
    """pre_bind from where it stopped, then bind: by an extender, or the first plugin that takes the pod."""
    if binding.pre_binders:
        status = yield from _pre_bind(plan, binding)
        if status is None:
            status = binding.begin_bind()
        if status is not None:
            yield status
            return
    for extender in binding.binders:
        error = _bind_by(extender, binding)
        if error is None:
            return
        if not extender.is_ignorable:
            yield error
            return
        logger.info("extender %s is ignored: %s", extender.name, error.message)
    for entry in plan.bind:
        status = yield from _called(entry.name, "bind", entry.call, binding)
        if status is None:
            return
        if status.code is not Code.SKIP:
            yield status
            return
    yield NO_BINDER


def pre_binders(plan: Plan, state: CycleState, pod: Pod, node_name: str) -> tuple[str, ...] | Status:
    """Return the plugins whose pre_bind has something to do for the pod, or the error of one."""
    names = []
    for entry in plan.pre_bind:
        flight = plan.pre_flight.get(entry.name)
        if flight is not None:
            try:
                status = flight.call(state, pod, node_name)
            except plugin_faults() as error:
                return from_exception(entry.name, "pre_bind_pre_flight", error, pod, node_name)
            if isinstance(status, Status) and status.code is Code.SKIP:
                continue
            wanted = "None, Status.skip() or an error"
            problem = read_status(entry.name, "pre_bind_pre_flight", status, wanted)
            if problem is not None:
                return as_error(entry.name, "pre_bind_pre_flight", problem)
        names.append(entry.name)
    return tuple(names)


def pre_bind_steps(plan: Plan, binding: Binding) -> Steps:
    """pre_bind alone."""
    status = yield from _pre_bind(plan, binding)
    if status is not None:
        yield status


def _pre_bind(plan: Plan, binding: Binding) -> _Answer:
    """pre_bind of the plugins that are left, up to the first answer that is no success."""
    calls = {entry.name: entry.call for entry in plan.pre_bind}
    while binding.pre_bound < len(binding.pre_binders):
        name = binding.pre_binders[binding.pre_bound]
        status = yield from _called(name, "pre_bind", calls[name], binding)
        if status is not None:
            return status
        binding.pre_bound += 1
    return None


def _bind_by(extender: Extender, binding: Binding) -> Status | None:
    """Return the error of *extender*; ``None`` if it bound the pod."""
    assert binding.assumed is not None
    try:
        if binding.check_may_write is not None:
            binding.check_may_write()
        extender.bind(binding.assumed, binding.node_name)
    except Exception as error:  # noqa: BLE001 - the extender's, reported with the pod
        return Status.from_error(error)
    return None


def _called(name: str, point: str, call: Call, binding: Binding) -> _Answer:
    """Call a plugin, await its answer if need be, and return the status that it stands for."""
    pod, node_name = binding.assumed, binding.node_name
    try:
        answer = call(binding.state, pod, node_name)
    except plugin_faults() as error:
        return from_exception(name, point, error, pod, node_name)
    if answer is None:
        return None
    try:
        if inspect.isawaitable(answer):
            answer = yield answer
    except cancellations():
        return from_exception(name, point, PluginError(_CANCELLED))
    except Exception as error:  # noqa: BLE001 - a fault of the plugin, reported with its name
        return from_exception(name, point, error, pod, node_name)
    return _read(name, point, answer)


def _read(plugin: str, point: str, answer: Any) -> Status | None:
    """``None`` for success; an answer that the contract does not allow is an error."""
    wanted = "None, Status.wait(seconds), a rejection or an error"
    status = read_status(plugin, point, answer, wanted, _ALSO_AT_BIND if point == "bind" else _ALSO)
    if status is not None and status.code is Code.WAIT and not _has_usable_wait(status):
        return invalid_answer(plugin, point, answer, wanted)
    return status


def _has_usable_wait(status: Status) -> bool:
    """Return whether the timeout is finite, and the events are events that can be looked up."""
    try:
        hash(tuple(status.events))
    except Exception:  # noqa: BLE001 - events are what the plugin made; the caller reports the answer
        return False
    finite = status.timeout is not None and isfinite(status.timeout)
    return finite and all(isinstance(event, ClusterEvent | EventOf) for event in status.events)


# ---- drivers ---------------------------------------------------------------------------------------------


def run(steps: Steps) -> Status | None:
    """Run the steps in this thread to their end, ``async`` plugins on a loop; ``None`` is success."""
    value = next(steps, None)
    if value is not None and not isinstance(value, Status):
        value = completed(_awaited(steps, value, _in_thread))
    status: Status | None = value
    return status


def drive(steps: Steps) -> Any:
    """Run the steps in this thread to their end if they await nothing; else return a coroutine for a loop.

    The steps that follow an awaitable may block, so that coroutine runs them in other threads.
    """
    value = next(steps, None)
    return value if _is_outcome(value) else _awaited(steps, value, _in_thread)


async def drive_on_loop(steps: Steps) -> Status | None:
    """Run the steps on the thread of the loop: for plugins that declare that they return at once."""
    return await _awaited(steps, next(steps, None), _here)


def completed(result: Any) -> Any:
    """Return *result*, or that of the coroutine that it is, run here; raises what that raises."""
    if not inspect.iscoroutine(result):
        return result
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(result)
    # A loop is running here already, as in a notebook, and can run no second one: another thread can.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, result).result()


def _is_outcome(value: Any) -> bool:
    return value is None or isinstance(value, Status)


async def _awaited(steps: Steps, value: Any, advance: Callable[[Move], Awaitable[Any]]) -> Status | None:
    """Await *value*, go on with the steps by *advance*, and so on to their end."""
    while not _is_outcome(value):
        move: Move
        try:
            move = partial(steps.send, await value)
        except cancellations() as error:
            if _is_cancelled():
                raise
            move = partial(steps.throw, error)
        except Exception as error:  # noqa: BLE001 - for the call that awaited it
            move = partial(steps.throw, error)
        value = await advance(move)
    status: Status | None = value
    return status


def _advance(move: Move) -> Any:
    try:
        return move()
    except StopIteration:  # which cannot be raised across threads
        return None


async def _here(move: Move) -> Any:
    return _advance(move)


def _in_thread(move: Move) -> Coroutine[Any, Any, Any]:
    from asyncio import to_thread  # loaded already, for a loop runs

    return to_thread(_advance, move)


def _is_cancelled() -> bool:
    """Return whether a ``CancelledError`` is for the running task, and not of what it awaits."""
    from asyncio import current_task

    task = current_task()
    return task is not None and task.cancelling() > 0
