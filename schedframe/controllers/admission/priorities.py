"""Priority: the number, the class and the preemption policy of pods and pod groups from priority classes.

Rules: plugin/pkg/admission/priority.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from attrs import evolve, field

from ..._base.value import record
from ...api import ObjectMeta, Pod, PodGroup, PriorityClass
from .changes import Change
from .parts import AdmissionPart
from .refusal import AdmissionRefused

SYSTEM_CLASSES: Final = (
    PriorityClass(ObjectMeta("system-cluster-critical"), value=2_000_000_000),
    PriorityClass(ObjectMeta("system-node-critical"), value=2_000_001_000),
)
"""Priority classes that every cluster has."""

PREEMPT: Final = "PreemptLowerPriority"
_PART: Final = AdmissionPart.PRIORITY
_NO_CLASS: Final = PriorityClass(ObjectMeta(""), value=0)
"""Stands for the class of pods without one, in a cluster without a default class."""


@record(eq=False)
class Priorities:
    """Knows the priority classes of a cluster by name."""

    classes: dict[str, PriorityClass] = field(factory=dict)
    keep: bool = False
    """Whether a priority stays that comes from no class that is known."""

    @classmethod
    def of(cls, classes: Iterable[PriorityClass], *, keep: bool = False) -> Priorities:
        """Return priorities by these *classes* and those of every cluster."""
        return cls({each.name: each for each in (*SYSTEM_CLASSES, *classes)}, keep)

    def resolve(self, pod: Pod, changes: list[Change]) -> Pod:
        """Return *pod* with the priority, name and policy of its class, or of the default class.

        Raises :class:`AdmissionRefused` for an unknown class, and for another priority or policy beside it.
        """
        spec = pod.spec
        if self.keep and spec.priority is not None and spec.priority_class_name not in self.classes:
            return pod
        found = self._class_of(spec)
        if spec.priority is not None and spec.priority != found.value:
            raise _conflict("priority", spec.priority, found.value, found)
        policy = found.preemption_policy or PREEMPT
        if spec.preemption_policy is not None and spec.preemption_policy != policy:
            raise _conflict("preemptionPolicy", spec.preemption_policy, policy, found)
        resolved = evolve(
            spec, priority=found.value, priority_class_name=found.name, preemption_policy=policy
        )
        if resolved == spec:
            return pod
        changes.append(_change(found, spec.priority_class_name))
        return evolve(pod, spec=resolved)

    def resolve_group(self, group: PodGroup, changes: list[Change]) -> PodGroup:
        """Return *group* with the priority and name of its class; one with a priority keeps it.

        The policy of the class becomes that of the group where the version of the group has a policy.
        """
        spec = group.spec
        if spec.priority is not None:
            return group
        found = self._class_of(spec)
        if found is _NO_CLASS:
            return group
        policy = spec.preemption_policy
        if group.api_version:  # no policy in v1alpha2
            policy = policy or found.preemption_policy
        resolved = evolve(
            spec, priority=found.value, priority_class_name=found.name, preemption_policy=policy
        )
        changes.append(_change(found, spec.priority_class_name, PodGroup.KIND))
        return evolve(group, spec=resolved)

    def _class_of(self, spec: Any) -> PriorityClass:
        name = spec.priority_class_name
        if not name:
            # of several classes that claim to be the default, that of the lowest value is it
            defaults = (each for each in self.classes.values() if each.global_default)
            return min(defaults, key=lambda each: (each.value, each.name), default=_NO_CLASS)
        found = self.classes.get(name)
        if found is None:
            problem = f"Priority refuses it: there is no PriorityClass {name}"
            fix = "add its manifest, or name another class"
            raise AdmissionRefused(_PART, "spec.priorityClassName", problem, fix)
        return found


def _change(found: PriorityClass, named: str, kind: str = Pod.KIND) -> Change:
    """Return what was done; only a class that was not *named* gets a line."""
    if found is _NO_CLASS:
        return Change(_PART, "0 without a class", kind, is_routine=True)
    return Change(_PART, f"{found.value} of class {found.name}", kind, is_routine=bool(named))


def _conflict(name: str, given: object, wanted: object, found: PriorityClass) -> AdmissionRefused:
    source = f"class {found.name} has" if found.name else "pods without a class have"
    problem = f"Priority refuses {given}: {source} {wanted}"
    fix = "leave it out" if found.name else "name a PriorityClass as spec.priorityClassName instead"
    return AdmissionRefused(_PART, f"spec.{name}", problem, fix)
