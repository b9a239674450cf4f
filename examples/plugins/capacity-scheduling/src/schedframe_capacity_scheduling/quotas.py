"""Quotas: limits of namespaces, their usage, and the usage in a dry run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import define, field, frozen

from schedframe import Handle, Pod
from schedframe.api import whole_amounts
from schedframe.state import RowChangeReader

from .kinds import ElasticQuota

Amounts = dict[str, int]
"""Milli-CPU, bytes and whole units by resource, as ``Pod.requests``."""

OVER_MAX: Final = "more than the quota's max"
OVER_ALL: Final = "more than is guaranteed to all quotas together"


def add(total: Amounts, amounts: Mapping[str, int], sign: int = 1) -> None:
    """Add *sign* × *amounts* to *total*; resources that become 0 are removed."""
    for name, amount in amounts.items():
        sum_ = total.get(name, 0) + sign * amount
        if sum_:
            total[name] = sum_
        else:
            total.pop(name, None)


@frozen
class Limits:
    """A quota in whole numbers; resources that it does not name are not limited."""

    min: Mapping[str, int]
    max: Mapping[str, int]

    @classmethod
    def of(cls, quota: ElasticQuota) -> Limits:
        """Return the limits of *quota*."""
        return cls(whole_amounts(quota.spec.min), whole_amounts(quota.spec.max))

    def over_max(self, used: Mapping[str, int], more: Mapping[str, int]) -> bool:
        """Return whether *used* plus *more* exceeds ``max`` in a resource of *more*."""
        return any(
            used.get(name, 0) + more.get(name, 0) > limit
            for name, limit in self.max.items()
            if more.get(name)
        )

    def over_min(self, used: Mapping[str, int], more: Mapping[str, int] | None = None) -> bool:
        """Return whether *used* plus *more* exceeds ``min`` in any resource that the quota names.

        ``min`` of a resource that only ``max`` names is 0.
        """
        more = more or {}
        return any(
            used.get(name, 0) + more.get(name, 0) > self.min.get(name, 0) for name in (*self.min, *self.max)
        )


@define(eq=False)
class Quotas:
    """All quotas and their usage in one scheduling cycle; dry runs change a clone."""

    limits: dict[str, Limits]
    """By namespace; shared by clones."""
    used: dict[str, Amounts]
    """By namespace, of namespaces with a quota."""
    namespace: str
    """Namespace of the incoming pod."""
    request: Mapping[str, int]
    nominated: frozenset[str] = frozenset()
    """Uids of nominated pods that ``used`` includes."""
    guaranteed: Amounts = field(factory=dict)
    """Sum of all ``min``; shared by clones."""

    def clone(self) -> Quotas:
        """Return an independent copy."""
        used = {namespace: dict(amounts) for namespace, amounts in self.used.items()}
        return Quotas(self.limits, used, self.namespace, self.request, self.nominated, self.guaranteed)

    def change(self, pod: Pod, sign: int) -> None:
        """Add (*sign* 1) or remove (-1) the requests of *pod*."""
        if pod.uid not in self.nominated and pod.namespace in self.used:
            add(self.used[pod.namespace], pod.requests, sign)

    def rejection(self) -> str | None:
        """Return why quotas reject the pod; ``None`` if they do not. O(quotas × resources)."""
        own = self.limits.get(self.namespace)
        if own is None:
            return None
        if own.over_max(self.used[self.namespace], self.request):
            return OVER_MAX
        for name, guaranteed in self.guaranteed.items():
            amount = self.request.get(name, 0)
            if amount and sum(used.get(name, 0) for used in self.used.values()) + amount > guaranteed:
                return OVER_ALL
        return None

    @property
    def exceeds_min(self) -> bool:
        """Return whether the pod would take its namespace above ``min``."""
        own = self.limits.get(self.namespace)
        return own is None or own.over_min(self.used[self.namespace], self.request)

    def borrowed(self, pods: Iterable[Pod]) -> list[Pod]:
        """Return those of *pods*, in order, whose (other) namespaces exceed ``min``.

        Each one counts as evicted for those after it, so no namespace falls below ``min`` by more than a pod.
        """
        remaining = {namespace: dict(amounts) for namespace, amounts in self.used.items()}
        borrowers: list[Pod] = []
        for pod in pods:
            limits = self.limits.get(pod.namespace)
            if limits is None or pod.namespace == self.namespace:
                continue
            if limits.over_min(remaining[pod.namespace]):
                add(remaining[pod.namespace], pod.requests, -1)
                borrowers.append(pod)
        return borrowers


@define(eq=False)
class Usage:
    """Requests of the pods on nodes by namespace, assumed pods included."""

    handle: Handle
    by_namespace: dict[str, Amounts] = field(factory=dict, init=False)
    _by_row: dict[int, dict[str, Amounts]] = field(factory=dict, init=False)
    _follower: RowChangeReader | None = field(default=None, init=False)

    def sync(self) -> dict[str, Amounts]:
        """Apply changes of the table and return the usage, read-only; O(pods of the rows that changed)."""
        table = self.handle.table
        if self._follower is None:
            self._follower = RowChangeReader(table)
        for row in self._follower.changed():
            for namespace, amounts in self._by_row.pop(row, {}).items():
                add(self.by_namespace[namespace], amounts, -1)
            current: dict[str, Amounts] = {}
            for pod in table.pods_at(row).values():
                add(current.setdefault(pod.namespace, {}), pod.requests)
            for namespace, amounts in current.items():
                add(self.by_namespace.setdefault(namespace, {}), amounts)
            if current:
                self._by_row[row] = current
        return self.by_namespace
