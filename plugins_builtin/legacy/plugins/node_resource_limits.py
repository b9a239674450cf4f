"""NodeResourceLimits: nodes that have as much CPU or memory as the limits of a pod score 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import Depends, NodeInfo, Pod, PodSpec, Rows, hookimpl
from schedframe.api import Container, whole_amounts

_RESOURCES: Final = ("cpu", "memory")
_LIMITS: Final = object()  # key in spec.memo


@define(eq=False)
class NodeResourceLimits:
    """Score 1 if the node could hold the pod's limit of CPU or of memory when empty, else 0.

    The score breaks ties between nodes that all other plugins score the same.
    """

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self, pod: Pod) -> tuple[tuple[str, int], ...]:
        """Return the limits of the pod."""
        return tuple(_limits_of(pod.spec).items())

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """Return 1 if one of the limits fits into what the node can allocate."""
        allocatable = node_info.allocatable
        return int(any(n <= allocatable.get(name, 0) for name, n in _limits_of(pod.spec).items()))

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows)."""
        scores = np.zeros(len(rows), np.int64)
        for name, amount in _limits_of(pod.spec).items():
            scores |= rows.take(rows.table.allocatable(name)) >= amount
        return scores


def _limits_of(spec: PodSpec) -> Mapping[str, int]:
    """Return the limits above 0 of CPU and memory; cached on the spec.

    The sum over the containers, or the limit of an init container if that is higher.
    """
    limits: Mapping[str, int] | None = spec.memo.get(_LIMITS)
    if limits is None:
        together = [_of_container(container) for container in spec.containers]
        first = [_of_container(container) for container in spec.init_containers]
        totals = {
            name: max(sum(each[name] for each in together), *(each[name] for each in first), 0)
            for name in _RESOURCES
        }
        limits = spec.memo[_LIMITS] = {name: total for name, total in totals.items() if total}
    return limits


def _of_container(container: Container) -> dict[str, int]:
    amounts = whole_amounts(container.resources.limits)
    return {name: amounts.get(name, 0) for name in _RESOURCES}
