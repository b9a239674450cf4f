"""Look at some nodes only: how many, in which order, starting where. The rules are kube-scheduler's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import field

from ..._base.value import record
from ...framework import ExtenderVerb, Framework
from ...state import Cache, Rows

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE = 5
"""Of kube-scheduler: a search stops at no fewer feasible nodes."""

Positions = npt.NDArray[np.intp]

_SEARCHING = frozenset({ExtenderVerb.FILTER, ExtenderVerb.PRIORITIZE})


@record(eq=False)
class SearchOrder:
    """The order in which nodes are searched, for a cache that keeps it (``ordered=True``)."""

    cache: Cache
    _all: Rows | None = None
    _version: int = -1

    def rows(self) -> Rows:
        """Return all rows in search order; O(nodes) after a node changed, else O(1)."""
        table = self.cache.table
        names = self.cache.order.names()
        if self._all is None or self._version != table.node_log.version:
            rows = (table.live_row(name) for name in names)
            self._all = Rows.at(table, np.array([row for row in rows if row is not None], np.intp))
            self._version = table.node_log.version
        return self._all

    def sorted(self, rows: Rows) -> Rows:
        """Return *rows*, each of which is there once, in search order; O(nodes)."""
        ordered = self.rows()
        if len(rows) == len(ordered):
            return ordered
        chosen = np.zeros(rows.table.capacity, np.bool_)
        chosen[rows.index] = True
        return ordered.select(ordered.take(chosen))


@record(eq=False)
class Sampling:
    """The place where the next search starts and how far it goes, shared by all profiles."""

    cache: Cache
    percentage: int = 0
    """The configuration's percentageOfNodesToScore; 0 adapts to the number of nodes."""
    keeps_order: bool = False
    """Whether nodes are searched in the reference's order even where all of them are looked at."""
    next_start: int = 0
    order: SearchOrder = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.order = SearchOrder(self.cache)

    def wanted(self, framework: Framework, nodes: int) -> int:
        """Return how many feasible nodes are enough when *nodes* are searched."""
        if not framework.plan.score and not any(e.verbs & _SEARCHING for e in framework.handle.extenders):
            return 1
        if nodes < MIN_FEASIBLE_NODES_TO_FIND:
            return nodes
        percentage = framework.profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.percentage
        if percentage == 0:
            percentage = max(50 - nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE)
        return max(nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)

    def covers(self, framework: Framework) -> bool:
        """Return whether a search looks at all nodes, so that neither order nor start matters; O(1)."""
        nodes = self.cache.table.num_nodes
        return not self.keeps_order and self.wanted(framework, nodes) >= nodes

    def ordered(self) -> Positions:
        """Return all rows in search order; O(nodes) after a node changed, else O(1)."""
        return self.order.rows().positions

    def rotated(self, rows: Positions) -> Positions:
        """*rows* in order, from the start of this search around."""
        start = self.next_start % len(rows)
        return np.concatenate((rows[start:], rows[:start])) if start else rows

    def advance(self, evaluated: int) -> None:
        """Note that a search looked at *evaluated* nodes."""
        self.next_start = (self.next_start + evaluated) % len(self.ordered())
