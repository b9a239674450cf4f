"""The message when pre_filter named nodes and the nominated node was tried first and rejected."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import NodeInfo, Pod, PreFilterResult, Status

from .build import World, make_node, make_pod, plugin_class

A = plugin_class("A", pre_filter=lambda self: PreFilterResult(["n1"]))
C = plugin_class(
    "C", filter=lambda self, node_info: rejected_on(node_info, "n1", Status.unschedulable("C's"))
)


def rejected_on(info: NodeInfo, name: str, status: Status) -> Status | None:
    return status if info.name == name else None


def message(answer: Status, nominated: str) -> str:
    """Return the message about a pod that A restricts to n1, C rejects there, and B answers so on n2."""

    def filter_n2(self: Any, pod: Pod, node_info: NodeInfo) -> Status | None:
        return rejected_on(node_info, "n2", answer)

    world = World({"A": A, "B": plugin_class("B", filter=filter_n2), "C": C}, only={"postFilter": []})
    world.create(*(make_node(name) for name in ("n1", "n2", "n3")), make_pod(nominated=nominated))
    world.settle()
    condition = world.condition()
    assert condition is not None
    return condition[1]


@pytest.mark.parametrize("make", [Status.unschedulable, Status.unresolvable, Status.pending])
def test_the_plugin_that_rejected_the_nominated_node_is_listed(make: Any) -> None:
    restriction = "node(s) didn't satisfy plugin(s) [A B]"
    assert message(make("B's"), "n2") == f"0/3 nodes are available: 1 B's, 1 C's, 1 {restriction}."


def test_without_a_nomination_only_the_plugins_that_named_nodes_are_listed() -> None:
    restriction = "node(s) didn't satisfy plugin(s) [A]"
    for nominated in ("", "gone"):
        assert (
            message(Status.unschedulable("B's"), nominated)
            == f"0/3 nodes are available: 1 C's, 2 {restriction}."
        )


def test_a_nominated_node_among_the_named_ones() -> None:
    restriction = "node(s) didn't satisfy plugin(s) [A C]"
    assert message(Status.unschedulable("B's"), "n1") == f"0/3 nodes are available: 1 C's, 2 {restriction}."


def test_a_failure_on_the_nominated_node_is_no_rejection() -> None:
    assert "didn't satisfy plugin(s) [A]" in message(Status.from_error("broken"), "n2")
