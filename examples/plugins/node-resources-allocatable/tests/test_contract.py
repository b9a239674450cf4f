"""The plugin keeps the contract."""

from __future__ import annotations

from schedframe_node_resources_allocatable import AllocatableArgs, NodeResourcesAllocatable

from schedframe.testing import check_plugin


def test_contract() -> None:
    check_plugin(NodeResourcesAllocatable, max_examples=15)
    check_plugin(NodeResourcesAllocatable, AllocatableArgs("Most"), max_examples=15)
