"""Nodes that were offered to an extender keep their names while it is asked."""

from __future__ import annotations

from schedframe.framework import OfferedNodes
from schedframe.state import NodeTable
from tests.cycle.build import make_node


def test_a_node_that_goes_while_the_extender_is_asked_keeps_its_name() -> None:
    table = NodeTable()
    for name in "ab":
        table.set_node(make_node(name))
    offered = OfferedNodes(table.rows())
    assert [node.name for node in offered.nodes] == ["a", "b"]
    table.remove_node("b")
    assert offered.names == ["a", "b"]
