"""The amounts of resources that a pod requests, by the rules of Kubernetes v1.36.

Source of the rules: k8s.io/component-helpers/resource (sums, init containers, sidecars, overhead, pod-level
requests, resize in place) and pkg/scheduler/framework (what a node counts, defaults for scoring). Sums are
exact; rounding up to milli-CPU and whole units comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, Protocol

from .._base.checked import check_arguments
from .containers import Container
from .podspec import PodResources, PodSpec
from .podstatus import ContainerStatus, PodStatus
from .quantity import Quantity

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
HUGE_PAGES_PREFIX: Final = "hugepages-"
ATTACHABLE_VOLUMES_PREFIX: Final = "attachable-volumes-"

DEFAULT_MILLI_CPU: Final = 100
"""CPU that scoring counts for a container without a request for it, in milli-CPU."""
DEFAULT_MEMORY: Final = 200 * 1024 * 1024
"""Memory that scoring counts for a container without a request for it, in bytes."""

_DEFAULTS: Final = {CPU: Quantity.of_milli(DEFAULT_MILLI_CPU), MEMORY: Quantity.of(DEFAULT_MEMORY)}
_SCORING: Final = object()  # key in spec.memo

Nanos = dict[str, int]
Amounts = Mapping[str, Quantity]


class HasSpec(Protocol):
    """A pod, as far as its resources depend on it."""

    @property
    def spec(self) -> PodSpec:
        """The spec of the pod."""

    @property
    def status(self) -> PodStatus:
        """The status of the pod."""


@lru_cache(maxsize=4096)
def is_scalar_resource(name: str) -> bool:
    """Return whether *name* is an extended resource, huge pages or attachable volumes: a plain number."""
    if name.startswith((HUGE_PAGES_PREFIX, ATTACHABLE_VOLUMES_PREFIX)):
        return True
    return "/" in name and not name.startswith("requests.")


@lru_cache(maxsize=4096)
def _is_counted(name: str) -> bool:
    return name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS) or is_scalar_resource(name)


def supports_pod_level(name: str) -> bool:
    """Return whether a pod-level request of this resource replaces the sum over the containers."""
    try:
        return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)
    except AttributeError:
        check_arguments(supports_pod_level, name)
        raise


def whole_amount(name: str, amount: Quantity) -> int:
    """Return *amount* of the resource *name*, rounded up: milli-CPU for ``cpu``, else whole units."""
    try:
        return amount.milli_value() if name == CPU else amount.value()
    except AttributeError:
        check_arguments(whole_amount, name, amount)
        raise


def whole_amounts(amounts: Amounts) -> Mapping[str, int]:
    """Return :func:`whole_amount` of each resource that nodes count, as the reference does.

    Equal results are one mapping.
    """
    try:
        items = amounts.items()
    except AttributeError:
        check_arguments(whole_amounts, amounts)
        raise
    return _shared_amounts(tuple([(n, whole_amount(n, q)) for n, q in items if _is_counted(n)]))


@lru_cache(maxsize=2048)
def _shared_amounts(items: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    return dict(items)


@lru_cache(maxsize=2048)
def _shared_resources(items: tuple[tuple[str, int], ...], non_zero: tuple[int, int]) -> PodResources:
    return PodResources(_shared_amounts(items), non_zero)


def pod_requests(
    pod: HasSpec,
    *,
    use_status: bool | None = None,
    container_defaults: Amounts | None = None,
    pod_level: bool = True,
    overhead: bool = True,
) -> dict[str, Quantity]:
    """Return the total requests of *pod*, exact, of all resources that it names.

    *use_status*: whether a resize in place counts, according to the status (the maximum of spec, allocated
    and actual amounts; of the latter two if the resize is infeasible). ``None``: for pods on a node, as the
    scheduler does. *container_defaults*: amounts for resources that a container does not request (a request
    of 0 stays 0). *pod_level*, *overhead*: whether to include them. O(containers × resources).
    """
    try:
        if use_status is None:
            use_status = _uses_status(pod)
        nanos = _total(pod, use_status, container_defaults, pod_level, overhead)
    except AttributeError:
        check_arguments(pod_requests, pod, use_status, container_defaults)
        raise
    return {name: Quantity(nano) for name, nano in nanos.items()}


def pod_limits(spec: PodSpec, *, pod_level: bool = True) -> dict[str, Quantity]:
    """Return the total limits of a pod without overhead, exact, of all resources that it names.

    *pod_level*: whether limits of the pod as a whole replace those of its containers.
    """
    total: Nanos = {}
    for container in spec.containers:
        _add(total, _nanos(container.resources.limits))
    if spec.init_containers:
        _with_init_containers(total, spec.init_containers, lambda each, _: _nanos(each.resources.limits))
    if pod_level and spec.resources is not None:
        limits = _nanos(spec.resources.limits)
        total.update({name: nano for name, nano in limits.items() if supports_pod_level(name)})
    return {name: Quantity(nano) for name, nano in total.items()}


def pod_resources(pod: HasSpec) -> PodResources:
    """Return the resources of *pod*, cached on its spec if they depend on nothing else.

    Use ``pod.resources``.
    """
    try:
        uses_status = _uses_status(pod)
    except AttributeError:
        check_arguments(pod_resources, pod)
        raise
    if uses_status:
        return _of_pod(pod, True)
    spec = pod.spec
    resources = spec._resources
    if resources is None:
        resources = _of_spec(pod)
        object.__setattr__(spec, "_resources", resources)
    return resources


def _of_spec(pod: HasSpec) -> PodResources:
    requests = _of_the_only_container(pod)
    return _of_pod(pod, False) if requests is None else _of_one_container(requests)


def _of_the_only_container(pod: HasSpec) -> tuple[tuple[str, int], ...] | None:
    """Return the requests of the only container, ``None`` if the pod has other requests or overhead."""
    spec = pod.spec
    if len(spec.containers) != 1 or spec.init_containers or spec.overhead or spec.resources:
        return None
    requests = spec.containers[0].resources.requests
    return tuple([(name, amount.nano) for name, amount in requests.items()])


@lru_cache(maxsize=2048)
def _of_one_container(requests: tuple[tuple[str, int], ...]) -> PodResources:
    """Return the resources of a pod with one container and no other requests, the most frequent form."""
    scored = {name: amount.nano for name, amount in _DEFAULTS.items()} | dict(requests)
    return _as_resources(dict(requests), scored)


def _of_pod(pod: HasSpec, use_status: bool) -> PodResources:
    requests = _total(pod, use_status, None, True, True)
    defaults = _missing_defaults(pod, requests)
    scored = _total(pod, use_status, defaults, True, True) if defaults else requests
    return _as_resources(requests, scored)


def _as_resources(requests: Nanos, scored: Nanos) -> PodResources:
    items = tuple([(name, _whole(name, nano)) for name, nano in requests.items() if _is_counted(name)])
    return _shared_resources(items, (_whole(CPU, scored.get(CPU, 0)), _whole(MEMORY, scored.get(MEMORY, 0))))


def scoring_requests(pod: HasSpec) -> Mapping[str, int]:
    """Return the requests with which NodeResourcesFit scores a *pod*, in the units of :func:`whole_amounts`.

    A container without a request for cpu (memory) counts as 100m (200Mi). Pod-level requests do not count, as
    measured on v1.36.2; they do in ``pod.requests``, which NodeResourcesBalancedAllocation uses.
    """
    try:
        uses_status = _uses_status(pod)
    except AttributeError:
        check_arguments(scoring_requests, pod)
        raise
    if uses_status:
        return _scoring(pod, True)
    memo = pod.spec.memo
    amounts: Mapping[str, int] | None = memo.get(_SCORING)
    if amounts is None:
        amounts = memo[_SCORING] = _scoring(pod, False)
    return amounts


def _scoring(pod: HasSpec, use_status: bool) -> Mapping[str, int]:
    requests = None if use_status else _of_the_only_container(pod)
    if requests is not None:
        return _scoring_of_one_container(requests)
    return _as_amounts(_total(pod, use_status, _DEFAULTS, False, True))


@lru_cache(maxsize=2048)
def _scoring_of_one_container(requests: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    """Return the scoring requests of a pod with one container. Requested resources come first, in order."""
    nanos = dict(requests)
    for name, amount in _DEFAULTS.items():
        nanos.setdefault(name, amount.nano)
    return _as_amounts(nanos)


def _as_amounts(nanos: Nanos) -> Mapping[str, int]:
    return _shared_amounts(
        tuple([(name, _whole(name, nano)) for name, nano in nanos.items() if _is_counted(name)])
    )


def _whole(name: str, nano: int) -> int:
    return whole_amount(name, Quantity(nano))


def _missing_defaults(pod: HasSpec, requests: Nanos) -> Amounts:
    """Return the defaults for scoring; with pod-level requests only those of resources without a request."""
    if not _has_pod_level(pod):
        return _DEFAULTS
    return {name: amount for name, amount in _DEFAULTS.items() if name not in requests}


def _has_pod_level(pod: HasSpec) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(supports_pod_level(name) for name in resources.requests)


def _uses_status(pod: HasSpec) -> bool:
    """Return whether the resources depend on the status: the pod is on a node, and its status names some."""
    status = pod.status
    if not pod.spec.node_name:
        return False
    if not (status.container_statuses or status.init_container_statuses):
        return status.resources is not None
    return (
        status.resources is not None
        or any(entry.resources is not None for entry in status.container_statuses)
        or any(entry.resources is not None for entry in status.init_container_statuses)
    )


def _total(
    pod: HasSpec, use_status: bool, defaults: Amounts | None, pod_level: bool, overhead: bool
) -> Nanos:
    spec = pod.spec
    statuses, infeasible = _statuses(pod.status) if use_status else ({}, False)

    def requests_of(container: Container, keeps_running: bool) -> Nanos:
        status = statuses.get(container.name) if keeps_running else None
        return _of_container(container, status, infeasible, defaults)

    total: Nanos = {}
    for container in spec.containers:
        _add(total, requests_of(container, True))
    if spec.init_containers:
        _with_init_containers(total, spec.init_containers, requests_of)
    if pod_level and spec.resources is not None and spec.resources.requests:
        total.update(_pod_level(spec.resources.requests, pod.status, use_status, infeasible))
    if overhead and spec.overhead:
        _add(total, _nanos(spec.overhead))
    return total


def _with_init_containers(
    total: Nanos, init_containers: Iterable[Container], requests_of: Callable[[Container, bool], Nanos]
) -> None:
    """Add sidecars to *total*, and raise it to the peak of each other init container.

    The peak includes the sidecars before the container.
    """
    sidecars: Nanos = {}
    peak: Nanos = {}
    for container in init_containers:
        requests = requests_of(container, container.is_sidecar)
        if container.is_sidecar:
            _add(total, requests)
            _add(sidecars, requests)
            _raise(peak, sidecars)
        else:
            _add(requests, sidecars)
            _raise(peak, requests)
    _raise(total, peak)


def _of_container(
    container: Container, status: ContainerStatus | None, infeasible: bool, defaults: Amounts | None
) -> Nanos:
    requests = _nanos(container.resources.requests)
    if status is not None and status.resources is not None:
        requests = {} if infeasible else requests
        _raise(requests, _nanos(status.resources.requests))
        _raise(requests, _nanos(status.allocated_resources or {}))
    if defaults:
        for name, amount in defaults.items():
            requests.setdefault(name, amount.nano)
    return requests


def _pod_level(requests: Amounts, status: PodStatus, use_status: bool, infeasible: bool) -> Nanos:
    names = [name for name in requests if supports_pod_level(name)]
    effective = _nanos(requests)
    if use_status and status.resources is not None:
        effective = {} if infeasible else effective
        _raise(effective, _nanos(status.resources.requests))
        _raise(effective, _nanos(status.allocated_resources or {}))
    return {name: effective.get(name, 0) for name in names}


def _statuses(status: PodStatus) -> tuple[dict[str, ContainerStatus], bool]:
    """Return the statuses by container, and whether a resize is requested that is infeasible."""
    by_name = {entry.name: entry for entry in (*status.container_statuses, *status.init_container_statuses)}
    resize = status.condition("PodResizePending")
    return by_name, resize is not None and resize.reason == "Infeasible"


def _nanos(amounts: Amounts) -> Nanos:
    return {name: amount.nano for name, amount in amounts.items()}


def _add(total: Nanos, more: Nanos) -> None:
    for name, nano in more.items():
        total[name] = total.get(name, 0) + nano


def _raise(total: Nanos, floor: Nanos) -> None:
    for name, nano in floor.items():
        if name not in total or nano > total[name]:
            total[name] = nano
