"""Arrays that the table hands out cannot be written to, and still show what changes later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from schedframe.state import NodeTable, Rows

from .build import make_node, make_pod


def table_of(nodes: int, *, hole: bool = False) -> NodeTable:
    table = NodeTable()
    for number in range(nodes):
        table.set_node(make_node(f"n{number}", {"cpu": 4, "example.com/gpu": 2}))
        table.add_pod(f"n{number}", make_pod(f"p{number}", f"n{number}", {"cpu": 1, "example.com/gpu": 1}))
    if hole:
        table.remove_pod("n1", "uid-p1")
        table.remove_node("n1")
    return table


HOST = "kubernetes.io/hostname"


def image_mask(table: NodeTable) -> Any:
    table.set_node(make_node("n0", {"cpu": 4}, images={"image": 5}))
    state = table.images.get("image")
    return None if state is None else state.present(table.capacity)


COLUMNS: dict[str, Callable[[NodeTable], Any]] = {
    "alive": lambda table: table.alive,
    "unschedulable": lambda table: table.unschedulable,
    "pod_count": lambda table: table.pod_count,
    "allowed_pods": lambda table: table.allowed_pods,
    "allocatable cpu": lambda table: table.allocatable("cpu"),
    "allocatable pods": lambda table: table.allocatable("pods"),
    "allocatable gpu": lambda table: table.allocatable("example.com/gpu"),
    "allocatable unknown": lambda table: table.allocatable("example.com/unknown"),
    "requested memory": lambda table: table.requested("memory"),
    "requested gpu": lambda table: table.requested("example.com/gpu"),
    "requested unknown": lambda table: table.requested("example.com/unknown"),
    "non_zero_requested": lambda table: table.non_zero_requested("cpu"),
    "derived": lambda table: table.derived("number", lambda info: 1.0),
    "label codes": lambda table: table.label("kubernetes.io/hostname").codes,
    "answers": lambda table: table.label("zone").answers("question", lambda value: True, False),
    "image": image_mask,
    "domain codes": lambda table: table.label_groups.domains(HOST).codes,
    "domain nodes": lambda table: table.label_groups.domains(HOST).nodes,
    "pod counts": lambda table: table.label_groups.column("all", lambda group: 1).counts,
    "pod counts, positive": lambda table: table.label_groups.column("all", lambda group: 1).positive(),
    "sums": lambda table: table.label_groups.column("all", lambda group: 1).by_domain(HOST).sums,
    "row numbers": lambda table: table.rows().index,
}


@pytest.mark.parametrize("hole", [False, True])
@pytest.mark.parametrize("nodes", [3, 100])
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_cannot_be_written_to(name: str, nodes: int, hole: bool) -> None:
    table = table_of(nodes, hole=hole)
    column = COLUMNS[name](table)
    if not isinstance(column, np.ndarray):
        return
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 1
    table.check_invariants()


def test_what_rows_take_cannot_be_written_to_unless_it_is_a_copy() -> None:
    table = table_of(3)
    taken = table.rows().take(table.requested("cpu"))
    with pytest.raises(ValueError, match="read-only"):
        taken -= taken.min()
    some = Rows.at(table, np.array([0, 2])).take(table.requested("cpu"))
    some -= some.min()
    table.check_invariants()


def test_views_follow_the_table() -> None:
    table = table_of(3)
    requested, pods, alive = table.requested("cpu"), table.pod_count, table.alive
    table.add_pod("n0", make_pod("late", "n0", {"cpu": 2}))
    table.remove_node("n2")
    assert requested[:3].tolist() == [3, 1, 1]
    assert pods[:3].tolist() == [2, 1, 1]
    assert alive[:3].tolist() == [True, True, False]
