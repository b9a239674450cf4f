"""Classes with a slot of the score matrix decide as each of them would alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from schedframe import Taint
from schedframe.api import PREFER_NO_SCHEDULE
from schedframe.cycle.equivalence import equivalence_class
from schedframe.cycle.equivalence.evaluate.batch import BatchEvaluator
from schedframe.cycle.equivalence.index import score_matrix
from schedframe.cycle.equivalence.index.score_matrix import MatrixSlot

from ..build import World, make_node, make_pod
from .comparison import lowered
from .matrix_worlds import SIZES, attached_of, classes_of, schedule, world_of

pytestmark = pytest.mark.usefixtures("matrix_from_two_classes")

SLOW = Taint("slow", "", PREFER_NO_SCHEDULE)


def test_a_class_alone_has_no_slot_and_attaches_once_there_is_another() -> None:
    world = world_of(50)
    assert all(schedule(world, 20, "100m"))
    assert [isinstance(each.index, MatrixSlot) for each in classes_of(world)] == [False]
    assert all(schedule(world, 60, *SIZES, name="q"))
    assert attached_of(world) == [True] * 3
    assert [each.columns for each in classes_of(world)] == [None] * 3


def test_rows_in_equal_states_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    evaluate = BatchEvaluator.evaluate
    monkeypatch.setattr(
        BatchEvaluator, "evaluate", lambda batch, row: asked.append(row) or evaluate(batch, row)
    )
    world = world_of(50)
    assert all(schedule(world, 50, "100m", "100m", "200m"))
    assert 0 < len(asked) < 20


def test_nodes_that_join_and_leave_are_taken_in() -> None:
    world = world_of(20)
    schedule(world, 20, *SIZES)
    for i in range(20):
        if i != 3:
            world.cluster.delete("Node", f"n{i}")
    world.cluster.create(make_node("new", cpu="2"))
    assert set(schedule(world, 6, *SIZES, name="q")) == {"n3", "new"}
    assert attached_of(world) == [True] * 3
    for i in range(100):
        world.cluster.create(make_node(f"many{i}"))
    assert all(host.startswith("many") for host in schedule(world, 30, *SIZES, name="r"))
    assert attached_of(world) == [True] * 3


def test_a_node_that_is_closed_or_gone_is_left_out_from_then_on() -> None:
    world = world_of(6)
    schedule(world, 12, *SIZES)
    assert attached_of(world) == [True] * 3
    world.cluster.update(make_node("n1", unschedulable=True))
    world.cluster.delete("Node", "n2")
    assert not {"n1", "n2"} & set(schedule(world, 60, *SIZES, name="q"))
    assert attached_of(world) == [True] * 3
    world.cluster.update(make_node("n1"))
    assert "n1" in schedule(world, 12, *SIZES, name="r")


def test_a_rebuild_of_the_node_columns_evicts_all_slots() -> None:
    world = world_of(6)
    schedule(world, 12, *SIZES)
    assert attached_of(world) == [True] * 3
    shared = classes_of(world)[0].shared
    matrix = shared.matrix
    shared.node_columns.generation += 1
    assert not matrix.sync()
    assert not any(each.index.attached for each in classes_of(world))


def test_a_class_without_feasible_node_gets_its_message() -> None:
    world = world_of(3)
    hosts = schedule(world, 40, "1", "500m")
    waiting = [pod for pod in world.cluster.list("Pod") if not pod.spec.node_name]
    assert len(waiting) == hosts.count("") > 0
    (message,) = {condition.message for pod in waiting for condition in pod.status.conditions}
    assert message.startswith("0/3 nodes are available: 3 Insufficient cpu.")
    for pod in [pod for pod in world.cluster.list("Pod") if pod.spec.node_name][:4]:
        world.cluster.delete("Pod", pod.key)
    world.clock.advance(60.0)
    world.scheduler.run_until_idle()
    assert sum(1 for pod in world.cluster.list("Pod") if not pod.spec.node_name) < len(waiting)


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.cluster.create(make_node("slow", taints=(SLOW,))),
        lambda world: [world.cluster.create(make_node(f"more{i}")) for i in range(30)],
    ],
    ids=["nodes are liked differently", "too many nodes"],
)
def test_classes_leave_a_matrix_that_cannot_serve_them(
    change: Callable[[World], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered(monkeypatch, pass_rows=40)
    world = world_of(20)
    schedule(world, 20, *SIZES)
    assert attached_of(world) == [True] * 3
    change(world)
    assert all(schedule(world, 20, *SIZES, name="q"))
    assert attached_of(world) == [False] * 3


def test_the_number_of_slots_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered(monkeypatch, matrix_max_classes=2)
    world = world_of(12)
    assert all(schedule(world, 20, *SIZES[:2]))
    assert attached_of(world) == [True, True]
    assert all(schedule(world, 20, *SIZES, name="q"))
    assert sum(attached_of(world)) <= 2


def test_after_many_changes_each_class_is_updated_from_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    evaluate = BatchEvaluator.evaluate
    monkeypatch.setattr(
        BatchEvaluator, "evaluate", lambda batch, row: asked.append(row) or evaluate(batch, row)
    )
    by_columns: list[Any] = []
    scores = equivalence_class.partial_scores
    monkeypatch.setattr(
        equivalence_class,
        "partial_scores",
        lambda query, codes: by_columns.append(query) or scores(query, codes),
    )
    world = world_of(60)
    schedule(world, 6, *SIZES)
    assert attached_of(world) == [True] * 3
    for i in range(40):
        world.cluster.create(make_pod(f"there{i}", cpu=f"{i + 1}m", node_name=f"n{i}"))
    world.scheduler.run_until_idle()
    asked.clear()
    by_columns.clear()
    assert all(schedule(world, 9, *SIZES, name="q"))
    assert len(asked) <= 9
    assert len(by_columns) == 3
    assert attached_of(world) == [True] * 3


def test_the_matrix_needs_a_number_of_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered(monkeypatch, rows_per_class=1)
    world = world_of(60)
    sizes = [f"{10 + i}m" for i in range(60)]
    assert all(schedule(world, 30, *sizes[:30]))
    assert not any(attached_of(world))
    assert all(schedule(world, 360, *sizes, name="q"))
    assert attached_of(world) == [True] * 60


def test_a_late_class_joins_the_batch_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[int] = []
    begin = BatchEvaluator.__attrs_post_init__
    monkeypatch.setattr(
        BatchEvaluator,
        "__attrs_post_init__",
        lambda batch: prepared.append(len(batch.queries)) or begin(batch),
    )
    lowered(monkeypatch, matrix_max_classes=64)
    world = world_of(40)
    sizes = [f"{10 + i}m" for i in range(12)]
    schedule(world, 6, *sizes[:2])
    for i in range(2, 12):
        assert all(schedule(world, 3, *sizes[i : i + 1], name=f"p{i}-"))
        assert all(attached_of(world))
    assert all(schedule(world, 48, *sizes, name="q"))
    assert all(attached_of(world))
    assert max(prepared) == 12
    assert len(prepared) < 15


def test_scores_that_take_more_than_two_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes may be any number below 0; of scores it must be known that they fit."""
    monkeypatch.setattr(score_matrix, "LARGEST_SCORE", 200)
    world = world_of(12)
    assert all(schedule(world, 30, *SIZES))
    assert attached_of(world) == [True] * 3
    assert score_matrix.narrowed(np.array([-70_000, -3, 150])).tolist() == [-200, -3, 150]
    monkeypatch.setattr(score_matrix, "LARGEST_SCORE", 199)
    world = world_of(12)
    assert all(schedule(world, 30, *SIZES))
    assert attached_of(world) == [False] * 3


def test_later_classes_than_the_matrix_has_room_for_get_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered(monkeypatch, matrix_max_classes=8)
    world = world_of(20)
    sizes = [f"{10 + i}m" for i in range(12)]
    assert all(schedule(world, 120, *sizes))
    attached = attached_of(world)
    assert all(attached[2:8])
    assert not any(attached[8:])
