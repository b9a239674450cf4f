"""Apply the outcome of a group: place the members that fit if it can run, else send all back to the queue."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from ...api import Pod
from ...framework import Framework, NominatingInfo, Status
from ...queue import Pool, QueuedPodInfo
from ..binding.assume import place
from ..binding.attempt import Attempt
from ..binding.failure import CLEAR_NOMINATION, handle_failure
from ..binding.pod_status import publish_expected_node
from ..core import Core
from ..messages import GroupPlaced
from .outcome import (
    UNSCHEDULABLE_TEXT,
    WAITING_TEXT,
    GroupOutcome,
    GroupResult,
    MemberOutcome,
    MemberResult,
)

_UNSCHEDULABLE = Status.unschedulable()
_WAITING = Status.unschedulable(WAITING_TEXT)


def apply_outcome(
    core: Core, framework: Framework, infos: Sequence[QueuedPodInfo], outcome: GroupOutcome, started: float
) -> None:
    """Place or requeue the members *infos*, in order. *started*: see :class:`Attempt`.

    A member that permit makes wait brings those back at once that were rejected before it: their group is
    about to run.
    """
    observed = core.observers if core.observers.follow_attempts else None
    searched = perf_counter()
    for evict in outcome.evictions if outcome.result is GroupResult.WAITING else ():
        evict()
    found = {member.pod.uid: member for member in outcome.members}
    requeued: list[Pod] = []
    waiting: list[str] = []
    for info in infos:
        member = found.get(info.uid)
        state = outcome.state if member is None else member.attempt.state
        attempt = Attempt(info, info.pod, framework, state)
        if observed is not None:
            attempt.started, attempt.searched = started, searched
            if observed.attempt_began is not None:
                observed.attempt_began(framework.profile_name, info, started)
        if member is None:
            # A rejection before any member was tried says nothing about nominations; an error ends them.
            kept = CLEAR_NOMINATION if outcome.result is GroupResult.FAILED else None
            handle_failure(core, attempt, _group_status(outcome), nominating=kept)
        elif outcome.result is GroupResult.SCHEDULED and member.result is MemberResult.FITS:
            attempt.node_name, attempt.idle = member.node_name, member.attempt.idle
            place(core, attempt, publish=False)
            if core.waiting.get(info.uid) is not None:
                waiting.append(info.uid)
                core.queue.activate(requeued)
                requeued.clear()
        else:
            _fail(core, attempt, member, outcome)
        if observed is not None and observed.cycle_ended is not None:
            observed.cycle_ended(attempt)
        if info.pool is not Pool.IN_FLIGHT:
            requeued.append(info.pod)
    if waiting:
        # Behind the permissions of the member that completed the group, after which few still wait.
        core.inbox.put(GroupPlaced(tuple(waiting)))


def publish_expected_nodes(core: Core, message: GroupPlaced) -> None:
    """Write the expected nodes of the members that still wait in permit."""
    for uid in message.uids:
        waiting = core.waiting.get(uid)
        if waiting is not None:
            publish_expected_node(core, waiting.ticket, waiting.pending_plugins[0])


def _fail(core: Core, attempt: Attempt, member: MemberOutcome, outcome: GroupOutcome) -> None:
    """Send one member back, with its own reason or that of the group."""
    result = outcome.result
    if result is GroupResult.FAILED:
        own = member.status if member.result is MemberResult.FAILED else None
        handle_failure(core, attempt, own or _group_status(outcome))
    elif member.result is MemberResult.FITS and result is GroupResult.WAITING:
        handle_failure(core, attempt, _WAITING, nominating=NominatingInfo(member.node_name))
    elif member.result is MemberResult.FITS and attempt.pod.uid in outcome.nominations:
        # The group waits for the pods that are evicted for it as a whole.
        nominating = NominatingInfo(outcome.nominations[attempt.pod.uid])
        handle_failure(core, attempt, _group_status(outcome), nominating=nominating)
    elif member.node_name and result is GroupResult.UNSCHEDULABLE:
        handle_failure(
            core, attempt, Status.unschedulable(unschedulable_text(member)), nominating=CLEAR_NOMINATION
        )
    elif member.status is not None:
        handle_failure(core, attempt, member.status, nominating=_own(member, outcome))
    else:
        handle_failure(core, attempt, _UNSCHEDULABLE, member.rejection(), _own(member, outcome))


def unschedulable_text(member: MemberOutcome) -> str:
    """Return why a member waits that fits, while its group cannot run."""
    return ", ".join((UNSCHEDULABLE_TEXT, *([member.waits_for] if member.waits_for else [])))


def _own(member: MemberOutcome, outcome: GroupOutcome) -> NominatingInfo | None:
    node_name = outcome.nominations.get(member.pod.uid)
    if node_name is not None:
        return NominatingInfo(node_name)
    return CLEAR_NOMINATION if member.status is not None else member.nominating


def _group_status(outcome: GroupOutcome) -> Status:
    if outcome.result is GroupResult.FAILED:
        return Status.from_error(outcome.message)
    return Status.unschedulable(outcome.message)
