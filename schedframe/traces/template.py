"""Templates: what many pods or nodes of a trace have in common, kept once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve, field

from .._base.checked import unchecked
from .._base.value import value
from ..api import (
    Affinity,
    Container,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSchedulingGroup,
    PodSpec,
    Quantity,
    ResourceRequirements,
)
from ..api.resources import CPU

EMPTY: Final[Mapping[str, Any]] = {}
HOSTNAME: Final = "kubernetes.io/hostname"
PODS_ON_A_NODE: Final = 110
"""Pods that a node takes if the trace does not say it; the default of the kubelet."""
_meta: Final = unchecked(ObjectMeta)


@value
class PodTemplate:
    """Parts that pods of a trace have in common.

    ``requests`` are milli-CPU for ``cpu``, bytes for ``memory``, and units of all other resources.
    ``only_on`` is label of a node → the values that it may have. ``pod`` is a pod of a manifest: everything
    that the other fields do not have is taken from it.
    """

    requests: Mapping[str, int] = EMPTY
    priority: int = 0
    namespace: str = "default"
    labels: Mapping[str, str] = EMPTY
    only_on: Mapping[str, tuple[str, ...]] = EMPTY
    pod: Pod | None = None
    _spec: list[PodSpec] = field(factory=list, init=False, eq=False, repr=False)

    def spec(self) -> PodSpec:
        """Return the spec of the pods. All pods of the template share it, so it is decided once for them."""
        if not self._spec:
            self._spec.append(_spec_of(self))
        return self._spec[0]

    def build(self, name: str, uid: str, group: str = "") -> Pod:
        """Return a pod of the template, in the group of that name if it is not empty."""
        labels = self.labels if self.pod is None else {**self.pod.labels, **self.labels}
        meta = _meta(name=name, namespace=self.namespace, uid=uid, labels=labels)
        spec = self.spec()
        if group:
            spec = evolve(spec, scheduling_group=PodSchedulingGroup(pod_group_name=group))
        return Pod(meta, spec)

    def scaled(self, factors: Mapping[str, float]) -> PodTemplate:
        """Return the template with multiplied requests, rounded; containers of a manifest alike."""
        requests = {name: round(n * factors.get(name, 1)) for name, n in self.requests.items()}
        pod = self.pod
        if pod is not None:
            containers = tuple(_scaled(each, factors) for each in pod.spec.containers)
            pod = evolve(pod, spec=evolve(pod.spec, containers=containers))
        return evolve(self, requests=requests, pod=pod)


@value
class NodeTemplate:
    """Parts that nodes of a trace have in common.

    ``allocatable`` has the units of :class:`PodTemplate`; ``price`` is that of an hour; ``node`` is a node
    of a manifest, from which everything else is taken.
    """

    allocatable: Mapping[str, int] = EMPTY
    labels: Mapping[str, str] = EMPTY
    price: float = 0.0
    node: Node | None = None

    def build(self, name: str) -> Node:
        """Return a node of the template."""
        amounts = {
            each: quantity(each, n) for each, n in {"pods": PODS_ON_A_NODE, **self.allocatable}.items()
        }
        labels = {HOSTNAME: name, **self.labels}
        if self.node is None:
            return Node(
                ObjectMeta(name=name, labels=labels), status=NodeStatus(capacity=amounts, allocatable=amounts)
            )
        meta = evolve(self.node.metadata, name=name, labels={**self.node.metadata.labels, **labels})
        return evolve(self.node, metadata=meta, status=evolve(self.node.status, allocatable=amounts))


def quantity(resource: str, amount: int) -> Quantity:
    """Return *amount* in the units of templates as a quantity."""
    return Quantity.of_milli(amount) if resource == CPU else Quantity.of(amount)


def _spec_of(template: PodTemplate) -> PodSpec:
    priority = template.priority or None
    if template.pod is not None:
        given = template.pod.spec
        return evolve(given, priority=given.priority if priority is None else priority, node_name="")
    requests = {name: quantity(name, n) for name, n in template.requests.items() if n}
    container = Container(name="main", resources=ResourceRequirements(requests=requests))
    affinity = None
    if template.only_on:
        wanted = tuple(NodeSelectorRequirement(k, "In", v) for k, v in template.only_on.items())
        affinity = Affinity(NodeAffinity(required=NodeSelector((NodeSelectorTerm(wanted),))))
    return PodSpec(containers=(container,), affinity=affinity, priority=priority)


def _scaled(container: Container, factors: Mapping[str, float]) -> Container:
    requests = {
        name: Quantity(round(q.nano * factors.get(name, 1)), q.format)
        for name, q in container.resources.requests.items()
    }
    return evolve(container, resources=evolve(container.resources, requests=requests))
