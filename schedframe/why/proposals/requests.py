"""Proposals about the pod's requests, scheduling gates and scheduler name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve

from ...api import BINARY_SI, CPU, Container, Pod, Quantity, ResourceRequirements
from ...api.quantity import DECIMAL_SI
from ...simulate.amounts import BYTES, unit_of
from ..change import Change, ChangeKind, doublings
from ..near_misses import PODS
from .case import Case

_MEBI: Final = 1 << 20


def propose(case: Case) -> Iterator[Change]:
    """Propose to remove gates, to set the scheduler name, and requests that fit on near nodes."""
    pod = case.pod
    if gates := pod.spec.scheduling_gates:
        after = evolve(pod, spec=evolve(pod.spec, scheduling_gates=()))
        text = f"remove the scheduling gate{'s' * (len(gates) > 1)} {', '.join(gates)}"
        yield Change(ChangeKind.REMOVE_GATE, text, len(gates), pod=after)
    old = pod.spec.scheduler_name
    if old not in case.profiles:
        for profile in case.profiles:
            after = evolve(pod, spec=evolve(pod.spec, scheduler_name=profile))
            text = f"set the scheduler name to {profile}"
            yield Change(ChangeKind.SET_SCHEDULER_NAME, text, pod=after)
    for near in case.near:
        targets = {short.resource: rounded_down(short.resource, short.free) for short in near.miss.shortages}
        if targets and PODS not in targets and min(targets.values()) > 0:
            change = _lowered(pod, targets)
            if change is not None:
                yield change


def rounded_down(resource: str, amount: int) -> int:
    """Return *amount*; bytes are rounded down to whole MiB from 1 MiB on."""
    return amount // _MEBI * _MEBI if unit_of(resource) == BYTES and amount >= _MEBI else amount


def quantity(resource: str, amount: int, notation: str) -> Quantity:
    """Return *amount* (milli-CPU, else whole units) as manifests write it."""
    return Quantity.of_milli(amount) if resource == CPU else Quantity.of(amount, notation)


def exact(resource: str, amount: int) -> str:
    """Return *amount* for people, with all digits."""
    if resource == CPU:
        return f"{amount / 1000:g}"
    return str(Quantity.of(amount, notation_of(resource)))


def notation_of(resource: str) -> str:
    """Return the usual notation for amounts of the resource."""
    return BINARY_SI if unit_of(resource) == BYTES else DECIMAL_SI


def _lowered(pod: Pod, targets: Mapping[str, int]) -> Change | None:
    """Propose requests of at most *targets*, lowered in the largest containers first."""
    after, steps, parts = pod, 0.0, []
    for resource, target in targets.items():
        lowered = _with_request(after, resource, target)
        if lowered is None:
            return None
        after = lowered
        now, then = pod.requests[resource], after.requests[resource]
        steps += doublings(now, then)
        parts.append(f"{resource} from {exact(resource, now)} to {exact(resource, then)}")
    text = f"lower the requested {' and '.join(parts)}"
    return Change(ChangeKind.LOWER_REQUEST, text, steps, pod=after)


def _with_request(pod: Pod, resource: str, target: int) -> Pod | None:
    spec = pod.spec
    whole = spec.resources
    if whole is not None and resource in whole.requests:
        return _checked(
            evolve(pod, spec=evolve(spec, resources=_set(whole, resource, target))), resource, target
        )
    overhead = _amount(spec.overhead.get(resource), resource)
    room = target - overhead
    if room <= 0:
        return None
    inits = tuple(_capped(each, resource, room) for each in spec.init_containers)
    after = evolve(pod, spec=evolve(spec, init_containers=inits))
    containers = list(spec.containers)
    order = sorted(range(len(containers)), key=lambda i: -_request(containers[i], resource))
    for i in order:
        excess = after.requests.get(resource, 0) - target
        if excess <= 0:
            break
        asked = _request(containers[i], resource)
        containers[i] = _capped(containers[i], resource, max(min(asked, 1), asked - excess))
        after = evolve(pod, spec=evolve(after.spec, containers=tuple(containers)))
    return _checked(after, resource, target)


def _checked(pod: Pod, resource: str, target: int) -> Pod | None:
    return pod if 0 < pod.requests.get(resource, 0) <= target else None


def _amount(amount: Quantity | None, resource: str) -> int:
    if amount is None:
        return 0
    return amount.milli_value() if resource == CPU else amount.value()


def _request(container: Container, resource: str) -> int:
    return _amount(container.resources.requests.get(resource), resource)


def _capped(container: Container, resource: str, most: int) -> Container:
    if _request(container, resource) <= most:
        return container
    return evolve(container, resources=_set(container.resources, resource, most))


def _set(resources: ResourceRequirements, resource: str, amount: int) -> ResourceRequirements:
    notation = resources.requests[resource].format
    return evolve(resources, requests={**resources.requests, resource: quantity(resource, amount, notation)})
