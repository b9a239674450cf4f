"""From a chosen node to a pod that may be bound: assume, reserve, permit."""

from __future__ import annotations

from ..framework import Status
from ..queue import ASSIGNED_POD_DELETE
from .binding import start_binding, tell_expectation
from .core import Attempt, Core
from .failure import handle_failure


def place(core: Core, attempt: Attempt) -> None:
    """Take the room on the node now, ask reserve and permit, then bind, park or give up."""
    assumed = attempt.assumed = attempt.pod.with_node_name(attempt.node_name)
    core.cache.assume_pod(assumed)
    nominator = core.queue.nominator
    if nominator:
        nominator.delete(assumed)
    framework = attempt.framework
    if framework.plan.reserve:
        status = framework.run_reserve(attempt.state, assumed, attempt.node_name)
        if status is not None:
            take_back(core, attempt)
            handle_failure(core, attempt, status)
            return
    permit = framework.run_permit(attempt.state, assumed, attempt.node_name)
    if permit.status is not None:
        take_back(core, attempt)
        handle_failure(core, attempt, permit.status)
        return
    core.activate_requested(attempt.state)
    if permit.waits:
        core.waiting.park(
            assumed, attempt.node_name, attempt.state, attempt, core.clock(), dict(permit.waits)
        )
        core.binding[assumed.uid] = attempt
        tell_expectation(core, attempt)
    else:
        start_binding(core, attempt)


def take_back(core: Core, attempt: Attempt) -> bool:
    """Undo reserve (last plugin first) and assume; whether the cache still counted the assumption."""
    assumed = attempt.assumed
    assert assumed is not None
    core.binding.pop(assumed.uid, None)
    for problem in attempt.framework.run_unreserve(attempt.state, assumed, attempt.node_name):
        core.report(problem, assumed, "unreserve")
    return core.cache.forget_pod(assumed)


def allowed(core: Core, attempt: Attempt) -> None:
    """Every plugin let the waiting pod go."""
    start_binding(core, attempt)


def rejected(core: Core, attempt: Attempt, status: Status) -> None:
    """A plugin turned the waiting pod down, or lost patience: its room is free again, for the others too."""
    assumed = attempt.assumed
    assert assumed is not None
    freed = take_back(core, attempt)
    # Requeue first: an event recorded while the pod is in flight would send it to be tried again at once.
    handle_failure(core, attempt, status)
    if freed:
        core.queue.move_all(ASSIGNED_POD_DELETE, assumed, None, except_uid=assumed.uid)
