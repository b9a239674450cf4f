"""Why a group of pods waits: its members, its quorum, the best domain and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from .._brief import brief_repr
from ..api import Pod
from ..cycle import Scheduler
from ..cycle.core import Core
from ..cycle.pod_groups.cycle import GroupCycle
from ..cycle.pod_groups.outcome import GroupOutcome, GroupResult
from ..errors import InputError
from ..framework import PodGroupInfo
from ..queue import QueuedPodInfo
from ..simulate.dry_run import dry_run


@brief_repr
@frozen
class DomainReport:
    """One placement of a group: a topology domain, or all nodes under the empty name."""

    name: str
    nodes: int
    fitting: tuple[str, ...]
    """Keys of the waiting members that would find a node, one after another."""


@brief_repr
@frozen
class GroupExplanation:
    """What a group waits for, as of now."""

    key: str
    exists: bool
    """Whether there is a PodGroup of that name."""
    min_count: int
    """How many members start together; 0: no minimum."""
    scheduled: tuple[str, ...]
    """Keys of the members that have a node."""
    waiting: tuple[str, ...]
    """Keys of the other members."""
    gated: Mapping[str, str]
    """Member → why a plugin keeps it out of the queue."""
    domains: tuple[DomainReport, ...]
    """The best one first; empty if none was tried."""
    reasons: Mapping[str, str]
    """Member → why no node can take it, in the domain that was tried first."""
    message: str
    """The condition that an attempt would give the group; empty if it can run."""

    @property
    def can_run(self) -> bool:
        """Whether an attempt would place the group now, or after a preemption."""
        return self.exists and bool(self.waiting) and not self.gated and not self.message

    @property
    def missing_members(self) -> int:
        """How many more pods must be created before the group is attempted at all."""
        return max(0, self.min_count - len(self.scheduled) - len(self.waiting))

    @property
    def change(self) -> str:
        """The smallest change that would let the group run, as one line; empty if it needs none."""
        if not self.exists:
            return f"create the PodGroup {self.key}"
        if self.missing_members:
            return f"create {self.missing_members} more {_pods(self.missing_members)} of the group"
        if self.gated:
            return f"remove what keeps {', '.join(self.gated)} out of the queue"
        if not self.message or not self.domains:
            return ""
        best = self.domains[0]
        short = max(1, self.min_count - len(self.scheduled) - len(best.fitting))
        where = f" in {best.name}" if best.name else ""
        return f"make room for {short} more {_pods(short)}{where}"

    def __str__(self) -> str:
        have = f"{len(self.scheduled)} of {len(self.scheduled) + len(self.waiting)} members have a node"
        lines = [f"{self.key}: {have}, {self.min_count or 'no'} at least"]
        lines += [f"  {key} is kept out: {why}" for key, why in self.gated.items()]
        lines += [
            f"  {domain.name or 'all nodes'}: {len(domain.fitting)} of {len(self.waiting)} fit"
            for domain in self.domains[:5]
        ]
        lines += [f"  {key}: {why}" for key, why in self.reasons.items()]
        return "\n".join([*lines, *([f"  to run it, {self.change}"] if self.change else [])])


def explain_group(scheduler: Scheduler, key: str) -> GroupExplanation:
    """Return what the group *key* (``namespace/name``) waits for. Changes nothing; for the core's thread.

    Raises :class:`InputError` if groups are off, or if there is neither such a group nor a member of it.
    O(placements × members) searches.
    """
    core, cycle = scheduler.core, scheduler.groups
    if cycle is None:
        raise InputError("feature_gates", "groups are off", "switch the gate GenericWorkload on")
    scheduler.sync()
    group = core.objects.get("PodGroup", key)
    if group is None and key not in core.members:
        raise InputError("key", f"there is no group {key}", "write its namespace/name")
    waiting, scheduled = tuple(core.members.unscheduled(key)), tuple(core.members.scheduled(key))
    gated = _gated(core, waiting)
    outcome = _outcome(core, cycle, PodGroupInfo(key, group, waiting, scheduled)) if not gated else None
    return GroupExplanation(
        key=key,
        exists=group is not None,
        min_count=0 if group is None else group.spec.min_count,
        scheduled=tuple([pod.key for pod in scheduled]),
        waiting=tuple([pod.key for pod in waiting]),
        gated=gated,
        domains=() if outcome is None else _domains(outcome),
        reasons={} if outcome is None else _reasons(outcome),
        message="" if outcome is None or outcome.is_feasible else outcome.message,
    )


def _gated(core: Core, pods: Sequence[Pod]) -> dict[str, str]:
    found = {}
    for pod in pods:
        framework = core.frameworks.get(pod.spec.scheduler_name)
        status = None if framework is None else framework.run_pre_enqueue(pod)
        if status is not None:
            found[pod.key] = status.message
    return found


def _outcome(core: Core, cycle: GroupCycle, group: PodGroupInfo) -> GroupOutcome | None:
    """Return what an attempt would give; the generator of the scheduler is left as it was."""
    if not group.pods:
        return None
    ordered = sorted(group.pods, key=lambda pod: -pod.priority)
    infos = [QueuedPodInfo(pod, core.clock()) for pod in ordered]
    state = core.search.rng.getstate()
    try:
        with dry_run(core):
            framework = core.frameworks[ordered[0].spec.scheduler_name]
            return cycle.algorithm(framework, group, infos)
    finally:
        core.search.rng.setstate(state)


def _domains(outcome: GroupOutcome) -> tuple[DomainReport, ...]:
    if not outcome.placements:
        fitting = tuple([member.pod.key for member in outcome.members if member.node_name])
        return (DomainReport("", 0, fitting),) if outcome.members else ()
    reports = [
        DomainReport(each.name, len(each.rows), outcome.fitting.get(each.name, ()))
        for each in outcome.placements
    ]
    return tuple(sorted(reports, key=lambda report: (-len(report.fitting), report.name)))


def _reasons(outcome: GroupOutcome) -> dict[str, str]:
    if outcome.result is GroupResult.SCHEDULED:
        return {}
    found = {}
    for member in outcome.members:
        rejection = member.rejection()
        if rejection is not None:
            found[member.pod.key] = rejection.message()
    return found


def _pods(count: int) -> str:
    return "pod" if count == 1 else "pods"
