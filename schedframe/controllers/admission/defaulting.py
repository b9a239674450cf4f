"""Defaults of fields, as the API server sets them while it decodes an object (pkg/apis/core/v1/defaults.go).

Amounts are rounded up to thousandths, limits become requests, ports of the host's network host ports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import evolve

from ...api import (
    DEFAULT_SCHEDULER_NAME,
    LABEL_NAMESPACE_NAME,
    Container,
    Namespace,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    ResourceRequirements,
    with_default_requests,
)
from .amounts import rounded
from .changes import Change
from .limit_ranges import ANNOTATION
from .parts import AdmissionPart

REQUESTS: Final = Change(AdmissionPart.DEFAULTS, "requests that follow from limits")
HOST_PORTS: Final = Change(AdmissionPart.DEFAULTS, "host ports of the host's network")
OTHERS: Final = Change(AdmissionPart.DEFAULTS, "other defaults", is_routine=True)
CLAIM: Final = Change(AdmissionPart.DEFAULTS, "defaults", PersistentVolumeClaim.KIND, is_routine=True)

_TCP: Final = "TCP"
_FILESYSTEM: Final = "Filesystem"


def default_pod(pod: Pod, changes: list[Change]) -> Pod:
    """Return *pod* with its defaults."""
    first = pod
    pod = _with_spec(pod, _each_container(pod.spec, _with_protocols))
    pod = _with_spec(pod, _rounded_spec(pod.spec))
    if not pod.spec.scheduler_name:
        pod = evolve(pod, spec=evolve(pod.spec, scheduler_name=DEFAULT_SCHEDULER_NAME))
    if pod is not first:
        changes.append(OTHERS)
    requesting = _with_requests(pod)
    if requesting is not pod:
        changes.append(REQUESTS)
    if not pod.spec.host_network:
        return requesting
    on_host = _with_spec(requesting, _each_container(requesting.spec, _with_host_ports))
    if on_host is not requesting:
        changes.append(HOST_PORTS)
    return on_host


def _with_requests(pod: Pod) -> Pod:
    """Return *pod* with default requests.

    LimitRanger gives requests to containers after this step. A pod that has been through it keeps the
    resources of the pod as a whole: these do not follow from requests that were given later.
    """
    found = with_default_requests(pod)
    if found is pod or ANNOTATION not in pod.metadata.annotations:
        return found
    return _with_spec(pod, evolve(found.spec, resources=pod.spec.resources))


def default_claim(claim: PersistentVolumeClaim, changes: list[Change]) -> PersistentVolumeClaim:
    """Return *claim* with its defaults."""
    spec = claim.spec
    resources = spec.resources
    rounded_up = evolve(resources, requests=rounded(resources.requests), limits=rounded(resources.limits))
    spec = evolve(spec, volume_mode=spec.volume_mode or _FILESYSTEM, resources=rounded_up)
    if spec == claim.spec:
        return claim
    changes.append(CLAIM)
    return evolve(claim, spec=spec)


def default_namespace(namespace: Namespace) -> Namespace:
    """Return *namespace* with the label that has its name."""
    if not namespace.name or namespace.labels.get(LABEL_NAMESPACE_NAME) == namespace.name:
        return namespace
    labels = {**namespace.labels, LABEL_NAMESPACE_NAME: namespace.name}
    return evolve(namespace, metadata=evolve(namespace.metadata, labels=labels))


def _rounded_spec(spec: PodSpec) -> PodSpec:
    spec = _each_container(spec, _rounded_container)
    resources = None if spec.resources is None else _rounded_resources(spec.resources)
    overhead = rounded(spec.overhead)
    if resources is spec.resources and overhead is spec.overhead:
        return spec
    return evolve(spec, resources=resources, overhead=overhead)


def _rounded_container(container: Container) -> Container:
    resources = _rounded_resources(container.resources)
    return container if resources is container.resources else evolve(container, resources=resources)


def _rounded_resources(resources: ResourceRequirements) -> ResourceRequirements:
    requests, limits = rounded(resources.requests), rounded(resources.limits)
    if requests is resources.requests and limits is resources.limits:
        return resources
    return evolve(resources, requests=requests, limits=limits)


def _with_protocols(container: Container) -> Container:
    if all(port.protocol for port in container.ports):
        return container
    ports = (evolve(port, protocol=port.protocol or _TCP) for port in container.ports)
    return evolve(container, ports=tuple(ports))


def _with_host_ports(container: Container) -> Container:
    if all(port.host_port for port in container.ports):
        return container
    ports = (evolve(port, host_port=port.host_port or port.container_port) for port in container.ports)
    return evolve(container, ports=tuple(ports))


def _each_container(spec: PodSpec, change: Callable[[Container], Container]) -> PodSpec:
    """Return *spec* with *change* made to all containers and init containers; itself if nothing changes."""
    containers = tuple(map(change, spec.containers))
    init_containers = tuple(map(change, spec.init_containers))
    if containers == spec.containers and init_containers == spec.init_containers:
        return spec
    return evolve(spec, containers=containers, init_containers=init_containers)


def _with_spec(pod: Pod, spec: PodSpec) -> Pod:
    return pod if spec is pod.spec or spec == pod.spec else evolve(pod, spec=spec)
