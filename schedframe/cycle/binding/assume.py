"""From a chosen node to a pod that may be bound: assume, reserve, permit."""

from __future__ import annotations

from collections.abc import Mapping

from ..core import Core
from .activation import activate_requested
from .attempt import Attempt
from .bind import roll_back, start_binding, unreserve
from .failure import handle_failure
from .pod_status import publish_expected_node


def place(core: Core, attempt: Attempt, *, publish: bool = True) -> None:
    """Take the room on the node now, run reserve and permit, then bind, wait or roll back.

    *publish*: whether to write the expected node at once if the pod waits.
    """
    assumed = attempt.assumed = attempt.pod.with_node_name(attempt.node_name)
    core.cache.assume_pod(assumed)
    try:
        nominator = core.queue.nominator
        if nominator.nominations:
            nominator.delete(assumed)
        framework = attempt.framework
        if framework.plan.reserve and not attempt.idle:
            if core.undo.marks:
                core.undo.entries.append((unreserve, core, attempt))
            status = framework.run_reserve(attempt.state, assumed, attempt.node_name)
            if status is not None:
                roll_back(core, attempt)
                handle_failure(core, attempt, status)
                return
        waits: Mapping[str, float] | None = None
        if framework.plan.permit:
            permit = framework.run_permit(attempt.state, assumed, attempt.node_name)
            if permit.status is not None:
                roll_back(core, attempt)
                handle_failure(core, attempt, permit.status)
                return
            waits = permit.waits
        if not attempt.idle or framework.plan.permit:
            # In an idle cycle without permit no plugin was called that could ask for it.
            activate_requested(core, attempt.state)
        if waits:
            core.waiting.park(assumed, attempt.node_name, attempt.state, attempt, core.now, dict(waits))
            core.binding[assumed.uid] = attempt
            if publish:
                publish_expected_node(core, attempt, next(iter(waits)))
        else:
            start_binding(core, attempt)
    except BaseException:  # as Ctrl-C in a hook; the pod is requeued where the attempt began
        if assumed.uid in core.queue.in_flight and assumed.uid not in core.binding:
            roll_back(core, attempt)
        raise
