"""Requests and limits of pods as metrics, in the form of kube-scheduler's ``/metrics/resources``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Final

from ..api import Pod, Quantity
from ..api.resources import pod_requests, supports_pod_level

_UNITS: Final = {"cpu": "cores", "memory": "bytes", "ephemeral-storage": "bytes", "storage": "bytes"}
_HELP: Final = {
    "kube_pod_resource_request": "Requests of the pods of the cluster that have not ended.",
    "kube_pod_resource_limit": "Limits of the pods of the cluster that have not ended.",
}


def pod_resource_metrics(pods: Iterable[Pod]) -> bytes:
    """Return the exposition. O(pods × resources)."""
    lines: dict[str, list[str]] = {name: [] for name in _HELP}
    for pod in pods:
        if pod.is_terminated:
            continue
        for name, amounts in zip(_HELP, (pod_requests(pod), pod_limits(pod)), strict=True):
            lines[name] += _lines(name, pod, amounts)
    parts = [
        f"# HELP {name} {_HELP[name]}\n# TYPE {name} gauge\n{''.join(each)}"
        for name, each in lines.items()
        if each
    ]
    return "".join(parts).encode()


def pod_limits(pod: Pod) -> Mapping[str, Quantity]:
    """Return the limits of *pod*: all containers together, or the greatest that starting it needs.

    Sidecars count for what runs beside them and for what starts after them. Limits of the pod as a whole
    replace those of its containers. Overhead adds to limits that are not 0.
    """
    spec = pod.spec
    total, starting, sidecars = _Sum(), _Sum(), _Sum()
    for container in spec.init_containers:
        limits = container.resources.limits
        if container.restart_policy == "Always":
            sidecars.add(limits)
            total.add(limits)
            starting.raise_to(sidecars.amounts)
        else:
            needed = _Sum()
            needed.add(limits)
            needed.add(sidecars.amounts)
            starting.raise_to(needed.amounts)
    for container in spec.containers:
        total.add(container.resources.limits)
    total.raise_to(starting.amounts)
    if spec.resources is not None:
        whole = spec.resources.limits
        total.amounts |= {name: amount for name, amount in whole.items() if supports_pod_level(name)}
    limited = {name for name, amount in total.amounts.items() if amount.nano}
    total.add({name: amount for name, amount in spec.overhead.items() if name in limited})
    return total.amounts


class _Sum:
    def __init__(self) -> None:
        self.amounts: dict[str, Quantity] = {}

    def add(self, amounts: Mapping[str, Quantity]) -> None:
        for name, amount in amounts.items():
            before = self.amounts.get(name)
            self.amounts[name] = amount if before is None else Quantity(before.nano + amount.nano)

    def raise_to(self, amounts: Mapping[str, Quantity]) -> None:
        for name, amount in amounts.items():
            before = self.amounts.get(name)
            if before is None or before.nano < amount.nano:
                self.amounts[name] = amount


def _lines(name: str, pod: Pod, amounts: Mapping[str, Quantity]) -> Iterator[str]:
    priority = pod.spec.priority
    labels = {
        "namespace": pod.namespace,
        "pod": pod.name,
        "node": pod.spec.node_name,
        "scheduler": pod.spec.scheduler_name,
        "priority": "" if priority is None else str(priority),
    }
    for resource, amount in sorted(amounts.items()):
        if not amount.nano:
            continue
        shown = labels | {"resource": resource, "unit": _unit(resource)}
        text = ",".join(f'{key}="{_escaped(value)}"' for key, value in sorted(shown.items()))
        yield f"{name}{{{text}}} {_number(amount)}\n"


def _unit(resource: str) -> str:
    if resource.startswith("hugepages-"):
        return "bytes"
    return _UNITS.get(resource, "integer")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(amount: Quantity) -> str:
    value = Decimal(amount.nano) / 1_000_000_000
    return str(int(value)) if value == int(value) else f"{value.normalize():f}"
