"""Nodes as an extender sent them back, in place of rows of the node table.

As in the reference they are scored without their pods and images, by their present labels, taints and
resources. What plugins count over all nodes, such as pods by zone, comes from the node table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import evolve

from ...api import Node
from ...framework import Framework
from ...framework.plan import Plan
from ...state import NodeInfo, NodeTable, Rows


class ReplacedRows(Rows):
    """Rows of a table of their own, which has just these nodes. Iterating gives infos without a row."""

    __slots__ = ("nodes",)

    nodes: Sequence[Node]

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> ReplacedRows:
        """Return *nodes* as rows, in order; a name may be there twice. O(nodes)."""
        table = NodeTable()
        without_images = (evolve(node, status=evolve(node.status, images=())) for node in nodes)
        positions = [table.set_node(node) for node in without_images]
        rows = cls.at(table, np.array(positions, np.intp))
        assert isinstance(rows, ReplacedRows)
        rows.nodes = nodes
        return rows

    def __iter__(self) -> Iterator[NodeInfo]:
        return map(NodeInfo.of, self.nodes)

    def subset(self, positions: Sequence[int]) -> ReplacedRows:
        """Return the nodes at *positions*."""
        return ReplacedRows.of([self.nodes[position] for position in positions])


def plan_by_node(framework: Framework) -> Plan:
    """Return the plan with scores node by node: columnar forms read rows of the node table."""
    plan = framework.plan
    return evolve(
        plan, score=tuple([e if e.score is None else evolve(e, score_rows=None) for e in plan.score])
    )
