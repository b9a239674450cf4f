"""Resources of a pod as a whole beside those of its containers.

Source of the rules: ``validatePodResources`` of pkg/apis/core/validation, after the defaulting of
``SetDefaults_Pod``, and ``AggregateContainerRequests`` of k8s.io/component-helpers. A template is validated
without that defaulting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ....errors import InputError
from ...codec import at_key
from ...quantity import ZERO, Quantity
from .reading import amounts, is_left_out, mapping, objects, text
from .resources import (
    compare_with_limits,
    huge_pages_alone,
    is_huge_pages,
    may_be_overcommitted,
    page_problem,
)

Amounts = dict[str, Quantity]

_PARTS: Final = ("requests", "limits")


def check_pod_resources(spec: Mapping[str, Any], *, is_pod: bool) -> Iterator[InputError]:
    """Yield the errors of the resources of a pod, with paths from the spec."""
    resources = mapping(spec, "resources")
    if not is_left_out(resources, "claims"):
        fix = "move them to the containers that use them"
        yield InputError("resources.claims", "a pod has no claims of its own", fix)
    for part in _PARTS:
        for name in mapping(resources, part):
            if isinstance(name, str) and not _is_supported(name):
                problem = f"{name} is no resource of a pod as a whole"
                error = InputError(
                    "", problem, "ask for it in a container; a pod has cpu, memory and huge pages"
                )
                yield at_key(error, name).at(part).at("resources")
    requests, limits = effective_resources(spec, is_pod=is_pod)
    written = list(_written_problems(resources))
    for error in compare_with_limits(requests, limits):
        if str(error) not in written:
            yield error.at("resources")
    for part, effective in zip(_PARTS, (requests, limits), strict=True):
        for name in effective.keys() - mapping(resources, part).keys():
            in_part = page_problem(name, effective[name])
            if in_part is not None:
                yield at_key(in_part, name).at(part).at("resources")
    yield from _below_containers(spec, requests, limits, is_pod=is_pod)


def _written_problems(resources: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors that the resources have before defaulting, which are reported already."""
    for error in compare_with_limits(amounts(resources, "requests"), amounts(resources, "limits")):
        yield str(error)


def check_huge_pages(spec: Mapping[str, Any], *, is_pod: bool) -> Iterator[InputError]:
    """Yield an error for each container, and for the pod as a whole, that has huge pages only."""
    for key in ("containers", "initContainers"):
        for path, container in objects(spec, key):
            for error in huge_pages_alone({**_limits_of(container), **_requests_of(container)}):
                yield error.at("resources").at(path)
    requests, limits = effective_resources(spec, is_pod=is_pod)
    for error in huge_pages_alone({**requests, **limits}):
        yield error.at("resources")


def _is_supported(name: str) -> bool:
    return name in ("cpu", "memory") or is_huge_pages(name)


def effective_resources(spec: Mapping[str, Any], *, is_pod: bool) -> tuple[Amounts, Amounts]:
    """Return requests and limits of the pod as a whole after defaulting."""
    resources = mapping(spec, "resources")
    requests, limits = amounts(resources, "requests"), amounts(resources, "limits")
    if not is_pod:
        return requests, limits
    if requests or limits:
        for name, amount in aggregated(spec, _limits_of).items():
            if is_huge_pages(name) and name not in requests:
                limits.setdefault(name, amount)
    if limits:
        for name, amount in aggregated(spec, _defaulted_requests_of).items():
            if _is_supported(name) and may_be_overcommitted(name):
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            if _is_supported(name):
                requests.setdefault(name, amount)
    return requests, limits


def _below_containers(
    spec: Mapping[str, Any], requests: Amounts, limits: Amounts, *, is_pod: bool
) -> Iterator[InputError]:
    """Yield errors where the pod as a whole asks for less than its containers."""
    of_container = _defaulted_requests_of if is_pod else _requests_of
    for name, amount in aggregated(spec, of_container).items():
        if name in requests and amount > requests[name]:
            yield _too_low(requests[name], amount, name).at("resources.requests")
    for name, amount in aggregated(spec, _limits_of).items():
        if is_huge_pages(name) and name in limits and amount > limits[name]:
            yield _too_low(limits[name], amount, name).at("resources.limits")
    for path, container in objects(spec, "containers"):
        for name, limit in _limits_of(container).items():
            if name in limits and limit > limits[name]:
                problem = f"the limit of {limit} is above that of the pod, {limits[name]}"
                error = InputError("limits", problem, "lower it, or raise that of the pod")
                # the path of the API server, which is not that of the limit
                yield at_key(error, name).at(path).at("resources")


def _too_low(own: Quantity, of_containers: Quantity, name: str) -> InputError:
    problem = f"{own} is below {of_containers}, the sum of the containers"
    return at_key(InputError("", problem, f"write {of_containers} or more"), name)


def aggregated(spec: Mapping[str, Any], of_container: Callable[[Mapping[Any, Any]], Amounts]) -> Amounts:
    """Return what the pod needs at most at any time: containers together, or one init container.

    Sidecars count with all that start after them.
    """
    total: Amounts = {}
    for _, container in objects(spec, "containers"):
        _add(total, of_container(container))
    sidecars: Amounts = {}
    most: Amounts = {}
    for _, container in objects(spec, "initContainers"):
        amounts_now = of_container(container)
        if text(container, "restartPolicy") == "Always":
            _add(total, amounts_now)
            _add(sidecars, amounts_now)
            amounts_now = dict(sidecars)
        else:
            _add(amounts_now, sidecars)
        _raise_to(most, amounts_now)
    _raise_to(total, most)
    return total


def _add(to: Amounts, others: Mapping[str, Quantity]) -> None:
    for name, amount in others.items():
        to[name] = to.get(name, ZERO) + amount


def _raise_to(lowest: Amounts, others: Mapping[str, Quantity]) -> None:
    for name, amount in others.items():
        if name not in lowest or amount > lowest[name]:
            lowest[name] = amount


def _limits_of(container: Mapping[Any, Any]) -> Amounts:
    return amounts(mapping(container, "resources"), "limits")


def _requests_of(container: Mapping[Any, Any]) -> Amounts:
    return amounts(mapping(container, "resources"), "requests")


def _defaulted_requests_of(container: Mapping[Any, Any]) -> Amounts:
    """Return the requests of a container: its limits, where it has no request."""
    return {**_limits_of(container), **_requests_of(container)}
