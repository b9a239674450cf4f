"""Plugins of all the kinds that the equivalence cache tells apart, for worlds that are compared."""

from __future__ import annotations

import zlib
from typing import Any, ClassVar

import numpy as np
from attrs import define, field

from schedframe import (
    Code,
    Depends,
    NodeInfo,
    NodeTable,
    Normalization,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)
from schedframe.framework import GroupScores, GroupVerdicts
from schedframe.framework.hookspecs import Scores


def _digest(*parts: object) -> int:
    return zlib.crc32(repr(parts).encode())


@define(eq=False)
class Middle:
    """Asked for every pod, node by node, and keeps a list of whom it was asked about; fails now and then."""

    calls: list[tuple[str, str]] = field(factory=list)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        self.calls.append((pod.name, node_info.name))
        chance = _digest(pod.labels.get("zone"), node_info.name) % 5
        if chance == 0:
            return Status.unschedulable("not in the middle")
        if chance == 1 and pod.labels.get("disk") == "12":
            raise LookupError(f"nothing is stored for {node_info.name}")
        return None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        return _digest(pod.labels.get("disk"), node_info.name) % 101


@define(eq=False)
class Sieve:
    """Nothing but a filter by node: called for the best rows until enough pass."""

    calls: list[tuple[str, str]] = field(factory=list)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        self.calls.append((pod.name, node_info.name))
        chance = _digest(pod.labels.get("app"), node_info.name, len(node_info.pods)) % 4
        return (None, None, COARSE, Status.unresolvable(f"{len(node_info.pods)} stones"))[chance]


COARSE = Status.unschedulable("coarse")


@define(eq=False)
class FineSieve:
    """A second one, with a pre_filter that skips some pods, and a status that names another plugin."""

    calls: list[tuple[str, str]] = field(factory=list)

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        return Status.skip() if pod.labels.get("app") == "c" else None

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        self.calls.append((pod.name, node_info.name))
        busy = len(node_info.pods) % 3 == 2
        return Status(Code.UNSCHEDULABLE, ("fine",), "Somewhere") if busy else None


@define(eq=False)
class Columns:
    """Asked for every pod, by columns."""

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        if "cores" not in pod.labels:
            return None
        if pod.labels["cores"] == "5":
            raise LookupError("columns are not there")
        busy = rows.take(rows.table.pod_count) > 1
        return RowVerdicts(busy.astype(np.int8) * 2, (BUSY, BUSIER)) if busy.any() else None

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Scores:
        return rows.take(rows.table.pod_count) * 3

    @hookimpl
    def normalize_scores(self, scores: Scores) -> None:
        np.minimum(scores, 100, out=scores)


BUSY = Status.unschedulable("busy")
BUSIER = Status.unresolvable("busier")


@define(eq=False)
class Local:
    """Looks at one row, and has no columns: cached."""

    depends_on: ClassVar[Depends] = Depends.ROW

    @hookimpl
    def pod_signature(self, pod: Pod) -> Any:
        return pod.labels.get("zone"), pod.priority

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        if pod.labels.get("zone") == "a" and len(node_info.pods) > 2:
            return Status.unschedulable(f"{len(node_info.pods)} pods")
        return None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        return min(100, 10 * len(node_info.pods) + pod.priority)


@define(eq=False)
class Peak:
    """Remembered, with scores that depend on the highest of them; by node and by columns."""

    depends_on: ClassVar[Depends] = Depends.ROW
    normalization: ClassVar[Normalization] = Normalization.BY_MAX_REVERSED

    @hookimpl
    def pod_signature(self, pod: Pod) -> Any:
        return pod.labels.get("disk")

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        return len(node_info.pods) * (3 if pod.labels.get("disk") == "7" else 1)

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Scores:
        return rows.take(rows.table.pod_count) * (3 if pod.labels.get("disk") == "7" else 1)


@define(eq=False)
class Groups:
    """Live; gives nodes with as many pods the same answer; fails now and then."""

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        busy = rows.take(rows.table.pod_count) % _factor(pod) == 2
        return RowVerdicts.where(busy, BUSY) if busy.any() else None

    @hookimpl
    def filter_groups(self, pod: Pod, table: NodeTable) -> GroupVerdicts | None:
        if pod.labels.get("zone") == "b":
            raise LookupError("groups are not there")
        return GroupVerdicts((table.pod_count,), lambda keys: [n % _factor(pod) != 2 for (n,) in keys])

    @hookimpl
    def pre_score(self, pod: Pod) -> Status | None:
        return Status.skip() if pod.labels.get("app") == "a" else None

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Scores:
        return rows.take(rows.table.pod_count) * _factor(pod) % 101

    @hookimpl
    def score_groups(self, pod: Pod, table: NodeTable) -> GroupScores | None:
        if pod.labels.get("zone") == "a":
            raise LookupError("groups are not there")
        wrong = 200 if pod.labels.get("cores") == "5" else 0
        columns = (table.pod_count, table.allowed_pods)
        return GroupScores(columns, lambda keys: [wrong + n * _factor(pod) % 101 for n, _ in keys])


def _factor(pod: Pod) -> int:
    return 40 if pod.labels.get("disk") == "7" else 3


PLUGINS: dict[str, type[Any]] = {
    "Middle": Middle,
    "Sieve": Sieve,
    "FineSieve": FineSieve,
    "Columns": Columns,
    "Local": Local,
    "Peak": Peak,
    "Groups": Groups,
}
SIEVES = ("Sieve", "FineSieve")
