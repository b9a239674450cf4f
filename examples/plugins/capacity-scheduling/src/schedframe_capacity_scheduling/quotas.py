"""What namespaces may use, what they use, and what would be if some pods came or went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import define, field, frozen

from schedframe import Handle, Pod, RowFollower
from schedframe.api import whole_amounts

from .kinds import ElasticQuota

Amounts = dict[str, int]
"""Milli-CPU, bytes and whole units by resource, as ``Pod.requests``."""

OVER_MAX: Final = "more than the quota's max"
OVER_ALL: Final = "more than is guaranteed to all quotas together"


def add(total: Amounts, amounts: Mapping[str, int], sign: int = 1) -> None:
    """Change *total*; what becomes 0 is left out."""
    for name, amount in amounts.items():
        left = total.get(name, 0) + sign * amount
        if left:
            total[name] = left
        else:
            total.pop(name, None)


@frozen
class Limits:
    """A quota in whole numbers. Resources that it does not name are not its business."""

    min: Mapping[str, int]
    max: Mapping[str, int]

    @classmethod
    def of(cls, quota: ElasticQuota) -> Limits:
        """The limits of an object."""
        return cls(whole_amounts(quota.spec.min), whole_amounts(quota.spec.max))

    def over_max(self, used: Mapping[str, int], more: Mapping[str, int]) -> bool:
        """Whether *used* and *more* are above the max in a resource that *more* asks for."""
        return any(
            used.get(name, 0) + more.get(name, 0) > most for name, most in self.max.items() if more.get(name)
        )

    def over_min(self, used: Mapping[str, int], more: Mapping[str, int] | None = None) -> bool:
        """Whether *used* (and *more*) is above what is guaranteed, in any resource that the quota names.

        Of a resource that only ``max`` names nothing is guaranteed.
        """
        more = more or {}
        return any(
            used.get(name, 0) + more.get(name, 0) > self.min.get(name, 0) for name in (*self.min, *self.max)
        )


@define(eq=False)
class Quotas:
    """All quotas with what is used of them, in one cycle; a clone of it may be changed in a dry run."""

    limits: dict[str, Limits]
    """By namespace; shared by clones."""
    used: dict[str, Amounts]
    """By namespace, of namespaces with a quota."""
    namespace: str
    """Of the pod that is being scheduled."""
    request: Mapping[str, int]
    expected: frozenset[str] = frozenset()
    """Uids of nominated pods that ``used`` counts already."""
    guaranteed: Amounts = field(factory=dict)
    """Sum of all ``min``; shared by clones."""

    def clone(self) -> Quotas:
        """An independent copy."""
        used = {namespace: dict(amounts) for namespace, amounts in self.used.items()}
        return Quotas(self.limits, used, self.namespace, self.request, self.expected, self.guaranteed)

    def change(self, pod: Pod, sign: int) -> None:
        """Count *pod* (1), or no longer (-1)."""
        if pod.uid not in self.expected and pod.namespace in self.used:
            add(self.used[pod.namespace], pod.requests, sign)

    def refusal(self) -> str | None:
        """Why the pod may not run now, as far as quotas go; O(quotas × resources)."""
        mine = self.limits.get(self.namespace)
        if mine is None:
            return None
        if mine.over_max(self.used[self.namespace], self.request):
            return OVER_MAX
        for name, guaranteed in self.guaranteed.items():
            asked = self.request.get(name, 0)
            if asked and sum(used.get(name, 0) for used in self.used.values()) + asked > guaranteed:
                return OVER_ALL
        return None

    @property
    def exceeds_min(self) -> bool:
        """Whether the pod would take its namespace above what is guaranteed to it."""
        mine = self.limits.get(self.namespace)
        return mine is None or mine.over_min(self.used[self.namespace], self.request)

    def borrowed(self, pods: Iterable[Pod]) -> list[Pod]:
        """Those of *pods*, in their order, that use what is not guaranteed to their (other) namespaces.

        Each is taken as gone before the next is looked at: nobody is driven further than below his min by one
        pod.
        """
        left = {namespace: dict(amounts) for namespace, amounts in self.used.items()}
        found: list[Pod] = []
        for pod in pods:
            limits = self.limits.get(pod.namespace)
            if limits is None or pod.namespace == self.namespace:
                continue
            if limits.over_min(left[pod.namespace]):
                add(left[pod.namespace], pod.requests, -1)
                found.append(pod)
        return found


@define(eq=False)
class Usage:
    """What the pods on nodes request, by namespace, those included that are on their way there."""

    handle: Handle
    by_namespace: dict[str, Amounts] = field(factory=dict, init=False)
    _by_row: dict[int, dict[str, Amounts]] = field(factory=dict, init=False)
    _follower: RowFollower | None = field(default=None, init=False)

    def sync(self) -> dict[str, Amounts]:
        """Catch up with the table; O(pods of the rows that changed). Not to be changed."""
        table = self.handle.table
        if self._follower is None:
            self._follower = RowFollower(table)
        for row in self._follower.changed():
            for namespace, amounts in self._by_row.pop(row, {}).items():
                add(self.by_namespace[namespace], amounts, -1)
            now: dict[str, Amounts] = {}
            for pod in table.pods_at(row).values():
                add(now.setdefault(pod.namespace, {}), pod.requests)
            for namespace, amounts in now.items():
                add(self.by_namespace.setdefault(namespace, {}), amounts)
            if now:
                self._by_row[row] = now
        return self.by_namespace
