"""Use of a placement: MostAllocated over the sums of all of its nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from schedframe import MAX_SCORE, Pod
from schedframe.api import is_scalar_resource, scoring_requests
from schedframe.framework import GroupPlacement

from .scored import WeightedResource

_STANDARD = ("cpu", "memory", "ephemeral-storage")
_NON_ZERO = ("cpu", "memory")


def fullness(
    resources: Iterable[WeightedResource],
    placement: GroupPlacement,
    placed: Sequence[Pod],
    backed: Collection[str] = (),
) -> int:
    """Return the weighted mean of what would be requested of each resource, in percent, each at most 100.

    An extended resource that no member asks for is left out, and any that the nodes do not have. Of the
    members, pod-level requests and resources that a device class stands for (*backed*) are not counted.
    O(resources × (nodes + members)).
    """
    total = weights = 0
    rows = placement.rows
    amounts = [scoring_requests(pod) for pod in placed]
    for resource in resources:
        name = resource.name
        wanted = 0 if name in backed else sum([requests.get(name, 0) for requests in amounts])
        if name not in _STANDARD and not (wanted and is_scalar_resource(name)):
            continue
        capacity = int(rows.take(rows.table.allocatable(name)).sum())
        if not capacity:
            continue
        table = rows.table
        column = table.non_zero_requested(name) if name in _NON_ZERO else table.requested(name)
        used = int(rows.take(column).sum()) + wanted
        total += min(used * MAX_SCORE // capacity, MAX_SCORE) * resource.weight
        weights += resource.weight
    return total // weights if weights else 0
