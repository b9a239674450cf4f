"""How much of each resource a pod takes, by the rules of Kubernetes v1.36.

Source of the rules: k8s.io/component-helpers/resource (sums, init containers, sidecars, overhead, pod-level
requests, resize in place) and pkg/scheduler/framework (what a node counts, defaults for scoring). Sums are
exact; rounding up to milli-CPU and whole units comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from attrs import frozen

from .quantity import Quantity

if TYPE_CHECKING:
    from .containers import Container
    from .pod import Pod
    from .podstatus import ContainerStatus, PodStatus

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
HUGE_PAGES_PREFIX: Final = "hugepages-"
ATTACHABLE_VOLUMES_PREFIX: Final = "attachable-volumes-"

DEFAULT_MILLI_CPU: Final = 100
"""What scoring counts for a container that does not say how much CPU it wants, in milli-CPU."""
DEFAULT_MEMORY: Final = 200 * 1024 * 1024
"""What scoring counts for a container that does not say how much memory it wants, in bytes."""

_DEFAULTS: Final = {CPU: Quantity.of_milli(DEFAULT_MILLI_CPU), MEMORY: Quantity.of(DEFAULT_MEMORY)}
_SCORING: Final = object()  # key in spec.memo

Nanos = dict[str, int]
Amounts = Mapping[str, Quantity]


@frozen(eq=False, weakref_slot=False)
class PodResources:
    """``requests`` in the units of :func:`whole_amounts`, ``non_zero`` as (milli-CPU, bytes) for scoring."""

    requests: Mapping[str, int]
    non_zero: tuple[int, int]


@lru_cache(maxsize=4096)
def is_scalar_resource(name: str) -> bool:
    """Whether *name* is an extended resource, huge pages or attachable volumes: counted as a plain number."""
    if name.startswith((HUGE_PAGES_PREFIX, ATTACHABLE_VOLUMES_PREFIX)):
        return True
    return "/" in name and not name.startswith("requests.")


@lru_cache(maxsize=4096)
def _is_counted(name: str) -> bool:
    return name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS) or is_scalar_resource(name)


def supports_pod_level(name: str) -> bool:
    """Whether a request of the pod as a whole replaces the sum over its containers for this resource."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)


def whole_amount(name: str, amount: Quantity) -> int:
    """*amount* of the resource *name*: milli-CPU for ``cpu``, whole units for all else, rounded up."""
    return amount.milli_value() if name == CPU else amount.value()


def whole_amounts(amounts: Amounts) -> Mapping[str, int]:
    """:func:`whole_amount` of each resource that nodes count; other names are left out, as in the reference.

    Equal results are one mapping.
    """
    return _shared_amounts(tuple([(n, whole_amount(n, q)) for n, q in amounts.items() if _is_counted(n)]))


@lru_cache(maxsize=8192)
def _shared_amounts(items: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    return dict(items)


@lru_cache(maxsize=8192)
def _shared_resources(items: tuple[tuple[str, int], ...], non_zero: tuple[int, int]) -> PodResources:
    return PodResources(_shared_amounts(items), non_zero)


def pod_requests(
    pod: Pod,
    *,
    use_status: bool | None = None,
    container_defaults: Amounts | None = None,
    pod_level: bool = True,
    overhead: bool = True,
) -> dict[str, Quantity]:
    """The total requests of *pod*, exact, with all resources that are named somewhere.

    *use_status*: whether a resize in place that the status tells of counts (max of spec, allocated and actual
    amounts; of the latter two if the resize is infeasible); None: for pods on a node, as the scheduler does
    it. *container_defaults* stand in for requests that a container does not name (a request of 0 stays 0).
    *pod_level* and *overhead*: whether these are taken in. O(containers × resources).
    """
    nanos = _total(
        pod, _uses_status(pod) if use_status is None else use_status, container_defaults, pod_level, overhead
    )
    return {name: Quantity(nano) for name, nano in nanos.items()}


def pod_resources(pod: Pod) -> PodResources:
    """What *pod* takes from a node; kept on the spec if that alone decides. Use ``pod.resources``."""
    if _uses_status(pod):
        return _of_pod(pod, True)
    spec = pod.spec
    resources = spec._resources
    if resources is None:
        resources = _of_spec(pod)
        object.__setattr__(spec, "_resources", resources)
    return resources


def _of_spec(pod: Pod) -> PodResources:
    requests = _of_the_only_container(pod)
    return _of_pod(pod, False) if requests is None else _of_one_container(requests)


def _of_the_only_container(pod: Pod) -> tuple[tuple[str, int], ...] | None:
    """Requests of a pod that says nothing about resources anywhere else; ``None`` if it does."""
    spec = pod.spec
    if len(spec.containers) != 1 or spec.init_containers or spec.overhead or spec.resources:
        return None
    requests = spec.containers[0].resources.requests
    return tuple([(name, amount.nano) for name, amount in requests.items()])


@lru_cache(maxsize=8192)
def _of_one_container(requests: tuple[tuple[str, int], ...]) -> PodResources:
    """By far the most frequent shape of a pod: the sum is the only container's requests."""
    scored = {name: amount.nano for name, amount in _DEFAULTS.items()} | dict(requests)
    return _as_resources(dict(requests), scored)


def _of_pod(pod: Pod, use_status: bool) -> PodResources:
    requests = _total(pod, use_status, None, True, True)
    defaults = _missing_defaults(pod, requests)
    scored = _total(pod, use_status, defaults, True, True) if defaults else requests
    return _as_resources(requests, scored)


def _as_resources(requests: Nanos, scored: Nanos) -> PodResources:
    items = tuple([(name, _whole(name, nano)) for name, nano in requests.items() if _is_counted(name)])
    return _shared_resources(items, (_whole(CPU, scored.get(CPU, 0)), _whole(MEMORY, scored.get(MEMORY, 0))))


def scoring_requests(pod: Pod) -> Mapping[str, int]:
    """What NodeResourcesFit scores an incoming *pod* with, in the units of :func:`whole_amounts`.

    Each container that does not name cpu (memory) counts 100m (200Mi). Pod-level requests are not looked at
    here, as measured on v1.36.2; NodeResourcesBalancedAllocation goes by ``pod.requests``, in which they are.
    """
    if _uses_status(pod):
        return _scoring(pod, True)
    memo = pod.spec.memo
    amounts: Mapping[str, int] | None = memo.get(_SCORING)
    if amounts is None:
        amounts = memo[_SCORING] = _scoring(pod, False)
    return amounts


def _scoring(pod: Pod, use_status: bool) -> Mapping[str, int]:
    requests = None if use_status else _of_the_only_container(pod)
    if requests is not None:
        return _scoring_of_one_container(requests)
    return _as_amounts(_total(pod, use_status, _DEFAULTS, False, True))


@lru_cache(maxsize=8192)
def _scoring_of_one_container(requests: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    """As :func:`_of_one_container`; resources that are named come first, in their order."""
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


def _missing_defaults(pod: Pod, requests: Nanos) -> Amounts:
    """Defaults for what a running pod counts in scoring; with pod-level requests where nothing is named."""
    if not _has_pod_level(pod):
        return _DEFAULTS
    return {name: amount for name, amount in _DEFAULTS.items() if name not in requests}


def _has_pod_level(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(supports_pod_level(name) for name in resources.requests)


def _uses_status(pod: Pod) -> bool:
    """Whether the status of a pod on a node has anything to say about its resources."""
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


def _total(pod: Pod, use_status: bool, defaults: Amounts | None, pod_level: bool, overhead: bool) -> Nanos:
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
    """Sidecars add to *total*; each other init container sets a minimum, together with the sidecars before
    it.
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
    """Statuses by container, and whether a resize is asked for that the node cannot do."""
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
