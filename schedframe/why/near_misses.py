"""The rejected nodes that are nearest to being feasible, each with the rejections of all filter plugins.

A scheduling cycle stops at the first plugin that rejects a node. Here all plugins are run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import evolve

from .._base.value import record
from ..api import Pod
from ..cycle import Decision
from ..framework import Code, Framework, Status, Verdicts
from ..framework.filtering import call_columnar, filter_node
from ..framework.plan import FilterEntry
from ..simulate.amounts import amount_text
from ..simulate.explain import explain_rejection
from ..state import NodeInfo, Rows

NODE_LIMIT: Final = 48
"""Nodes that are filtered by all plugins one by one, nearest first."""
_PER_COMBINATION: Final = 3
"""Nodes with the same combination of rejections that are examined beyond the nearest ones."""
_PER_NODE_FILTER_LIMIT: Final = 1000
"""Nodes on which a plugin without a columnar form is run for the order of nodes."""

PODS: Final = "pods"
NO_ALLOCATABLE: Final = "the node has no status.allocatable"


@record(frozen=True)
class Shortage:
    """A resource of which a node has too little left, in milli-CPU, bytes or counts."""

    resource: str
    needed: int
    free: int
    total: int
    """The allocatable amount of the node; 0 means that it does not have the resource."""

    @property
    def lacking(self) -> int:
        """The amount that is missing."""
        return self.needed - self.free

    def __str__(self) -> str:
        needs = f"needs {amount_text(self.resource, self.needed)} {self.resource}"
        if not self.total:
            return f"{needs}, the node has none"
        if self.free <= 0 and self.total >= self.needed:
            return f"{needs}, all {amount_text(self.resource, self.total)} taken"
        free = f"{amount_text(self.resource, self.free)} free"
        if self.total < self.needed:
            return f"{needs}, {free}, and the whole node has {amount_text(self.resource, self.total)}"
        return f"{needs}, {free}"


@record(frozen=True)
class Obstacle:
    """The rejection of one node by one plugin."""

    plugin: str
    reasons: tuple[str, ...]
    final: bool
    """Whether removing pods from the node would not help, according to the plugin."""
    detail: str = ""
    """The plugin's explanation, if it has one."""
    shortages: tuple[Shortage, ...] = ()
    remark: str = ""
    """Pods whose overhead counts twice, of a node with too little left."""

    @property
    def size(self) -> float:
        """1 for each reason; for a shortage, the share of the demand that is missing."""
        short = sum(min(1.0, each.lacking / each.needed) for each in self.shortages)
        return short + max(0, len(self.reasons) - len(self.shortages))

    def __str__(self) -> str:
        more = [self.detail] if self.detail else [str(each) for each in self.shortages]
        more += [self.remark] if self.remark else []
        behind = f" ({'; '.join(more)})" if more else ""
        return f"{self.plugin}: {', '.join(self.reasons)}{behind}"

    def to_dict(self) -> dict[str, Any]:
        """Return the obstacle in plain types."""
        return {
            "plugin": self.plugin,
            "reasons": list(self.reasons),
            "final": self.final,
            "detail": self.detail,
            "remark": self.remark,
            "shortages": [
                {
                    "resource": each.resource,
                    "needed": each.needed,
                    "free": each.free,
                    "allocatable": each.total,
                }
                for each in self.shortages
            ],
        }


@record(frozen=True)
class NearMiss:
    """A node that rejects the pod, with the rejections of all plugins."""

    node: str
    obstacles: tuple[Obstacle, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: nodes with all resources first, then by number of reasons, their size, and the name."""
        reasons = sum(len(each.reasons) or 1 for each in self.obstacles)
        absent = sum(not each.total for each in self.shortages)
        return (absent, reasons, round(sum(each.size for each in self.obstacles), 9), self.node)

    @property
    def shortages(self) -> tuple[Shortage, ...]:
        """The shortages of all obstacles."""
        return tuple(short for each in self.obstacles for short in each.shortages)

    def to_dict(self) -> dict[str, Any]:
        """Return the node and its obstacles in plain types."""
        return {"node": self.node, "obstacles": [each.to_dict() for each in self.obstacles]}


def near_misses(framework: Framework, decision: Decision) -> list[NearMiss]:
    """Return the nearest rejected nodes and some with every combination of rejections, nearest first.

    At most :data:`NODE_LIMIT` nodes; none where pre_filter rejected the pod as a whole. Columnar plugins
    filter all rows, which is O(plugins × rows).
    """
    verdicts = decision.verdicts
    if verdicts is None or not len(verdicts.rows):
        return []
    return _Examination(framework, decision, verdicts).near_misses()


def short_resource(status: Status, reason: str) -> str | None:
    """Return the resource of which *reason* says that there is too little, ``None`` if it is no shortage."""
    details = status.details.get(reason) if status.details is not None else None
    resource = details.get("resource") if isinstance(details, Mapping) else None
    return resource if isinstance(resource, str) else None


@record(eq=False)
class _Examination:
    """One decision whose rejected nodes are examined."""

    framework: Framework
    decision: Decision
    verdicts: Verdicts

    def near_misses(self) -> list[NearMiss]:
        rows = self.verdicts.rows
        codes = [self._codes(entry) for entry in self._filters()]
        counted = np.zeros(len(rows), np.int64)
        for each, reasons in codes:
            counted += reasons[each]
        rejected = np.flatnonzero(self.verdicts.codes)
        counted[rejected] = np.maximum(counted[rejected], 1)
        sizes, absent, names = *_missing_shares(self.decision.pod, rows), rows.names()
        nearest = sorted(rejected.tolist(), key=lambda i: (absent[i], counted[i], sizes[i], names[i]))
        chosen = _chosen(nearest, [each for each, _ in codes])
        misses = [self._near_miss(position) for position in chosen]
        return sorted((miss for miss in misses if miss.obstacles), key=lambda miss: miss.order)

    def _filters(self) -> list[FilterEntry]:
        skipped = self.decision.state.skip_filter_plugins
        return [entry for entry in self.framework.plan.filter if entry.name not in skipped]

    def _codes(self, entry: FilterEntry) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the code that one plugin gives each row, and the number of reasons of each code."""
        rows, state, pod = self.verdicts.rows, self.decision.state, self.decision.pod
        verdicts = Verdicts.passing_all(rows)
        if entry.filter_rows is not None:
            answer = call_columnar(entry, state, pod, rows)
            if answer is not None:
                verdicts.merge(entry.name, answer)
        else:
            for position, info in zip(range(_PER_NODE_FILTER_LIMIT), rows, strict=False):
                status = filter_node(entry, state, pod, info, rows.table)
                if status is not None:
                    verdicts.reject(position, status)
        return verdicts.codes, np.array([0, *(len(status.reasons) or 1 for status in verdicts.statuses)])

    def _near_miss(self, position: int) -> NearMiss:
        rows = self.verdicts.rows
        info = rows.table.info(int(rows.positions[position]))
        statuses = self.framework.run_all_filters(self.decision.state, self.decision.pod, info)
        obstacles = [
            self._obstacle(plugin, status, info)
            for plugin, status in statuses.items()
            if not status.is_success
        ]
        status = self.verdicts.status_at(position)
        if not obstacles and status is not None:
            # The node is rejected only because pods that are nominated to it are counted.
            obstacle = self._obstacle(status.plugin, status, info)
            obstacles.append(evolve(obstacle, detail=obstacle.detail or "counting nominated pods"))
        return NearMiss(info.name, tuple(obstacles))

    def _obstacle(self, plugin: str, status: Status, info: NodeInfo) -> Obstacle:
        pod = self.decision.pod
        final = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        detail = explain_rejection(self.framework, status, self.decision.state, pod, info) or ""
        if not detail and not any(info.allocatable.values()):
            detail = NO_ALLOCATABLE
        shortages = tuple(_shortages(pod, info, status))
        remark = _counted_twice(info) if shortages else ""
        return Obstacle(plugin, status.reasons, final, detail, shortages, remark)


def _counted_twice(info: NodeInfo) -> str:
    """Return the pods of the node whose overhead counts twice; empty without such pods. O(pods)."""
    pods = sorted(pod.key for pod in info.pods.values() if _has_overhead_twice(pod))
    more = f" and {len(pods) - 1} more pods" if len(pods) > 1 else ""
    return f"as in kube-scheduler v1.36, the overhead of {pods[0]}{more} counts twice" if pods else ""


def _has_overhead_twice(pod: Pod) -> bool:
    """Return whether the amounts allocated to a pod with pod-level requests have its overhead in them."""
    spec, status = pod.spec, pod.status
    if not spec.overhead or spec.resources is None or status.resources is None:
        return False
    requests, allocated = spec.resources.requests, status.allocated_resources or {}
    return any(
        name in requests and name in allocated and allocated[name] >= requests[name] + overhead
        for name, overhead in spec.overhead.items()
        if overhead
    )


def _shortages(pod: Pod, info: NodeInfo, status: Status) -> list[Shortage]:
    """Return the resources that *status* names and of which the node has too little left."""
    named = {short_resource(status, reason) for reason in status.reasons}
    shortages = []
    for resource, needed in (*pod.requests.items(), (PODS, 1)):
        used = len(info.pods) if resource == PODS else info.requested.get(resource, 0)
        total = info.allocatable.get(resource, 0)
        if resource in named and needed > total - used:
            shortages.append(Shortage(resource, needed, total - used, total))
    return shortages


def _missing_shares(pod: Pod, rows: Rows) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return for each row the sum of the missing shares of requests, and the number of absent resources."""
    table, shares, absent = rows.table, np.zeros(len(rows)), np.zeros(len(rows), np.int64)
    for resource, needed in pod.requests.items():
        if needed > 0:
            total = rows.take(table.allocatable(resource))
            free = total - rows.take(table.requested(resource))
            shares += np.clip((needed - free) / needed, 0.0, 1.0)
            absent += total == 0
    return shares, absent


def _chosen(nearest: list[int], codes: list[npt.NDArray[np.int32]]) -> list[int]:
    """Return the nearest positions, and the nearest with each combination of codes."""
    chosen = dict.fromkeys(nearest[: NODE_LIMIT // 2])
    seen: dict[tuple[int, ...], int] = {}
    for position in nearest:
        if len(chosen) >= NODE_LIMIT:
            break
        combination = tuple(int(each[position]) for each in codes)
        seen[combination] = seen.get(combination, 0) + 1
        if seen[combination] <= _PER_COMBINATION:
            chosen[position] = None
    return list(chosen)
