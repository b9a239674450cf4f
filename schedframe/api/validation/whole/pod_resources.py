"""Resources of a pod as a whole beside those of its containers.

Source of the rules: ``validatePodResources`` of pkg/apis/core/validation, after the defaulting of
``SetDefaults_Pod``. A template is validated without that defaulting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ....errors import InputError
from ...containers import Container, ResourceRequirements
from ...defaults import with_default_requests
from ...pod import Pod
from ...podspec import PodSpec
from ...quantity import Quantity
from ...resources import pod_limits, pod_requests, supports_pod_level
from ...valuecodecs import at_key
from .reading import amounts, is_left_out, mapping, objects, text
from .resources import compare_with_limits, huge_pages_alone, is_huge_pages, page_problem

_PARTS: Final = ("requests", "limits")


def check_pod_resources(spec: Mapping[str, Any], *, is_pod: bool) -> Iterator[InputError]:
    """Yield the errors of the resources of a pod, with paths from the spec."""
    resources = mapping(spec, "resources")
    if not is_left_out(resources, "claims"):
        fix = "move them to the containers that use them"
        yield InputError("resources.claims", "a pod has no claims of its own", fix)
    for part in _PARTS:
        for name in mapping(resources, part):
            if isinstance(name, str) and not supports_pod_level(name):
                problem = f"{name} is no resource of a pod as a whole"
                error = InputError(
                    "", problem, "ask for it in a container; a pod has cpu, memory and huge pages"
                )
                yield at_key(error, name).at(part).at("resources")
    pod = _read(spec, is_pod=is_pod)
    whole = pod.spec.resources or ResourceRequirements()
    written = list(_written_problems(resources))
    for error in compare_with_limits(whole.requests, whole.limits):
        if str(error) not in written:
            yield error.at("resources")
    for part, effective in zip(_PARTS, (whole.requests, whole.limits), strict=True):
        for name in (each for each in effective if each not in mapping(resources, part)):
            in_part = page_problem(name, effective[name])
            if in_part is not None:
                yield at_key(in_part, name).at(part).at("resources")
    yield from _below_containers(pod, whole)


def _written_problems(resources: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors that the resources have before defaulting, which are reported already."""
    for error in compare_with_limits(amounts(resources, "requests"), amounts(resources, "limits")):
        yield str(error)


def check_huge_pages(spec: Mapping[str, Any], *, is_pod: bool) -> Iterator[InputError]:
    """Yield an error for each container, and for the pod as a whole, that has huge pages only."""
    for key in ("containers", "initContainers"):
        for path, container in objects(spec, key):
            resources = _requirements(mapping(container, "resources"))
            for error in huge_pages_alone({**resources.limits, **resources.requests}):
                yield error.at("resources").at(path)
    whole = _read(spec, is_pod=is_pod).spec.resources if mapping(spec, "resources") else None
    if whole is not None:
        for error in huge_pages_alone({**whole.requests, **whole.limits}):
            yield error.at("resources")


def _read(spec: Mapping[str, Any], *, is_pod: bool) -> Pod:
    """Return a pod with the resources of *spec*, and the defaults of an API server if *spec* is of a pod."""
    pod = Pod(
        spec=PodSpec(
            containers=tuple(_container(each) for _, each in objects(spec, "containers")),
            init_containers=tuple(_container(each) for _, each in objects(spec, "initContainers")),
            resources=_requirements(mapping(spec, "resources")),
        )
    )
    return with_default_requests(pod) if is_pod else pod


def _container(container: Mapping[Any, Any]) -> Container:
    resources = _requirements(mapping(container, "resources"))
    return Container(resources=resources, restart_policy=text(container, "restartPolicy"))


def _requirements(resources: Mapping[Any, Any]) -> ResourceRequirements:
    return ResourceRequirements(amounts(resources, "requests"), amounts(resources, "limits"))


def _below_containers(pod: Pod, whole: ResourceRequirements) -> Iterator[InputError]:
    """Yield errors where the pod as a whole asks for less than its containers."""
    requests = pod_requests(pod, use_status=False, pod_level=False, overhead=False)
    limits = {
        name: each for name, each in pod_limits(pod.spec, pod_level=False).items() if is_huge_pages(name)
    }
    for part, own, sums in (("requests", whole.requests, requests), ("limits", whole.limits, limits)):
        for name in own:
            if name in sums and sums[name] > own[name]:
                yield _too_low(own[name], sums[name], name).at(part).at("resources")
    for index, container in enumerate(pod.spec.containers):
        for name, limit in container.resources.limits.items():
            if name in whole.limits and limit > whole.limits[name]:
                problem = f"the limit of {limit} is above that of the pod, {whole.limits[name]}"
                error = InputError("limits", problem, "lower it, or raise that of the pod")
                # the path of the API server, which is not that of the limit
                yield at_key(error, name).at(f"containers[{index}]").at("resources")


def _too_low(own: Quantity, of_containers: Quantity, name: str) -> InputError:
    needed = Quantity(of_containers.nano, own.format)
    problem = f"{own} is below {needed}, the sum of the containers"
    return at_key(InputError("", problem, f"write {needed} or more"), name)
