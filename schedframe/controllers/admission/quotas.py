"""ResourceQuota: which pods and claims a quota of their namespace would refuse.

Offline that is a note and no refusal: what a namespace uses is known only as far as the manifests have it.
Rules: k8s.io/apiserver/pkg/admission/plugin/resourcequota.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field

from ..._base.value import record
from ...api import (
    EXISTS,
    PersistentVolumeClaim,
    Pod,
    Quantity,
    ResourceQuota,
    ScopedResourceSelectorRequirement,
)
from .changes import Change
from .parts import AdmissionPart
from .usage import counts, matches, unnamed, usage_of

Counted = Pod | PersistentVolumeClaim


@record(eq=False)
class Quota:
    """A quota and what is used of it."""

    key: str
    hard: Mapping[str, Quantity]
    scopes: tuple[ScopedResourceSelectorRequirement, ...]
    used: dict[str, Quantity]
    counts_itself: bool
    """Whether ``used`` is from a cluster, and has its objects in it."""

    @classmethod
    def of(cls, quota: ResourceQuota) -> Quota:
        """Return the quota of an object."""
        spec, status = quota.spec, quota.status
        selector = spec.scope_selector
        scopes = (
            *(ScopedResourceSelectorRequirement(scope, EXISTS) for scope in spec.scopes),
            *(selector.match_expressions if selector is not None else ()),
        )
        return cls(quota.key, status.hard or spec.hard, scopes, dict(status.used), bool(status.used))

    def is_about(self, obj: Counted) -> bool:
        """Return whether *obj* counts."""
        about = any(counts(name, obj.KIND) for name in self.hard)
        return about and all(matches(obj, scope) for scope in self.scopes)

    def refusal(self, obj: Counted) -> tuple[str, str]:
        """Return why *obj* would be refused, without and with its numbers; empty texts if it is not."""
        if isinstance(obj, Pod) and (without := unnamed(obj, self.hard)):
            text = f"containers must name {'; '.join(without)}"
            return "containers without amounts that it limits", text
        exceeded = []
        for name, amount in usage_of(obj).items():
            used = self.used.get(name, Quantity())
            if name in self.hard and amount and used + amount > self.hard[name]:
                exceeded.append((name, f"{name} used {used} + {amount} > {self.hard[name]}"))
        names = ", ".join(name for name, _ in exceeded)
        return (f"{names} used up", "; ".join(text for _, text in exceeded)) if exceeded else ("", "")

    def charge(self, obj: Counted) -> None:
        """Count *obj* as used."""
        for name, amount in usage_of(obj).items():
            if name in self.hard:
                self.used[name] = self.used.get(name, Quantity()) + amount


@record(eq=False)
class Quotas:
    """Knows the quotas by namespace, and counts what is admitted."""

    by_namespace: dict[str, list[Quota]] = field(factory=dict)
    _counted: set[tuple[str, str]] = field(factory=set)
    """Kind and key of the objects that were looked at; a second admission does not count."""

    @classmethod
    def of(cls, quotas: Iterable[ResourceQuota], present: Iterable[Any] = ()) -> Quotas:
        """Return the quotas, with those of *present* counted that a cluster has accepted before."""
        by_namespace: dict[str, list[Quota]] = defaultdict(list)
        for each in sorted(quotas, key=lambda each: each.key):
            by_namespace[each.namespace].append(Quota.of(each))
        made = cls(dict(by_namespace))
        for obj in present if by_namespace else ():
            made._count_present(obj)
        return made

    def _count_present(self, obj: Any) -> None:
        if not isinstance(obj, Pod | PersistentVolumeClaim):
            return
        for quota in self.by_namespace.get(obj.namespace, ()):
            if not quota.counts_itself and quota.is_about(obj):
                quota.charge(obj)

    def notes(self, obj: Counted, changes: list[Change]) -> list[str]:
        """Return a text for each quota that would refuse *obj*; if none would, *obj* counts as used."""
        quotas = [each for each in self.by_namespace.get(obj.namespace, ()) if each.is_about(obj)]
        if not quotas or self._was_counted(obj):
            return []
        found = [(quota.key, *quota.refusal(obj)) for quota in quotas]
        refused = [(key, brief, text) for key, brief, text in found if text]
        for key, brief, _ in refused:
            did = f"would be refused by ResourceQuota {key}: {brief}"
            changes.append(Change(AdmissionPart.RESOURCE_QUOTA, did, obj.KIND))
        if not refused:
            for quota in quotas:
                quota.charge(obj)
        return [f"would be refused by ResourceQuota {key}: {text}" for key, _, text in refused]

    def _was_counted(self, obj: Counted) -> bool:
        if not obj.name:
            return False
        entry = (obj.KIND, obj.key)
        was_counted = entry in self._counted
        self._counted.add(entry)
        return was_counted
