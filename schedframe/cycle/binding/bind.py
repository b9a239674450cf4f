"""The binding cycle: pre_bind and bind off the core, the outcome back through the inbox."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import partial
from time import perf_counter
from typing import Any

from ...api import Pod
from ...cluster import OutcomeUnknown, RemoteCluster, ViewChange
from ...framework import Code, Status
from ...framework.binding import drive, drive_on_loop, run
from ...framework.extender import is_interested
from ...queue import ASSIGNED_POD_DELETE, ClusterEvent
from ..core import Core
from ..messages import WorkKind
from ..outcomes import BOUND
from ..runtime.executors import Work
from .activation import PODS_TO_ACTIVATE, activate_requested
from .attempt import Attempt
from .failure import handle_failure
from .outcome import UNKNOWN_OUTCOME, read_outcome
from .paused import PausedBinding
from .pod_status import publish_expected_node


def start_binding(core: Core, attempt: Attempt) -> None:
    """Hand the attempt to the executor.

    The queue may forget what happened during scheduling: from here on the pod can only fail, and then it is
    tried again whatever happens in the cluster.
    """
    assumed = attempt.assumed
    assert assumed is not None
    core.queue.done(attempt.info.uid)
    try:
        problem = _prepare(core, attempt, assumed)
    except BaseException as error:  # as Ctrl-C in a hook, which must not take the pod with it
        finish_binding(core, attempt, Status.from_error(error))
        raise
    if problem is None:
        submit(core, attempt)
    else:
        finish_binding(core, attempt, problem)


def _prepare(core: Core, attempt: Attempt, assumed: Pod) -> Status | None:
    """Find out which plugins and extenders bind the pod; return the error of one."""
    framework = attempt.framework
    if framework.plan.pre_bind and not attempt.idle:
        names = framework.pre_binders(attempt.state, assumed, attempt.node_name)
        if isinstance(names, Status):
            return names
        attempt.pre_binders = names
        if names:
            publish_expected_node(core, attempt, names[0])
    if core.binders:
        attempt.binders = tuple([each for each in core.binders if is_interested(each, assumed)])
        if isinstance(core.cluster, RemoteCluster):
            attempt.check_may_write = core.cluster.check_may_write
    return None


def submit(core: Core, attempt: Attempt) -> None:
    """Run what is left of pre_bind, and bind; later if the view of the cluster is stale now."""
    if core.view.holds:
        assert attempt.assumed is not None
        core.binding[attempt.assumed.uid] = attempt
        core.paused.hold(attempt, attempt.assumed.uid)
        return
    attempt.submitted_at = core.paused.moment
    steps = attempt.framework.binding_steps(attempt)
    if core.executor.inline:
        try:
            status = run(steps)
        except Exception as error:  # noqa: BLE001 - the attempt ends with it, as in another executor
            status = Status.from_error(error)
        except BaseException as error:  # Ctrl-C in a hook must not take the pod with it
            finish_binding(core, attempt, Status.from_error(error))
            raise
        finish_binding(core, attempt, status)
        return
    assert attempt.assumed is not None
    core.binding[attempt.assumed.uid] = attempt
    plan = attempt.framework.plan
    returns_at_once = plan.binds_at_once and plan.pre_binds_at_once.issuperset(attempt.pre_binders)
    needs_thread = attempt.binders or not (core.on_loop and returns_at_once)
    _execute(core, attempt, partial(drive if needs_thread else drive_on_loop, steps))


def view_changed(core: Core, change: ViewChange) -> None:
    """Take in which kinds are stale; go on with the attempts that are held once they need not be."""
    core.view.take(change)
    if core.view.holds:
        return
    for paused in core.paused.release():
        attempt = paused.attempt
        if attempt.abort_status is not None:
            reject(core, attempt, attempt.abort_status)
        else:
            submit(core, attempt)


def resume(core: Core, paused: Iterable[PausedBinding]) -> None:
    """Go on with attempts that waited for an event or a moment; with the rest later if one is interrupted."""
    left = deque(paused)
    try:
        while left:
            _resume(core, left.popleft())
    except BaseException:
        for each in left:
            core.paused.resume_at(each, core.now)
        raise


def _resume(core: Core, paused: PausedBinding) -> None:
    if not paused.verify:
        submit(core, paused.attempt)
        return
    _verify(core, paused.attempt)


def _verify(core: Core, attempt: Attempt) -> None:
    """Ask the cluster what became of the bind, off the core."""
    assert attempt.assumed is not None
    _execute(core, attempt, partial(read_outcome, core.cluster, attempt.assumed, attempt.node_name))


def _execute(core: Core, attempt: Attempt, work: Work) -> None:
    core.submit(WorkKind.BIND, work, partial(finish_binding, core, attempt))


def finish_binding(core: Core, attempt: Attempt, status: Status | None) -> None:
    """Continue after the executor is done with the attempt: bound, failed, or waiting."""
    assumed = attempt.assumed
    assert assumed is not None
    if status is not None and not _is_bound(core, attempt, assumed.uid, status):
        return
    if attempt.started:
        attempt.ended = perf_counter()
    if core.binding:
        core.binding.pop(assumed.uid, None)
    if attempt.deleted:
        # Deleted after the bind went through, and the event of the bind never came.
        core.cache.forget_pod(assumed)
    elif core.cache.assume_ttl is not None:
        core.cache.finish_binding(assumed, core.now)
    if attempt.framework.plan.post_bind:
        for problem in attempt.framework.run_post_bind(attempt.state, assumed, attempt.node_name):
            core.report_returned(problem, assumed, "post_bind")
    if attempt.state.get(PODS_TO_ACTIVATE):
        activate_requested(core, attempt.state)
    if attempt.started and (attempt_ended := core.observers.attempt_ended) is not None:
        attempt_ended(attempt, BOUND)


def _is_bound(core: Core, attempt: Attempt, uid: str, status: Status) -> bool:
    """Return whether the pod is bound after all; if not, let the attempt wait or end."""
    if isinstance(status.error, OutcomeUnknown) and attempt.pre_bound == len(attempt.pre_binders):
        core.binding[uid] = attempt
        _verify(core, attempt)
        return False
    if status.code is Code.WAIT and attempt.abort_status is not None:
        status = attempt.abort_status
    if status == UNKNOWN_OUTCOME or status.code is Code.WAIT:
        # A pod that is gone, or that an event shows on its node by now, does not wait for anything.
        if not attempt.deleted and core.cache.is_assumed(uid):
            _wait(core, attempt, uid, status)
            return False
        if status == UNKNOWN_OUTCOME and not attempt.deleted:
            return True
    core.binding.pop(uid, None)
    reject(core, attempt, status)
    return False


def _wait(core: Core, attempt: Attempt, uid: str, status: Status) -> None:
    core.binding[uid] = attempt
    if status == UNKNOWN_OUTCOME:
        core.paused.verify_later(attempt, uid, core.now)
        return
    deadline = core.now + max(0.0, status.timeout or 0.0)
    if not core.paused.pause(attempt, uid, deadline, status.events):
        submit(core, attempt)


def reject(core: Core, attempt: Attempt, status: Status) -> None:
    """Undo what was done for an assumed pod and requeue it, then emit the event of the freed room."""
    assumed = attempt.assumed
    freed = roll_back(core, attempt)
    # Requeue first: an event recorded while the pod is in flight would send it to be tried again at once.
    handle_failure(core, attempt, status)
    if freed:
        # Without a plugin's name it was stopped for others, such as a preemptor, which may go on at once.
        rolled_back = attempt.info.popped if status.plugin else None
        emit(core, ASSIGNED_POD_DELETE, assumed, None, except_uid=attempt.info.uid, rolled_back=rolled_back)


def roll_back(core: Core, attempt: Attempt) -> bool:
    """Undo reserve (last plugin first) and assume; whether the cache still counted the assumption."""
    assumed = attempt.assumed
    assert assumed is not None
    core.binding.pop(assumed.uid, None)
    unreserve(core, attempt)
    return core.cache.forget_pod(assumed)


def unreserve(core: Core, attempt: Attempt) -> None:
    """Undo reserve, last plugin first; does no harm twice."""
    assumed = attempt.assumed
    assert assumed is not None
    for problem in attempt.framework.run_unreserve(attempt.state, assumed, attempt.node_name):
        core.report_returned(problem, assumed, "unreserve")


def emit(
    core: Core,
    event: ClusterEvent,
    old: Any,
    new: Any,
    *,
    max_priority: int | None = None,
    except_uid: str | None = None,
    rolled_back: int | None = None,
) -> None:
    """Wake the pods that wait for *event*: pending ones, and paused bindings."""
    core.queue.move_all(
        event, old, new, max_priority=max_priority, except_uid=except_uid, rolled_back=rolled_back
    )
    # Attempts that are paused, or may be on return from the executor, are among those in binding.
    if core.binding:
        concerned = core.paused.concerned(event, old if new is None else new)
        if concerned:
            resume(core, concerned)
