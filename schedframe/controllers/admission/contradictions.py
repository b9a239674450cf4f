"""Amounts of a pod that do not go together once LimitRanger has filled it in.

The API server validates a pod after that. So a request above the default limit is refused, and huge pages
without cpu and memory are right where a default adds these. What contradicts itself in the manifest is found
when that is read. Rules: pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...api import (
    HUGE_PAGES_PREFIX,
    Pod,
    PodSpec,
    Quantity,
    ResourceRequirements,
    pod_requests,
    to_manifest,
)
from ...api.resources import pod_limits
from ...api.validation.published import published_name
from ...api.validation.whole import ADMITTED_CHECKS
from .amounts import like
from .parts import AdmissionPart
from .refusal import AdmissionRefused

Amounts = Mapping[str, Quantity]


def contradictions(pod: Pod) -> Iterator[AdmissionRefused]:
    """Yield a refusal for each amount of *pod* that does not go with another one."""
    spec = pod.spec
    for name, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for place, container in enumerate(containers):
            yield from _within(container.resources, f"spec.{name}[{place}].resources")
    if spec.resources is not None:
        yield from _within(spec.resources, "spec.resources")
        yield from _below_containers(pod, spec.resources)


def lonely_huge_pages(pod: Pod) -> Iterator[AdmissionRefused]:
    """Yield a refusal for each container of *pod* that has huge pages only, and for the pod as a whole."""
    if not _has_huge_pages(pod.spec):
        return
    for error in ADMITTED_CHECKS[published_name(Pod)](to_manifest(pod)):
        yield AdmissionRefused(AdmissionPart.LIMIT_RANGER, error.path, error.problem, error.fix)


def _has_huge_pages(spec: PodSpec) -> bool:
    own = () if spec.resources is None else (spec.resources,)
    every = (*(each.resources for each in (*spec.containers, *spec.init_containers)), *own)
    return any(_is_huge(name) for each in every for name in (*each.requests, *each.limits))


def _within(resources: ResourceRequirements, path: str) -> Iterator[AdmissionRefused]:
    """Yield a refusal for each request that is above its limit, or differs where both must be equal."""
    for name, request in resources.requests.items():
        limit = resources.limits.get(name)
        if limit is None:
            if not _may_be_overcommitted(name):
                yield _refusal(f"{path}.limits[{name}]", f"there is no limit for the request {request}")
        elif request > limit:
            yield _refusal(f"{path}.requests[{name}]", f"the request {request} is above the limit {limit}")
        elif request < limit and not _may_be_overcommitted(name):
            problem = f"the request {request} is not the limit {limit}"
            yield _refusal(f"{path}.requests[{name}]", problem)


def _below_containers(pod: Pod, resources: ResourceRequirements) -> Iterator[AdmissionRefused]:
    """Yield a refusal where the pod as a whole has less than its containers."""
    requests = pod_requests(pod, use_status=False, pod_level=False, overhead=False)
    limits = {name: each for name, each in pod_limits(pod.spec, pod_level=False).items() if _is_huge(name)}
    for part, own, sums in (
        ("requests", resources.requests, requests),
        ("limits", resources.limits, limits),
    ):
        for name in sorted(own.keys() & sums.keys()):
            if sums[name] > own[name]:
                needed = like(sums[name], own[name])
                problem = f"{own[name]} for the pod is below {needed}, the sum of its containers"
                yield _refusal(f"spec.resources.{part}[{name}]", problem)
    yield from _above_the_pod(pod.spec, resources.limits)


def _above_the_pod(spec: PodSpec, limits: Amounts) -> Iterator[AdmissionRefused]:
    for place, container in enumerate(spec.containers):
        for name, limit in container.resources.limits.items():
            if name in limits and limit > limits[name]:
                problem = f"the limit {limit} of {container.name} is above that of the pod, {limits[name]}"
                # the path of the API server, which is not that of the limit
                yield _refusal(f"spec.resources.containers[{place}][{name}].limits", problem)


def _may_be_overcommitted(name: str) -> bool:
    return "/" not in name and not _is_huge(name)


def _is_huge(name: str) -> bool:
    return name.startswith(HUGE_PAGES_PREFIX)


def _refusal(path: str, problem: str) -> AdmissionRefused:
    text = f"with the defaults of LimitRanger, {problem}"
    return AdmissionRefused(AdmissionPart.LIMIT_RANGER, path, text, "name both in the pod")
