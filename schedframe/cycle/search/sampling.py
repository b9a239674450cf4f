"""Look at some nodes only: how many, in which order, starting where. The rules are kube-scheduler's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ...framework import Framework
from ...state import Cache

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE = 5

Positions = npt.NDArray[np.intp]


@define(eq=False)
class Sampling:
    """The search order of the nodes and the place where the next search starts, shared by all profiles."""

    cache: Cache
    percentage: int = 0
    """The configuration's percentageOfNodesToScore; 0 adapts to the number of nodes."""
    next_start: int = 0
    _ordered: Positions = field(factory=lambda: np.empty(0, np.intp))
    _version: int = -1

    def wanted(self, framework: Framework, nodes: int) -> int:
        """How many feasible nodes are enough when *nodes* are searched."""
        if not framework.plan.score and not framework.handle.extenders:
            return 1
        if nodes < MIN_FEASIBLE_NODES_TO_FIND:
            return nodes
        percentage = framework.profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.percentage
        if percentage == 0:
            percentage = max(50 - nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE)
        return max(nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)

    def ordered(self) -> Positions:
        """All rows in search order; O(nodes) after a node changed, else O(1)."""
        table = self.cache.table
        names = self.cache.order.names()
        if self._version != table.node_log.version:
            rows = (table.live_row(name) for name in names)
            self._ordered = np.array([row for row in rows if row is not None], np.intp)
            self._version = table.node_log.version
        return self._ordered

    def rotated(self, rows: Positions) -> Positions:
        """*rows* in order, from the start of this search around."""
        start = self.next_start % len(rows)
        return np.concatenate((rows[start:], rows[:start])) if start else rows

    def advance(self, evaluated: int) -> None:
        """Note that a search looked at *evaluated* nodes."""
        self.next_start = (self.next_start + evaluated) % len(self.ordered())
