"""Defaults that the API server sets when a pod is created, as far as scheduling depends on them.

Pods from an API server have them already; manifests written by hand do not. Source of the rules:
pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from .containers import Container, ResourceRequirements
from .pod import Pod
from .quantity import Quantity
from .resources import HUGE_PAGES_PREFIX, pod_limits, pod_requests, supports_pod_level


def with_default_requests(pod: Pod) -> Pod:
    """Return *pod* with the requests that follow from its limits; the same object if none do.

    For pods that are being created: a running pod has them, and a resize in place may have changed them. The
    limit of a container is the default of its request. With pod-level limits, the default of the pod's
    request is the sum over its containers, or else its limit; huge pages of containers count among its
    limits.
    """
    spec = pod.spec
    containers = tuple(map(_of_container, spec.containers))
    init_containers = tuple(map(_of_container, spec.init_containers))
    if containers != spec.containers or init_containers != spec.init_containers:
        pod = evolve(pod, spec=evolve(spec, containers=containers, init_containers=init_containers))
    resources = pod.spec.resources
    if resources is None or not (resources.requests or resources.limits):
        return pod
    defaulted = _of_pod(pod, resources)
    return pod if defaulted == resources else evolve(pod, spec=evolve(pod.spec, resources=defaulted))


def _of_container(container: Container) -> Container:
    resources = container.resources
    if all(name in resources.requests for name in resources.limits):
        return container
    return evolve(container, resources=evolve(resources, requests={**resources.limits, **resources.requests}))


def _of_pod(pod: Pod, resources: ResourceRequirements) -> ResourceRequirements:
    resources = _with_huge_pages(pod, resources)
    if not resources.limits:
        return resources
    sums = pod_requests(pod, use_status=False, pod_level=False, overhead=False)
    # huge pages cannot be overcommitted: those of the pod follow from its limit alone
    named = {name: amount for name, amount in sums.items() if not name.startswith(HUGE_PAGES_PREFIX)}
    return evolve(resources, requests={**_supported({**resources.limits, **named}), **resources.requests})


def _with_huge_pages(pod: Pod, resources: ResourceRequirements) -> ResourceRequirements:
    """Return *resources* with the limits of huge pages of the containers where the pod names none itself."""
    missing = {
        name: amount
        for name, amount in pod_limits(pod.spec, pod_level=False).items()
        if name.startswith(HUGE_PAGES_PREFIX) and name not in resources.requests
    }
    return evolve(resources, limits={**missing, **resources.limits}) if missing else resources


def _supported(amounts: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: amount for name, amount in amounts.items() if supports_pod_level(name)}
