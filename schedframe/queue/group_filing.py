"""Members of pod groups that wait, filed so that an event costs nothing for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..api import group_of
from .events import ClusterEvent, HintReads
from .hints import HintPlan, HintTable
from .queued_pod import QueuedPodInfo

_Gate = tuple[str, str]
"""Profile and gating plugin."""

_Rejectors = tuple[str, frozenset[str], frozenset[str]]
"""Profile, unschedulable and pending plugins."""


class HeldMembers:
    """Members that are held in backoff, by rejectors and group: an event skips most of them at once."""

    __slots__ = ("_by_rejectors", "_filed")

    def __init__(self) -> None:
        self._by_rejectors: dict[_Rejectors, dict[str, dict[str, QueuedPodInfo]]] = {}
        self._filed: dict[str, tuple[_Rejectors, str]] = {}

    def add(self, info: QueuedPodInfo) -> None:
        """File *info*, in place of an older version of it. O(1)."""
        self.remove(info)
        rejectors, key = _rejectors(info), group_of(info.pod)
        self._by_rejectors.setdefault(rejectors, {}).setdefault(key, {})[info.key] = info
        self._filed[info.key] = rejectors, key

    def remove(self, info: QueuedPodInfo) -> None:
        """Take *info* out if it is here. O(1)."""
        filed = self._filed.pop(info.key, None)
        if filed is None:
            return
        rejectors, key = filed
        groups = self._by_rejectors[rejectors]
        del groups[key][info.key]
        if not groups[key]:
            del groups[key]
        if not groups:
            del self._by_rejectors[rejectors]

    def hopeful(self, hints: HintTable, event: ClusterEvent, old: Any, new: Any) -> list[str]:
        """Return the groups with a member that *event* may help.

        O(sets of rejectors), and the hints for groups whose rejectors registered the event.
        """
        found: dict[str, None] = {}
        for (profile, unschedulable, pending), groups in self._by_rejectors.items():
            plan = hints.plan_for(event, profile, unschedulable, pending)
            if plan:
                found |= dict.fromkeys(_accepting(hints, plan, groups, old, new))
        return list(found)

    def __len__(self) -> int:
        return len(self._filed)


def _accepting(
    hints: HintTable, plan: HintPlan, groups: dict[str, dict[str, QueuedPodInfo]], old: Any, new: Any
) -> Iterator[str]:
    """Yield the groups for which a hint answers QUEUE; it runs once for pods that it cannot tell apart."""
    answers: dict[int, bool] = {}
    for key, members in groups.items():
        for info in members.values():
            alike = 0 if plan.reads is HintReads.EVENT else id(info.pod.spec)
            if plan.reads is HintReads.POD or (answer := answers.get(alike)) is None:
                answer = answers[alike] = bool(hints.run(plan, info.pod, old, new))
            if answer:
                yield key
                break


def _rejectors(info: QueuedPodInfo) -> _Rejectors:
    return info.profile, info.unschedulable_plugins, info.pending_plugins


class GatedMembers:
    """Members that gates hold back which read nothing of a pod but its group, by group and gate."""

    __slots__ = ("_by_group", "_filed", "alone")

    def __init__(self) -> None:
        self._by_group: dict[str, dict[_Gate, dict[str, QueuedPodInfo]]] = {}
        self._filed: dict[str, tuple[str, _Gate]] = {}
        self.alone: dict[str, QueuedPodInfo] = {}
        """Pods without a group that such a gate holds back, by key."""

    def add(self, info: QueuedPodInfo) -> None:
        """File *info*, in place of an older version of it. O(1)."""
        self.remove(info)
        key, gate = group_of(info.pod), (info.profile, info.gating_plugin)
        if not key:
            self.alone[info.key] = info
            return
        self._by_group.setdefault(key, {}).setdefault(gate, {})[info.key] = info
        self._filed[info.key] = key, gate

    def remove(self, info: QueuedPodInfo) -> None:
        """Take *info* out if it is here. O(1)."""
        filed = self._filed.pop(info.key, None)
        if filed is None:
            self.alone.pop(info.key, None)
            return
        key, gate = filed
        gates = self._by_group[key]
        del gates[gate][info.key]
        if not gates[gate]:
            del gates[gate]
        if not gates:
            del self._by_group[key]

    def gates_of(self, key: str) -> list[_Gate]:
        """Return the gates that hold back members of a group. O(gates)."""
        return list(self._by_group.get(key, ()))

    def held_by(self, key: str, gate: _Gate) -> Iterator[QueuedPodInfo]:
        """Yield the members of a group that one gate holds back, as long as it does; some may leave."""
        members = self._by_group.get(key, {}).get(gate)
        while members:
            yield next(iter(members.values()))

    def __contains__(self, key: object) -> bool:
        return key in self._by_group

    def __bool__(self) -> bool:
        return bool(self._by_group)

    def keys(self) -> set[str]:
        """Return the keys of all pods here. O(n)."""
        return {*self._filed, *self.alone}
