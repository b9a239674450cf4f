"""RuntimeClass: overhead, node selector and tolerations of the runtime class that a pod names.

Rules: plugin/pkg/admission/runtimeclass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import evolve, field

from ..._base.value import record
from ...api import Pod, PodSpec, RuntimeClass, RuntimeClassOverhead
from .amounts import rounded
from .changes import Change, joined
from .parts import AdmissionPart
from .refusal import AdmissionRefused
from .tolerations import merged

_PART: Final = AdmissionPart.RUNTIME_CLASS


@record(eq=False)
class RuntimeClasses:
    """Knows the runtime classes of a cluster by name."""

    classes: dict[str, RuntimeClass] = field(factory=dict)

    @classmethod
    def of(cls, classes: Iterable[RuntimeClass]) -> RuntimeClasses:
        """Return an admission by these *classes*."""
        return cls({each.name: _stored(each) for each in classes})

    def apply(self, pod: Pod, changes: list[Change]) -> Pod:
        """Return *pod* with what its class says.

        Raises :class:`AdmissionRefused` if the class is unknown, the pod has another overhead, or a node
        selector with another value.
        """
        found = self._class_of(pod)
        if found is None:
            return pod
        spec = _with_scheduling(_with_overhead(pod.spec, found), found)
        if spec == pod.spec:
            return pod
        changes.append(Change(_PART, f"{_given(pod.spec, spec)} of class {found.name}"))
        return evolve(pod, spec=spec)

    def check(self, pod: Pod) -> None:
        """Raise :class:`AdmissionRefused` if the overhead of *pod* is not that of its class."""
        found = self._class_of(pod)
        if found is not None and found.overhead is not None:
            if dict(pod.spec.overhead) != dict(found.overhead.pod_fixed):
                raise _other_overhead(found)
        elif pod.spec.overhead:
            problem = "RuntimeClass refuses it: the pod has no runtime class with an overhead"
            raise AdmissionRefused(_PART, "spec.overhead", problem, "leave it out: it comes from the class")

    def _class_of(self, pod: Pod) -> RuntimeClass | None:
        name = pod.spec.runtime_class_name
        if name is None:
            return None
        found = self.classes.get(name)
        if found is None:
            problem = f"RuntimeClass refuses it: there is no RuntimeClass {name}"
            fix = "add its manifest, or name another class"
            raise AdmissionRefused(_PART, "spec.runtimeClassName", problem, fix)
        return found


def _stored(found: RuntimeClass) -> RuntimeClass:
    if found.overhead is None:
        return found
    return evolve(found, overhead=RuntimeClassOverhead(rounded(found.overhead.pod_fixed)))


def _with_overhead(spec: PodSpec, found: RuntimeClass) -> PodSpec:
    if found.overhead is None:
        return spec
    if spec.overhead and dict(spec.overhead) != dict(found.overhead.pod_fixed):
        raise _other_overhead(found)
    return evolve(spec, overhead=found.overhead.pod_fixed)


def _other_overhead(found: RuntimeClass) -> AdmissionRefused:
    problem = f"RuntimeClass refuses it: class {found.name} has another overhead"
    return AdmissionRefused(_PART, "spec.overhead", problem, "leave it out: it comes from the class")


def _with_scheduling(spec: PodSpec, found: RuntimeClass) -> PodSpec:
    scheduling = found.scheduling
    if scheduling is None:
        return spec
    for key, value in scheduling.node_selector.items():
        own = spec.node_selector.get(key, value)
        if own != value:
            problem = f"RuntimeClass refuses {own}: class {found.name} selects nodes with {value}"
            path, fix = f"spec.nodeSelector[{key}]", f"write {value}, or leave it out"
            raise AdmissionRefused(_PART, path, problem, fix)
    selector = {**spec.node_selector, **scheduling.node_selector}
    return evolve(spec, node_selector=selector, tolerations=merged(spec.tolerations, scheduling.tolerations))


def _given(before: PodSpec, after: PodSpec) -> str:
    words = {"overhead": "overhead", "node_selector": "node selector", "tolerations": "tolerations"}
    return joined(word for name, word in words.items() if getattr(before, name) != getattr(after, name))
