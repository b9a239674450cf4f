"""What the API server fills in when a manifest is created, as far as scheduling can tell.

Manifests from a cluster have all of it already and come out unchanged; those that people write often do not.
Rules: ``SetDefaults_Pod`` (pkg/apis/core/v1/defaults.go) and the admission plugin Priority of Kubernetes
v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final, TypeVar

from attrs import define, evolve, field

from ..api import (
    LABEL_NAMESPACE_NAME,
    Container,
    Namespace,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodSpec,
    PriorityClass,
    with_default_requests,
)
from ..errors import InputError

SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Priority classes that every cluster has."""

_Spec = TypeVar("_Spec", PodSpec, PodGroupSpec)


@define(eq=False)
class Admission:
    """Fills in defaults, knowing the priority classes of the cluster."""

    READS: ClassVar[tuple[str, ...]] = (PriorityClass.KIND,)
    """Kinds that decide."""
    classes: dict[str, PriorityClass] = field(factory=dict)

    @classmethod
    def of(cls, objects: Iterable[Any]) -> Admission:
        """Return an admission that knows the priority classes among *objects*."""
        return cls({obj.name: obj for obj in objects if isinstance(obj, PriorityClass)})

    def admit(self, obj: Any) -> Any:
        """*obj* as the API server would store it; itself where nothing is missing.

        Raises :class:`InputError` for a pod or group of a priority class that is not there.
        """
        if isinstance(obj, PodGroup):
            group_spec = self._with_priority(obj.spec)
            if not obj.api_version:  # no policy in v1alpha2
                group_spec = evolve(group_spec, preemption_policy=obj.spec.preemption_policy)
            return obj if group_spec == obj.spec else evolve(obj, spec=group_spec)
        if isinstance(obj, Pod):
            pod = on_host_network(with_default_requests(obj))
            spec = self._with_priority(pod.spec)
            return pod if spec is pod.spec else evolve(pod, spec=spec)
        if isinstance(obj, Namespace) and obj.name and LABEL_NAMESPACE_NAME not in obj.labels:
            labels = {**obj.labels, LABEL_NAMESPACE_NAME: obj.name}
            return evolve(obj, metadata=evolve(obj.metadata, labels=labels))
        return obj

    def _with_priority(self, spec: _Spec) -> _Spec:
        if spec.priority is not None:
            return spec
        name = spec.priority_class_name
        if not name:
            return self._with_default_class(spec)
        found = self.classes.get(name)
        if found is not None:
            policy = spec.preemption_policy or found.preemption_policy
            return evolve(spec, priority=found.value, preemption_policy=policy)
        if name in SYSTEM_PRIORITIES:
            return evolve(spec, priority=SYSTEM_PRIORITIES[name])
        raise InputError(
            "spec.priorityClassName",
            f"there is no PriorityClass {name}",
            "add its manifest, or write the number as spec.priority",
        )

    def _with_default_class(self, spec: _Spec) -> _Spec:
        """Of several classes that claim to be the default, the one of lowest value counts."""
        defaults = [found for found in self.classes.values() if found.global_default]
        if not defaults:
            return spec
        default = min(defaults, key=lambda found: found.value)
        return evolve(
            spec,
            priority=default.value,
            priority_class_name=default.name,
            preemption_policy=spec.preemption_policy or default.preemption_policy,
        )


def on_host_network(pod: Pod) -> Pod:
    """*pod* with the host ports that follow from its being on the host's network; itself if none do."""
    spec = pod.spec
    if not spec.host_network:
        return pod
    containers = tuple(map(_with_host_ports, spec.containers))
    init_containers = tuple(map(_with_host_ports, spec.init_containers))
    if containers == spec.containers and init_containers == spec.init_containers:
        return pod
    return evolve(pod, spec=evolve(spec, containers=containers, init_containers=init_containers))


def _with_host_ports(container: Container) -> Container:
    if all(port.host_port for port in container.ports):
        return container
    ports = (evolve(port, host_port=port.host_port or port.container_port) for port in container.ports)
    return evolve(container, ports=tuple(ports))
