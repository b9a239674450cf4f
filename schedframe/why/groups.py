"""Explanation of why a group of pods waits: its members, its quorum, the best domain and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .._base.value import record
from .._base.visible import visible
from ..api import Pod
from ..cycle import Scheduler
from ..cycle.core import Core
from ..cycle.pod_groups.cycle import GroupCycle
from ..cycle.pod_groups.listed_terms import ListedTerms
from ..cycle.pod_groups.outcome import GroupOutcome, GroupResult
from ..cycle.pod_groups.preemption import room_for_group
from ..cycle.pod_groups.trial import Trial
from ..errors import InputError
from ..fork.dry_run import dry_run
from ..framework import Framework, GroupPlacement, PodGroupInfo
from ..queue import QueuedPodInfo

_SHOWN: Final = 5
"""Members and domains in a text; the fields have all."""


@record(frozen=True)
class DomainReport:
    """One placement of a group: a topology domain, or all nodes under the empty name."""

    name: str
    nodes: int
    fitting: tuple[str, ...]
    """Keys of the waiting members that would find a node, one after another."""


@record(frozen=True)
class GroupExplanation:
    """Waits of a group, as of now."""

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
    """Member → why no node can take it, in the best domain."""
    message: str
    """The condition that an attempt would give the group; empty if it can run."""
    victims: tuple[str, ...] = ()
    """Keys of the pods that would be evicted for the group as a whole."""

    @property
    def can_run(self) -> bool:
        """Return whether an attempt would place the group now, or after a preemption."""
        return len(self.waiting) > len(self.gated) and not self.message

    @property
    def missing_members(self) -> int:
        """Number of pods that must be created before the group is attempted at all."""
        return max(0, self.min_count - len(self.scheduled) - len(self.waiting))

    @property
    def change(self) -> str:
        """The smallest change that would let the group run, as one line; empty if it needs none."""
        if not self.exists and self.gated:
            return f"create the PodGroup {self.key}"
        if self.missing_members:
            return f"create {self.missing_members} more {_pods(self.missing_members)} of the group"
        if self.can_run or not self.waiting:
            return ""
        in_queue = len(self.waiting) - len(self.gated)
        if not in_queue or self.min_count > len(self.scheduled) + in_queue:
            return f"remove what keeps {', '.join(self.gated)} out of the queue"
        if not self.domains:
            return ""
        best = self.domains[0]
        short = max(1, self.min_count - len(self.scheduled) - len(best.fitting))
        where = f" in {best.name}" if best.name else ""
        return f"make room for {short} more {_pods(short)}{where}"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in plain types."""
        return {
            "key": self.key,
            "exists": self.exists,
            "min_count": self.min_count,
            "missing_members": self.missing_members,
            "scheduled": list(self.scheduled),
            "waiting": list(self.waiting),
            "gated": dict(self.gated),
            "domains": [
                {"name": each.name, "nodes": each.nodes, "fitting": list(each.fitting)}
                for each in self.domains
            ],
            "reasons": dict(self.reasons),
            "message": self.message,
            "victims": list(self.victims),
            "can_run": self.can_run,
            "change": self.change,
        }

    def lines(self) -> list[str]:
        """Return all of it as lines for people; five members and five domains at most."""
        have = f"{len(self.scheduled)} of {len(self.scheduled) + len(self.waiting)} members have a node"
        lines = [f"{self.key}: {have}, {self.min_count or 'no'} at least"]
        lines += _first([f"{key} is kept out: {why}" for key, why in self.gated.items()])
        tried = len(self.waiting) - len(self.gated)
        lines += _first(
            [f"{each.name or 'all nodes'}: {len(each.fitting)} of {tried} fit" for each in self.domains]
        )
        lines += _first([f"{key}: {why}" for key, why in self.reasons.items()])
        if self.victims:
            lines.append(f"to make room, {', '.join(self.victims)} would be evicted")
        return [*lines, f"to run it, {self.change}"] if self.change else lines

    def __str__(self) -> str:
        return "\n  ".join(map(visible, self.lines()))


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
    admitted = tuple([pod for pod in waiting if pod.key not in gated])
    attempt = _attempt(core, cycle, PodGroupInfo(key, group, admitted, scheduled)) if admitted else None
    return GroupExplanation(
        key=key,
        exists=group is not None,
        min_count=0 if group is None else group.spec.min_count,
        scheduled=tuple([pod.key for pod in scheduled]),
        waiting=tuple([pod.key for pod in waiting]),
        gated=gated,
        domains=() if attempt is None else attempt.domains,
        reasons={} if attempt is None else attempt.reasons,
        message="" if attempt is None else attempt.message,
        victims=() if attempt is None else attempt.victims,
    )


def _gated(core: Core, pods: Sequence[Pod]) -> dict[str, str]:
    """Return pod → why it is gated, of those that are."""
    messages = {}
    with dry_run(core):
        for pod in pods:
            framework = core.frameworks.get(pod.spec.scheduler_name)
            status = None if framework is None else framework.run_pre_enqueue(pod)
            if status is not None:
                messages[pod.key] = status.message
    return messages


@record(frozen=True)
class _Attempt:
    """Result of an attempt."""

    domains: tuple[DomainReport, ...]
    reasons: Mapping[str, str]
    message: str
    victims: tuple[str, ...]


def _attempt(core: Core, cycle: GroupCycle, group: PodGroupInfo) -> _Attempt:
    """Return what an attempt would give; the generator of the scheduler is left as it was."""
    ordered = sorted(group.pods, key=lambda pod: -pod.priority)
    infos = [QueuedPodInfo(pod, core.clock()) for pod in ordered]
    state = core.search.rng.getstate()
    try:
        with dry_run(core):
            framework = core.frameworks[ordered[0].spec.scheduler_name]
            return _tried(cycle, framework, group, infos)
    finally:
        core.search.rng.setstate(state)


def _tried(
    cycle: GroupCycle, framework: Framework, group: PodGroupInfo, infos: Sequence[QueuedPodInfo]
) -> _Attempt:
    core = cycle.core
    terms = ListedTerms(core.cache.table)
    outcome = cycle.algorithm(framework, group, infos, terms)
    domains = _domains(outcome)
    room = None
    if outcome.result is GroupResult.UNSCHEDULABLE and cycle.preempts_groups:
        again = cycle.repeat(framework, group, infos, terms)
        room = room_for_group(core, framework, group, outcome, again)
    can_run = outcome.is_feasible or room is not None
    reasons: Mapping[str, str] = {}
    if not can_run:
        best = next((each for each in outcome.placements if domains and each.name == domains[0].name), None)
        in_best = outcome if best in (None, outcome.placement) else _in(core, framework, group, infos, best)
        reasons = _reasons(in_best)
    victims = () if room is None else tuple([pod.key for pod in room.victims])
    return _Attempt(domains, reasons, "" if can_run else outcome.message, victims)


def _in(
    core: Core,
    framework: Framework,
    group: PodGroupInfo,
    infos: Sequence[QueuedPodInfo],
    placement: GroupPlacement | None,
) -> GroupOutcome:
    """Return what an attempt in one placement gives."""
    return Trial(core, framework, group, placement, terms=ListedTerms(core.cache.table)).run(infos)


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
    found = {}
    for member in outcome.members:
        rejection = member.rejection()
        if rejection is not None:
            found[member.pod.key] = rejection.message()
        elif member.status is not None:
            found[member.pod.key] = member.status.message
    return found


def _first(lines: Sequence[str]) -> list[str]:
    """Return the first five lines, and how many there are more."""
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], *([f"… and {more} more"] if more > 0 else [])]


def _pods(count: int) -> str:
    return "pod" if count == 1 else "pods"
