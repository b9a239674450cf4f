"""PodState: prefer nodes with terminating pods, avoid nodes to which pods are nominated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import MAX_SCORE, Handle, NodeInfo, Pod, Rows, hookimpl
from schedframe.state import RowChangeReader

Ints = npt.NDArray[np.int64]


def scale(scores: Ints) -> None:
    """Stretch *scores* in place to 0…100; all become 0 if they are equal."""
    if len(scores):
        lowest = scores.min()
        spread = int(scores.max() - lowest)
        scores -= lowest
        scores *= MAX_SCORE
        if spread:
            scores //= spread


@define(eq=False)
class PodState:
    """Score one point for each terminating pod on the node, minus one for each nominated pod."""

    handle: Handle
    _terminating: Ints = field(factory=lambda: np.zeros(0, np.int64), init=False)
    _follower: RowChangeReader | None = field(default=None, init=False)

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        """Return terminating pods minus nominated pods; O(pods of the node)."""
        terminating = sum(pod.is_terminating for pod in node_info.pods.values())
        return terminating - sum(1 for _ in self.handle.nominator.nominated_pods_for_node(node_info.name))

    @hookimpl
    def score_rows(self, rows: Rows) -> Ints:
        """As :meth:`score`; O(rows + pods of rows that changed + nominated pods)."""
        table, nominator = rows.table, self.handle.nominator
        column = self._column()
        if nominator:
            column = column.copy()
            for name in nominator.node_names:
                row = table.live_row(name)
                if row is not None:
                    column[row] -= sum(1 for _ in nominator.nominated_pods_for_node(name))
        return column[rows.index].copy()

    @hookimpl
    def normalize_scores(self, pod: Pod, scores: Ints) -> None:
        """Stretch to 0…100."""
        scale(scores)

    def _column(self) -> Ints:
        """Return the number of terminating pods per row, up to date."""
        table = self.handle.table
        if self._follower is None:
            self._follower = RowChangeReader(table)
        changed = self._follower.changed()
        if len(self._terminating) < table.capacity:
            column = np.zeros(table.capacity, np.int64)
            column[: len(self._terminating)] = self._terminating
            self._terminating = column
        for row in changed:
            self._terminating[row] = sum(pod.is_terminating for pod in table.pods_at(row).values())
        return self._terminating
