"""Prepared answers for batches of pods and answers by group of rows: right ones, and ones that disagree."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import Depends, NodeInfo, NodeTable, Pod, Rows, RowVerdicts, Status, hookimpl
from schedframe.framework import GroupScores, GroupVerdicts

NO = Status.unschedulable("no")


@define(eq=False)
class Prepared:
    """All forms of filter and of score but by group, prepared ones included."""

    depends_on: ClassVar[Depends] = Depends.ROW

    @hookimpl
    def pod_signature(self) -> Hashable:
        return ()

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return NO if len(node_info.pods) > 1 else None

    @hookimpl
    def filter_rows(self, rows: Rows) -> RowVerdicts | None:
        full = rows.take(rows.table.pod_count) > 1
        return RowVerdicts.where(full, NO) if full.any() else None

    @hookimpl
    def prepare_filter(self, pods: Sequence[Pod], table: NodeTable) -> Callable[[int], list[Status] | None]:
        return lambda row: [NO] * len(pods) if table.pod_count[row] > 1 else None

    @hookimpl
    def prepare_score(self, pods: Sequence[Pod], table: NodeTable) -> Callable[[int], list[int]]:
        # Of nodes that are full anything may be said.
        return lambda row: [int(table.pod_count[row]) if table.pod_count[row] < 2 else -1] * len(pods)

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return min(len(node_info.pods), 100)


@define(eq=False)
class ByGroup:
    """Nodes with as many pods are treated alike."""

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return NO if len(node_info.pods) == 1 else None

    @hookimpl
    def filter_groups(self, table: NodeTable) -> GroupVerdicts:
        return GroupVerdicts((table.pod_count,), lambda keys: [pods != 1 for (pods,) in keys])

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return len(node_info.pods)

    @hookimpl
    def normalize_scores(self, scores: npt.NDArray[np.int64]) -> None:
        scores[:] = 100 - np.minimum(scores, 100)

    @hookimpl
    def score_groups(self, table: NodeTable) -> GroupScores | None:
        if table.num_nodes == 1:
            return None
        return GroupScores((table.pod_count,), lambda keys: [100 - min(pods, 100) for (pods,) in keys])


@define(eq=False)
class VerdictsOfPodsDisagree(Prepared):
    """Lets the last one in."""

    @hookimpl
    def prepare_filter(
        self, pods: Sequence[Pod], table: NodeTable
    ) -> Callable[[int], list[Status | None] | None]:
        return lambda row: [NO] * (len(pods) - 1) + [None] if table.pod_count[row] > 1 else None


@define(eq=False)
class RejectsOfPodsDisagree(Prepared):
    """Gives the right reasons, and rejects the last pod only."""

    @hookimpl
    def prepare_filter(self, pods: Sequence[Pod], table: NodeTable) -> Callable[[int], list[Status] | None]:
        @define(eq=False)
        class Full:
            def __call__(self, row: int) -> list[Status] | None:
                return [NO] * len(pods) if table.pod_count[row] > 1 else None

            def rejects(self, row: int) -> npt.NDArray[np.bool_] | None:
                return np.arange(len(pods)) == len(pods) - 1 if table.pod_count[row] > 1 else None

        return Full()


@define(eq=False)
class TooFewVerdictsOfPods(Prepared):
    """Says for the first pod what goes for all."""

    @hookimpl
    def prepare_filter(self, table: NodeTable) -> Callable[[int], list[Status] | None]:
        return lambda row: [NO] if table.pod_count[row] > 1 else None


@define(eq=False)
class ScoresOfPodsDisagree(Prepared):
    """Off by one for the second pod."""

    @hookimpl
    def prepare_score(self, pods: Sequence[Pod], table: NodeTable) -> Callable[[int], list[int]]:
        return lambda row: [min(int(table.pod_count[row]), 100) + (i == 1) for i in range(len(pods))]


@define(eq=False)
class ScoresOfGroupsDisagree:
    """Forgets that pods count twice."""

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return min(2 * len(node_info.pods), 100)

    @hookimpl
    def score_groups(self, table: NodeTable) -> GroupScores:
        return GroupScores((table.pod_count,), lambda keys: [min(pods, 100) for (pods,) in keys])


@define(eq=False)
class VerdictsOfGroupsDisagree:
    """Lets one pod more in."""

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return NO if node_info.pods else None

    @hookimpl
    def filter_groups(self, table: NodeTable) -> GroupVerdicts:
        return GroupVerdicts((table.pod_count,), lambda keys: [pods < 2 for (pods,) in keys])
