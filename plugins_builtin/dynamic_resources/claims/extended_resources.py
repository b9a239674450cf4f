"""Extended resources that a device class backs, and the claim that is created for them.

On a node without the resource the pod gets devices of the class instead, through a claim that exists only in
memory until the pod is bound. The requests of the claim depend on the node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from attrs import define, evolve, field, frozen

from schedframe import Container, NodeInfo, ObjectMeta, ObjectStore, Pod
from schedframe.api import (
    EXACT_COUNT,
    RESTART_ALWAYS,
    ContainerExtendedResourceRequest,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    OwnerReference,
    ResourceClaim,
    ResourceClaimSpec,
)

from ...node_resources.device_classes import DEVICE_CLASS, IMPLICIT_PREFIX
from ...node_resources.shortage import is_extended_resource
from .tracker import EXTENDED_RESOURCE_ANNOTATION

IN_MEMORY: Final = "<extended-resources>"
"""Name of the claim before it is written; not a valid name in a cluster."""
_MEMO: Final = object()
_NOTHING: Final[tuple[str, ...]] = ()

ContainerMapping = ContainerExtendedResourceRequest


def extended_requests(pod: Pod) -> tuple[str, ...]:
    """Return the resources that the pod requests and a device class may back; cached in the spec."""
    memo = pod.spec.memo
    found: tuple[str, ...] | None = memo.get(_MEMO)
    if found is None:
        names = [name for name, amount in pod.requests.items() if amount and may_be_backed(name)]
        found = memo[_MEMO] = tuple(sorted(names)) if names else _NOTHING
    return found


def may_be_backed(name: str) -> bool:
    """Return whether a device class can back the resource *name*."""
    return name.startswith(IMPLICIT_PREFIX) or is_extended_resource(name)


@define(eq=False)
class BackingClasses:
    """Index of device classes by the resource that they back; O(classes) after a change, else O(1)."""

    _objects: ObjectStore
    _version: int = -1
    _classes: dict[str, DeviceClass] = field(factory=dict)

    def of(self, resource: str) -> DeviceClass | None:
        """Return the class: of several the newest, of those the first by name."""
        version = self._objects.version(DEVICE_CLASS)
        if version != self._version:
            self._classes = backing_classes(self._objects.list(DEVICE_CLASS))
            self._version = version
        return self._classes.get(resource)

    def any_of(self, resources: Iterable[str]) -> bool:
        """Return whether a class backs one of *resources*."""
        return any(self.of(resource) is not None for resource in resources)


def backing_classes(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """Return resource → class, for explicit and for implicit resource names."""
    found: dict[str, DeviceClass] = {}
    for device_class in sorted(classes, key=lambda each: (-_made(each), each.name)):
        found[IMPLICIT_PREFIX + device_class.name] = device_class
        name = device_class.spec.extended_resource_name
        if name:
            found.setdefault(name, device_class)
    return found


def _made(device_class: DeviceClass) -> float:
    made = device_class.metadata.creation_timestamp
    return float("-inf") if made is None else made


def claim_in_memory(pod: Pod) -> ResourceClaim:
    """Return the claim for the pod's extended resources, without requests: those depend on the node."""
    owner = OwnerReference("v1", "Pod", pod.name, pod.uid, controller=True)
    return ResourceClaim(
        ObjectMeta(
            name=IN_MEMORY,
            namespace=pod.namespace,
            uid=f"{IN_MEMORY}{pod.uid}",
            generate_name=f"{pod.name}-extended-resources-",
            owner_references=(owner,),
            annotations={EXTENDED_RESOURCE_ANNOTATION: "true"},
        )
    )


@frozen(eq=False)
class SubstituteRequests:
    """Device requests that replace extended resources of a pod."""

    requests: tuple[DeviceRequest, ...]
    mappings: tuple[ContainerMapping, ...]
    """Container and resource → the request that serves them."""

    def claim(self, pod: Pod) -> ResourceClaim:
        """Return the claim with these requests."""
        devices = DeviceClaim(self.requests)
        return evolve(claim_in_memory(pod), spec=ResourceClaimSpec(devices))


def missing_resources(resources: Iterable[str], info: NodeInfo, classes: BackingClasses) -> list[str] | None:
    """Return the resources that devices must replace on that node; ``None`` if one is unavailable."""
    missing = []
    allocatable = info.allocatable
    for name in resources:
        if not allocatable.get(name, 0) and classes.of(name) is not None:
            missing.append(name)
        elif name not in allocatable:
            return None
    return missing


def substitute(pod: Pod, resources: Collection[str], classes: BackingClasses) -> SubstituteRequests:
    """Return device requests for *resources*, container by container.

    Init containers that end before the others start reuse the devices of later containers, and share one
    request for what they need beyond: the largest. Source: createRequestsAndMappings of the reference.
    """
    requests: list[DeviceRequest] = []
    mappings: list[ContainerMapping] = []
    for resource in sorted(resources):
        device_class = classes.of(resource)
        if device_class is not None:
            _add_resource(pod, resource, device_class.name, requests, mappings)
    requests.sort(key=lambda request: request.name)
    return SubstituteRequests(tuple(requests), tuple(mappings))


def _add_resource(
    pod: Pod, resource: str, class_name: str, requests: list[DeviceRequest], mappings: list[ContainerMapping]
) -> None:
    number_of_init = len(pod.spec.init_containers)
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    lasting: dict[int, tuple[str, int]] = {}
    transient: list[int] = []
    for place, container in enumerate(containers):
        if place < number_of_init and container.restart_policy != RESTART_ALWAYS:
            transient.append(place)
            continue
        count = _count(container, resource)
        if count:
            lasting[place] = name, _ = _request_name(place, container, resource), count
            mappings.append(ContainerMapping(container.name, resource, name))
    needs = {place: _reusing(containers[place], resource, place, lasting) for place in transient}
    largest = max(needs, key=lambda place: (needs[place][0], -place), default=None)
    extra = 0 if largest is None else needs[largest][0]
    extra_name = ""
    if largest is not None and extra:
        extra_name = _request_name(largest, containers[largest], resource)
    for place in transient:
        more, reused = needs[place]
        names = [*reused, extra_name] if more else reused
        mappings += [ContainerMapping(containers[place].name, resource, name) for name in names]
    counts = [*lasting.values(), *([(extra_name, extra)] if extra else [])]
    requests += [
        DeviceRequest(name, ExactDeviceRequest(class_name, allocation_mode=EXACT_COUNT, count=count))
        for name, count in counts
    ]


def _reusing(
    container: Container, resource: str, place: int, lasting: Mapping[int, tuple[str, int]]
) -> tuple[int, list[str]]:
    """Return the number of devices needed beyond those of later containers, and the reused requests."""
    count = _count(container, resource)
    used: list[str] = []
    for later, (name, there) in lasting.items():
        if count <= 0:
            break
        if later >= place:
            used.append(name)
            count -= there
    return max(count, 0), used


def _count(container: Container, resource: str) -> int:
    amount = container.resources.requests.get(resource)
    return amount.value() if amount is not None else 0


def _request_name(place: int, container: Container, resource: str) -> str:
    return f"container-{place}-request-{sorted(container.resources.requests).index(resource)}"
