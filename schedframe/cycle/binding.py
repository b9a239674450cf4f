"""The binding cycle: pre_bind and bind off the core, the outcome back through the inbox."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from attrs import define

from ..cluster import OutcomeUnknown
from ..framework import Code, Status
from ..framework.faults import fault, nonsense
from ..queue import ASSIGNED_POD_DELETE
from .core import Attempt, Core, logger
from .failure import handle_failure
from .parked import Parked

NOBODY_BINDS = Status.from_error("no bind plugin took the pod; enable one under plugins.bind")
LOST = Status(Code.ERROR, ("the cluster does not say whether the pod was bound",))
"""Stands for an outcome that stays unknown: the assumption is kept until the truth is known."""


def tell_expectation(core: Core, attempt: Attempt) -> None:
    """Note in the pod's status where it is going to run, for everybody who plans while it waits."""
    pod, node_name = attempt.pod, attempt.node_name
    if pod.status.nominated_node_name != node_name:
        core.write(
            lambda: core.cluster.patch_pod_status(pod, nominated_node_name=node_name),
            pod,
            "telling where the pod is expected",
        )


def start_binding(core: Core, attempt: Attempt) -> None:
    """Hand the attempt to the executor. The queue may forget what happened during scheduling: from here on
    the pod cannot turn out unschedulable, only fail."""
    assumed = attempt.assumed
    assert assumed is not None
    core.queue.done(assumed.uid)
    framework = attempt.framework
    if framework.plan.pre_bind:
        names = framework.pre_binders(attempt.state, assumed, attempt.node_name)
        if isinstance(names, Status):
            finish_binding(core, attempt, names)
            return
        attempt.pre_binders = names
        if names:
            tell_expectation(core, attempt)
    submit(core, attempt)


def submit(core: Core, attempt: Attempt) -> None:
    """Run what is left of pre_bind, and bind."""
    executor = core.executor
    task = BindingTask(attempt, core.cluster)
    if executor.inline:
        executor.submit(task.run, lambda status: finish_binding(core, attempt, status))
        return
    assert attempt.assumed is not None
    core.binding[attempt.assumed.uid] = attempt
    if attempt.framework.reads_snapshot:
        core.published = core.cache.snapshot()
    executor.submit(task.run, lambda status: core.inbox.put(_finished, (core, attempt, status)))


def resume(core: Core, parked: Parked) -> None:
    """Go on with an attempt that waited for an event or a moment."""
    if not parked.verify:
        submit(core, parked.attempt)
        return
    attempt = parked.attempt
    core.executor.submit(
        BindingTask(attempt, core.cluster).verify,
        lambda status: core.inbox.put(_finished, (core, attempt, status)),
    )


def _finished(message: tuple[Core, Attempt, Status | None]) -> None:
    finish_binding(*message)


def finish_binding(core: Core, attempt: Attempt, status: Status | None) -> None:
    """The executor is done with the attempt: bound, failed, or waiting for the outside world."""
    assumed = attempt.assumed
    assert assumed is not None
    if status is LOST:
        core.binding[assumed.uid] = attempt
        core.parked.verify_later(attempt, assumed.uid, core.clock())
        return
    if status is not None and status.code is Code.WAIT:
        core.binding[assumed.uid] = attempt
        core.parked.park(attempt, assumed.uid, core.clock() + (status.timeout or 0.0), status.events)
        return
    if core.binding:
        core.binding.pop(assumed.uid, None)
    if status is None:
        _bound(core, attempt)
    else:
        _failed(core, attempt, status)


def _bound(core: Core, attempt: Attempt) -> None:
    assumed = attempt.assumed
    assert assumed is not None
    if attempt.gone:
        # Deleted after the bind went through, and the event of the bind never came.
        core.cache.forget_pod(assumed)
    else:
        core.cache.finish_binding(assumed, core.clock())
    if attempt.framework.plan.post_bind:
        for problem in attempt.framework.run_post_bind(attempt.state, assumed, attempt.node_name):
            core.report(problem, assumed, "post_bind")
    core.activate_requested(attempt.state)


def _failed(core: Core, attempt: Attempt, status: Status) -> None:
    assumed = attempt.assumed
    assert assumed is not None
    for problem in attempt.framework.run_unreserve(attempt.state, assumed, attempt.node_name):
        core.report(problem, assumed, "unreserve")
    forgotten = core.cache.forget_pod(assumed)
    handle_failure(core, attempt, status)
    if forgotten:
        core.queue.move_all(ASSIGNED_POD_DELETE, assumed, None, except_uid=assumed.uid)


@define(eq=False)
class BindingTask:
    """pre_bind and bind of one attempt; runs off the core and touches nothing but the attempt."""

    attempt: Attempt
    cluster: Any

    def run(self) -> Any:
        """``None`` if the pod is bound, else why not; a coroutine of the same where a plugin is ``async``."""
        return drive(self._steps())

    def _steps(self) -> Iterator[Any]:
        """Yields awaitables, is sent their results, returns the status."""
        status = yield from self._pre_bind()
        if status is None:
            status = yield from self._bind()
        if status is not None and isinstance(status.error, OutcomeUnknown):
            return self.verify()
        return status

    def _pre_bind(self) -> Any:
        attempt = self.attempt
        calls = {entry.name: entry.call for entry in attempt.framework.plan.pre_bind}
        while attempt.bound_at < len(attempt.pre_binders):
            name = attempt.pre_binders[attempt.bound_at]
            status = yield from self._call(name, "pre_bind", calls[name])
            if status is not None:
                return status
            attempt.bound_at += 1
        return None

    def _bind(self) -> Any:
        for entry in self.attempt.framework.plan.bind:
            status = yield from self._call(entry.name, "bind", entry.call)
            if status is None or status.code is not Code.SKIP:
                return status
        return NOBODY_BINDS

    def _call(self, name: str, point: str, call: Any) -> Any:
        attempt = self.attempt
        try:
            status = call(attempt.state, attempt.assumed, attempt.node_name)
            if inspect.isawaitable(status):
                status = yield status
        except Exception as error:  # noqa: BLE001 - a fault of the plugin, reported with its name
            return fault(name, point, error)
        if status is None:
            return None
        if not isinstance(status, Status):
            return nonsense(name, point, status, "None or a Status")
        return None if status.code is Code.SUCCESS else status.with_plugin(name)

    def verify(self) -> Status | None:
        """After an unknown outcome: ask the cluster. :data:`LOST` if it does not answer."""
        assumed = self.attempt.assumed
        assert assumed is not None
        try:
            pod = self.cluster.get("Pod", assumed.key)
        except Exception as error:  # noqa: BLE001 - not answering is an answer here
            logger.info("cannot find out whether pod %s was bound: %s", assumed.key, error)
            return LOST
        if pod is not None and pod.uid == assumed.uid and pod.spec.node_name == self.attempt.node_name:
            return None
        where = (
            "is gone" if pod is None or pod.uid != assumed.uid else f"is on {pod.spec.node_name or 'no node'}"
        )
        return Status.from_error(f"binding to {self.attempt.node_name} had no answer, and the pod {where}")


def drive(steps: Iterator[Any]) -> Any:
    """Run a generator of awaitables: to its end where it yields none, else as a coroutine."""
    try:
        awaitable = next(steps)
    except StopIteration as end:
        return end.value
    return _drive_async(steps, awaitable)


async def _drive_async(steps: Any, awaitable: Any) -> Any:
    while True:
        try:
            result = await awaitable
        except Exception as error:  # noqa: BLE001 - thrown back into the plugin call that awaited it
            resume = lambda error=error: steps.throw(error)  # noqa: E731
        else:
            resume = lambda result=result: steps.send(result)  # noqa: E731
        try:
            awaitable = resume()
        except StopIteration as end:
            return end.value
