"""What stands between a pod and each node: all of it, not only what the first plugin says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import frozen

from ..api import Pod
from ..cycle import Decision
from ..framework import Code, Framework, Status, Verdicts
from ..framework.filtering import ask_columnar, filter_node
from ..framework.plan import FilterEntry
from ..simulate.amounts import amount_text
from ..simulate.explaining import account
from ..state import NodeInfo, Rows

LOOKED_AT: Final = 48
"""Nodes that are looked at plugin by plugin, nearest first."""
_OF_EACH_SORT: Final = 3
_BY_NODE: Final = 1000
"""Nodes that a plugin without columnar form is asked about."""

PODS: Final = "pods"


@frozen
class Shortage:
    """A resource of which a node has too little left, in milli-CPU, bytes or counts."""

    resource: str
    needed: int
    free: int

    @property
    def lacking(self) -> int:
        """How much more it would take."""
        return self.needed - self.free

    def __str__(self) -> str:
        needed, free = amount_text(self.resource, self.needed), amount_text(self.resource, self.free)
        return f"needs {needed} {self.resource}, {free} free"


@frozen
class Obstacle:
    """One plugin's rejection of one node."""

    plugin: str
    reasons: tuple[str, ...]
    final: bool
    """Whether the plugin says that no pod's leaving would help."""
    detail: str = ""
    """What is behind it, where the plugin says so."""
    shortages: tuple[Shortage, ...] = ()

    @property
    def size(self) -> float:
        """1 for each reason, for a shortage the share of the demand that is lacking."""
        short = sum(min(1.0, each.lacking / each.needed) for each in self.shortages)
        return short + max(0, len(self.reasons) - len(self.shortages))

    def __str__(self) -> str:
        more = [self.detail] if self.detail else [str(each) for each in self.shortages]
        behind = f" ({'; '.join(more)})" if more else ""
        return f"{self.plugin}: {', '.join(self.reasons)}{behind}"

    def to_dict(self) -> dict[str, Any]:
        """In plain types."""
        return {
            "plugin": self.plugin,
            "reasons": list(self.reasons),
            "final": self.final,
            "detail": self.detail,
            "shortages": [
                {"resource": each.resource, "needed": each.needed, "free": each.free}
                for each in self.shortages
            ],
        }


@frozen
class NearMiss:
    """A node that rejects the pod, with everything that is in the way there."""

    node: str
    obstacles: tuple[Obstacle, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        """What nodes are sorted by: number of reasons, then their size, then the name."""
        reasons = sum(len(each.reasons) or 1 for each in self.obstacles)
        return (reasons, round(sum(each.size for each in self.obstacles), 9), self.node)

    @property
    def shortages(self) -> tuple[Shortage, ...]:
        """Of all obstacles."""
        return tuple(short for each in self.obstacles for short in each.shortages)

    def to_dict(self) -> dict[str, Any]:
        """In plain types."""
        return {"node": self.node, "obstacles": [each.to_dict() for each in self.obstacles]}


def near_misses(framework: Framework, decision: Decision) -> list[NearMiss]:
    """The rejected nodes that are nearest, and some of each sort; nearest first, at most :data:`LOOKED_AT`.

    Columnar plugins are asked about all rows, which is O(plugins x rows); only few nodes are looked at one by
    one. Nothing is found where pre_filter rejected the pod as a whole.
    """
    verdicts = decision.verdicts
    if verdicts is None or not len(verdicts.rows):
        return []
    rows = verdicts.rows
    codes = [_codes(framework, entry, decision, rows) for entry in _asked(framework, decision)]
    counted = np.zeros(len(rows), np.int64)
    for each, reasons in codes:
        counted += reasons[each]
    rejected = np.flatnonzero(verdicts.codes)
    counted[rejected] = np.maximum(counted[rejected], 1)
    sizes = _sizes(decision.pod, rows)
    names = rows.names()
    nearest = sorted(rejected.tolist(), key=lambda i: (counted[i], sizes[i], names[i]))
    found = [
        _looked_at(framework, decision, position)
        for position in _chosen(nearest, [each for each, _ in codes])
    ]
    return sorted((miss for miss in found if miss.obstacles), key=lambda miss: miss.order)


def _asked(framework: Framework, decision: Decision) -> list[FilterEntry]:
    skipped = decision.state.skip_filter_plugins
    return [entry for entry in framework.plan.filter if entry.name not in skipped]


def _codes(
    framework: Framework, entry: FilterEntry, decision: Decision, rows: Rows
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """What one plugin says of each row, and how many reasons each code stands for."""
    verdicts = Verdicts.passing_all(rows)
    if entry.filter_rows is not None:
        answer = ask_columnar(entry, decision.state, decision.pod, rows)
        if answer is not None:
            verdicts.merge(entry.name, answer)
    else:
        for position, info in zip(range(_BY_NODE), rows, strict=False):
            status = filter_node(entry, decision.state, decision.pod, info, rows.table)
            if status is not None:
                verdicts.reject(position, status)
    return verdicts.codes, np.array([0, *(len(status.reasons) or 1 for status in verdicts.statuses)])


def _sizes(pod: Pod, rows: Rows) -> npt.NDArray[np.float64]:
    """The lacking shares of all demands of the pod."""
    table, sizes = rows.table, np.zeros(len(rows))
    for resource, needed in pod.requests.items():
        if needed > 0:
            free = rows.take(table.allocatable(resource)) - rows.take(table.requested(resource))
            sizes += np.clip((needed - free) / needed, 0.0, 1.0)
    return sizes


def _chosen(nearest: list[int], codes: list[npt.NDArray[np.int32]]) -> list[int]:
    """The nearest positions, and the nearest of each combination of verdicts."""
    found = dict.fromkeys(nearest[: LOOKED_AT // 2])
    sorts: dict[tuple[int, ...], int] = {}
    for position in nearest:
        if len(found) >= LOOKED_AT:
            break
        sort = tuple(int(each[position]) for each in codes)
        sorts[sort] = sorts.get(sort, 0) + 1
        if sorts[sort] <= _OF_EACH_SORT:
            found[position] = None
    return list(found)


def _looked_at(framework: Framework, decision: Decision, position: int) -> NearMiss:
    verdicts = decision.verdicts
    assert verdicts is not None
    rows = verdicts.rows
    info = rows.table.info(int(rows.positions[position]))
    told = framework.run_all_filters(decision.state, decision.pod, info)
    obstacles = [
        _obstacle(framework, decision, plugin, status, info)
        for plugin, status in told.items()
        if not status.is_success
    ]
    status = verdicts.status_at(position)
    if not obstacles and status is not None:
        # The node would do but for the pods that are nominated to it.
        found = _obstacle(framework, decision, status.plugin, status, info)
        beside = Obstacle(found.plugin, found.reasons, found.final, found.detail or "counting nominated pods")
        obstacles.append(beside)
    return NearMiss(info.name, tuple(obstacles))


def _obstacle(
    framework: Framework, decision: Decision, plugin: str, status: Status, info: NodeInfo
) -> Obstacle:
    final = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    detail = account(framework, status, decision.state, decision.pod, info) or ""
    return Obstacle(
        plugin, status.reasons, final, detail, tuple(shortages(decision.pod, info, status.reasons))
    )


def shortages(pod: Pod, info: NodeInfo, reasons: Iterable[str]) -> list[Shortage]:
    """The resources that *reasons* name as a word and of which the node has too little left."""
    words = {word for reason in reasons for word in reason.split()}
    found = []
    for resource, needed in (*pod.requests.items(), (PODS, 1)):
        free = info.allocatable.get(resource, 0) - (
            len(info.pods) if resource == PODS else info.requested.get(resource, 0)
        )
        if resource in words and needed > free:
            found.append(Shortage(resource, needed, free))
    return found
