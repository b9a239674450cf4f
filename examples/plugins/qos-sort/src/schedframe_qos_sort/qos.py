"""The quality of service class of a pod.

Rules: https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

from schedframe import PodSpec, Quantity
from schedframe.api import ResourceRequirements

_QOS: Final = object()  # key in spec.memo
_COUNTED: Final = ("cpu", "memory")


class QOSClass(IntEnum):
    """The classes in scheduling order."""

    GUARANTEED = 0
    BURSTABLE = 1
    BEST_EFFORT = 2


def qos_class(spec: PodSpec) -> QOSClass:
    """Return the class of pods with that spec; O(containers), cached on the spec."""
    cached: QOSClass | None = spec.memo.get(_QOS)
    if cached is None:
        cached = spec.memo[_QOS] = _classify(spec)
    return cached


def _classify(spec: PodSpec) -> QOSClass:
    parts = [spec.resources] if spec.resources is not None and _named(spec.resources) else []
    if not parts:
        parts = [container.resources for container in (*spec.containers, *spec.init_containers)]
    if not any(_named(part) for part in parts):
        return QOSClass.BEST_EFFORT
    return QOSClass.GUARANTEED if all(map(_is_guaranteed, parts)) else QOSClass.BURSTABLE


def _is_guaranteed(part: ResourceRequirements) -> bool:
    """Return whether CPU and memory have limits, and requests, if any, equal them."""
    limits = _positive(part.limits)
    return limits.keys() == set(_COUNTED) and _positive(part.requests) in ({}, limits)


def _named(part: ResourceRequirements) -> bool:
    return bool(_positive(part.requests) or _positive(part.limits))


def _positive(amounts: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: amount for name, amount in _of(amounts) if amount.nano > 0}


def _of(amounts: Mapping[str, Quantity]) -> Iterable[tuple[str, Quantity]]:
    return ((name, amounts[name]) for name in _COUNTED if name in amounts)
