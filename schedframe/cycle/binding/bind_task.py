"""What runs off the core for one attempt: pre_bind and bind, and the question what became of a bind."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Generator
from functools import partial
from math import isfinite
from typing import Any, Final, TypeVar

from ..._plugin_faults import cancellations, plugin_faults
from ..._value import record
from ...cluster import ClusterPort, OutcomeUnknown, RemoteCluster
from ...errors import PluginError
from ...framework import Code, Extender, Status
from ...framework.faults import from_exception, invalid_answer, read_status
from ...queue import ClusterEvent, EventOf
from .attempt import Attempt

Given = TypeVar("Given")
logger = logging.getLogger("schedframe")

NO_BINDER = Status.from_error("no bind plugin took the pod; enable one under plugins.bind")
UNKNOWN_OUTCOME = Status(Code.ERROR, ("the cluster does not say whether the pod was bound",))
"""Stands for an outcome that stays unknown: the assumption is kept until the truth is known."""
_CANCELLED: Final = "what it awaited was cancelled"

_ALSO = frozenset({Code.WAIT})
_ALSO_AT_BIND = frozenset({Code.WAIT, Code.SKIP})

Steps = Generator[Any, Any, Status | None]
"""Yields awaitables, is sent what they give, returns a status; ``None`` is success."""


@record(eq=False)
class BindingTask:
    """pre_bind and bind of one attempt; touches nothing but the attempt."""

    attempt: Attempt
    cluster: ClusterPort

    def run(self) -> Any:
        """``None`` if the pod is bound, else why not; a coroutine of the same where a plugin is ``async``."""
        attempt = self.attempt
        binders = attempt.framework.plan.bind
        if len(binders) == 1 and not attempt.pre_binders and not attempt.binders:
            # The usual case: one call, and no steps to keep track of unless it answers something.
            call = binders[0].call  # a slot: read as a method, the lookup would not be cached
            try:
                answer = call(attempt.state, attempt.assumed, attempt.node_name)
            except plugin_faults() as error:
                return self._outcome(self.fault(binders[0].name, "bind", error))
            if answer is None:
                return None
            return drive(self._answered(binders[0].name, answer))
        return drive(self._steps())

    async def run_on_loop(self) -> Status | None:
        """As :meth:`run`, for plugins that return at once: they need no thread."""
        attempt = self.attempt
        if attempt.pre_binders:
            calls = self._pre_bind_calls()
            while attempt.pre_bound < len(attempt.pre_binders):
                name = attempt.pre_binders[attempt.pre_bound]
                status = await self._call_on_loop(name, "pre_bind", calls[name])
                if status is not None:
                    return status
                attempt.pre_bound += 1
            status = attempt.begin_bind()
            if status is not None:
                return status
        binder = attempt.framework.plan.bind[0]
        status = await self._call_on_loop(binder.name, "bind", binder.call)
        if status is not None and isinstance(status.error, OutcomeUnknown):
            return await _in_thread(self.verify)
        return NO_BINDER if status is not None and status.code is Code.SKIP else status

    async def _call_on_loop(self, name: str, point: str, call: Callable[..., Any]) -> Status | None:
        attempt = self.attempt
        try:
            answer = call(attempt.state, attempt.assumed, attempt.node_name)
        except plugin_faults() as error:
            return self.fault(name, point, error)
        try:
            if inspect.isawaitable(answer):
                answer = await answer
        except cancellations():
            if _is_cancelled():
                raise
            return from_exception(name, point, PluginError(_CANCELLED))
        except Exception as error:  # noqa: BLE001 - a fault of the plugin, reported with its name
            return self.fault(name, point, error)
        return None if answer is None else _binding_status(name, point, answer)

    def fault(self, name: str, point: str, error: BaseException) -> Status:
        """Return the ERROR status for an exception of a plugin."""
        return from_exception(name, point, error, self.attempt.assumed, self.attempt.node_name)

    def _answered(self, name: str, answer: Any) -> Steps:
        """Return what *answer* of the only bind plugin means."""
        return self._outcome_of_only((yield from self._awaited_status(name, "bind", answer)))

    def _outcome_of_only(self, status: Status | None) -> Status | None:
        """*status* of the only bind plugin; if it skipped the pod, no plugin took it."""
        return self._outcome(NO_BINDER if status is not None and status.code is Code.SKIP else status)

    def _outcome(self, status: Status | None) -> Status | None:
        """*status* of the bind, unless only the cluster knows what became of it."""
        unknown = status is not None and isinstance(status.error, OutcomeUnknown)
        return self.verify() if unknown else status

    def verify(self) -> Status | None:
        """After an unknown outcome: ask the cluster. :data:`UNKNOWN_OUTCOME` if it does not answer."""
        assumed, node_name = self.attempt.assumed, self.attempt.node_name
        assert assumed is not None
        cluster = self.cluster
        try:
            read = cluster.get_latest if isinstance(cluster, RemoteCluster) else cluster.get
            pod = read("Pod", assumed.key)
        except Exception as error:  # noqa: BLE001 - not answering is an answer here
            logger.info("cannot find out whether pod %s was bound: %s", assumed.key, error)
            return UNKNOWN_OUTCOME
        if pod is None or pod.uid != assumed.uid:
            where = "is gone"
        elif pod.spec.node_name == node_name:
            return None
        else:
            where = f"is on {pod.spec.node_name or 'no node'}"
        return Status.from_error(f"binding to {node_name} had no answer, and the pod {where}")

    def _steps(self) -> Steps:
        status = yield from self._pre_bind()
        if status is None and self.attempt.pre_binders:
            status = self.attempt.begin_bind()
        if status is None:
            status = self._outcome((yield from self._bind()))
        return status

    def _pre_bind(self) -> Steps:
        attempt = self.attempt
        calls = self._pre_bind_calls()
        while attempt.pre_bound < len(attempt.pre_binders):
            name = attempt.pre_binders[attempt.pre_bound]
            status = yield from self._call(name, "pre_bind", calls[name])
            if status is not None:
                return status
            attempt.pre_bound += 1
        return None

    def _pre_bind_calls(self) -> dict[str, Callable[..., Any]]:
        return {entry.name: entry.call for entry in self.attempt.framework.plan.pre_bind}

    def _bind(self) -> Steps:
        for extender in self.attempt.binders:
            error = self._bind_by(extender)
            if error is None or not extender.is_ignorable:
                return error
            logger.info("extender %s is ignored: %s", extender.name, error.message)
        for entry in self.attempt.framework.plan.bind:
            status = yield from self._call(entry.name, "bind", entry.call)
            if status is None or status.code is not Code.SKIP:
                return status
        return NO_BINDER

    def _bind_by(self, extender: Extender) -> Status | None:
        """Return the error of *extender*; ``None`` if it bound the pod."""
        attempt = self.attempt
        assert attempt.assumed is not None
        try:
            if isinstance(self.cluster, RemoteCluster):
                self.cluster.check_may_write()  # the extender writes on behalf of this replica
            extender.bind(attempt.assumed, attempt.node_name)
        except Exception as error:  # noqa: BLE001 - the extender's, reported with the pod
            return Status.from_error(error)
        return None

    def _call(self, name: str, point: str, call: Callable[..., Any]) -> Steps:
        attempt = self.attempt
        try:
            answer = call(attempt.state, attempt.assumed, attempt.node_name)
        except plugin_faults() as error:
            return self.fault(name, point, error)
        return (yield from self._awaited_status(name, point, answer))

    def _awaited_status(self, name: str, point: str, answer: Any) -> Steps:
        """Return the status that *answer* stands for, awaited if need be."""
        try:
            if inspect.isawaitable(answer):
                answer = yield answer
        except cancellations():
            return from_exception(name, point, PluginError(_CANCELLED))
        except Exception as error:  # noqa: BLE001 - a fault of the plugin, reported with its name
            return self.fault(name, point, error)
        return _binding_status(name, point, answer)


def _binding_status(plugin: str, point: str, answer: Any) -> Status | None:
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


def drive(steps: Steps) -> Any:
    """Run the steps: to their end where they yield nothing, else as a coroutine."""
    running, value = _advance(partial(next, steps))
    return _drive_async(steps, value) if running else value


async def _drive_async(steps: Steps, awaitable: Any) -> Status | None:
    running, value = True, awaitable
    while running:
        move: Callable[[], Any]
        try:
            move = partial(steps.send, await value)
        except cancellations() as error:
            if _is_cancelled():
                raise
            move = partial(steps.throw, error)
        except Exception as error:  # noqa: BLE001 - for the call that awaited it
            move = partial(steps.throw, error)
        # What comes next may be a plain function that blocks: that is not for the loop's thread.
        running, value = await _in_thread(_advance, move)
    status: Status | None = value
    return status


async def _in_thread(work: Callable[..., Given], *arguments: Any) -> Given:
    from asyncio import to_thread  # loaded already, for a loop runs

    return await to_thread(work, *arguments)


def _is_cancelled() -> bool:
    """Return whether a ``CancelledError`` is for the running task, and not of what it awaits."""
    from asyncio import current_task

    task = current_task()
    return task is not None and task.cancelling() > 0


def _advance(move: Callable[[], Any]) -> tuple[bool, Any]:
    """Return whether there is more to do, with the next awaitable or the result."""
    try:
        return True, move()
    except StopIteration as end:
        return False, end.value
