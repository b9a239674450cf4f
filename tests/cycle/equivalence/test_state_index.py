"""A class with a state index decides as one with columns."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schedframe import (
    Depends,
    Handle,
    Node,
    NodeInfo,
    Normalization,
    ObjectMeta,
    Rows,
    RowVerdicts,
    Status,
    Taint,
    hookimpl,
)
from schedframe.api import NO_SCHEDULE, PREFER_NO_SCHEDULE, Namespace
from schedframe.cycle.equivalence import fast_search, live_search, policy
from schedframe.cycle.equivalence.index.state_index import StateIndex
from schedframe.state import policy as state_policy

from ..build import World, make_node, make_pod
from .comparison import Triplets, lowered, renamed
from .matrix_worlds import classes_of
from .test_same_decisions import WAYS, Way, catching_up

GPU, IMAGE = "example.com/gpu", "web"
SIZES: tuple[dict[str, Any], ...] = ({}, {"cpu": "100m"}, {"cpu": "500m"}, {"cpu": 1}, {"cpu": 2})


def some_node(random: Random, name: str, *, liked: bool) -> Node:
    """One of few kinds; now and then closed or tainted. *liked*: pods like some nodes better than others."""
    taints = [Taint("dedicated", "x", NO_SCHEDULE)] if random.random() < 0.1 else []
    images: dict[str, int] = {}
    if liked and random.random() < 0.5:
        taints += [Taint(key, "x", PREFER_NO_SCHEDULE) for key in random.choice((("slow",), ("slow", "old")))]
    if liked and random.random() < 0.2:
        images = {IMAGE: 500 << 20}
    return make_node(
        name,
        cpu=random.choice((2, 4, 4)),
        taints=tuple(taints),
        images=images,
        unschedulable=random.random() < 0.05,
        **({GPU: 2} if random.random() < 0.1 else {}),
    )


def run(seed: int, steps: int, sizes: int, nodes: int) -> None:
    """A cluster in which most of what happens is that pods come and go."""
    random = Random(seed)
    liked, late = random.choice(((False, False), (False, True), (True, True)))
    worlds = Triplets([], False, seed % 3)
    image = random.choice(("", IMAGE))
    templates = [make_pod(f"t{i}", image=image, **random.choice(SIZES)) for i in range(sizes)]
    for i in range(nodes):
        worlds.put_node(some_node(random, f"n{i}", liked=liked))
    for _ in range(steps):
        chance, host = random.random(), f"n{random.randrange(nodes + 2)}"
        if chance < 0.75:
            worlds.create(renamed(random.choice(templates), f"p{next(worlds.numbers) % 60}"))
        elif chance < 0.9:
            worlds.delete(f"p{random.randrange(60)}")
        elif chance < 0.93:
            worlds.put_node(some_node(random, host, liked=late))
        elif chance < 0.95:
            worlds.drop_node(make_node(host))
        elif chance < 0.96:
            worlds.create(make_pod(f"p{next(worlds.numbers) % 60}", cpu=1, nominated=host))
        elif chance < 0.98:
            worlds.create(make_pod(f"p{next(worlds.numbers) % 60}", cpu=1, host_port=80))
        else:
            worlds.pass_time(12.0)
        for _ in range(random.choice((0, 1, 1, 2))):
            worlds.step()
        if random.random() < 0.1:
            worlds.check()
    worlds.run()


@given(
    seed=st.integers(0, 2**32 - 1),
    way=st.sampled_from(WAYS),
    steps=st.integers(20, 90),
    sizes=st.integers(1, 5),
    nodes=st.sampled_from((1, 4, 12, 40)),
)
@example(seed=0, way=WAYS[5], steps=90, sizes=3, nodes=12)
@example(seed=1, way=WAYS[6], steps=90, sizes=5, nodes=40)
@example(seed=2, way=WAYS[2], steps=90, sizes=2, nodes=40)
@example(seed=3, way=WAYS[4], steps=90, sizes=5, nodes=12)
@example(seed=4, way=WAYS[7], steps=90, sizes=1, nodes=4)
@example(seed=5, way=WAYS[8], steps=90, sizes=5, nodes=40)
@example(seed=6, way=WAYS[9], steps=90, sizes=3, nodes=4)
@example(seed=7, way=WAYS[10], steps=90, sizes=5, nodes=4)
@example(seed=8, way=WAYS[11], steps=90, sizes=5, nodes=12)
def test_no_decision_changes_where_only_amounts_count(
    seed: int, way: Way, steps: int, sizes: int, nodes: int
) -> None:
    with catching_up(way):
        run(seed, steps, sizes, nodes)


@pytest.fixture(autouse=True)
def _no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """No class uses a score matrix."""
    lowered(monkeypatch, pass_rows=0)


class Watched:
    """Counts what state indexes answered."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.answers: list[bool] = []
        best = StateIndex.best

        def watched(index: StateIndex) -> Any:
            found = best(index)
            self.answers.append(found)
            return found

        patch.setattr(StateIndex, "best", watched)


def world_of(nodes: int) -> World:
    """Equal nodes."""
    world = World()
    for i in range(nodes):
        world.cluster.create(make_node(f"n{i}"))
    return world


def schedule(world: World, pods: int, *sizes: Any) -> None:
    templates = [make_pod(f"t{i}", cpu=size) for i, size in enumerate(sizes)]
    for i in range(pods):
        world.cluster.create(renamed(templates[i % len(sizes)], f"{sizes[i % len(sizes)]}-{i}"))
    world.scheduler.run_until_idle()


@pytest.mark.parametrize("sizes", [("100m",), ("100m", "200m", "300m")])
def test_no_columns_are_built(sizes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    watched, world = Watched(monkeypatch), world_of(50)
    schedule(world, 60, *sizes)
    assert all(pod.spec.node_name for pod in world.cluster.list("Pod"))
    assert watched.answers == [True] * 60
    kept = [each.columns for each in classes_of(world)]
    assert kept == [None] * len(sizes)


@pytest.mark.parametrize("sizes", [("100m",), ("100m", "200m", "300m")])
def test_a_class_with_columns_gets_a_state_index(
    sizes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered(monkeypatch, index_only_classes=0)
    watched, world = Watched(monkeypatch), world_of(50)
    schedule(world, 60, *sizes)
    assert all(pod.spec.node_name for pod in world.cluster.list("Pod"))
    assert watched.answers == [True] * (60 - (policy.DEFAULT.first_visits + 1) * len(sizes))
    assert not any(found.columns is None for found in classes_of(world))


def test_nodes_come_and_go_and_rows_stay_grouped_by_state() -> None:
    world = world_of(50)
    schedule(world, 20, "100m")
    for i in range(50):
        if i != 3:
            world.cluster.delete("Node", f"n{i}")
    world.cluster.create(make_node("new", cpu="2"))
    schedule(world, 5, "0.1")
    (found,) = {found.columns is None for found in classes_of(world)}
    assert found
    assert {world.find("Pod", f"default/0.1-{i}").spec.node_name for i in range(5)} == {"n3", "new"}


def test_too_many_states_are_evaluated_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered(monkeypatch, rowwise_rows=0, rows_per_state=1 << 20)
    world = world_of(50)
    schedule(world, 20, "100m")
    assert [found.columns is None for found in classes_of(world)] == [False]


def test_where_states_come_to_differ_the_class_uses_columns_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_policy, "ROW_STATES", 8)
    watched, world = Watched(monkeypatch), world_of(50)
    schedule(world, 20, "100m")
    assert set(watched.answers) == {True}
    schedule(world, 20, *(f"{101 + i}m" for i in range(20)))
    before = len(watched.answers)
    schedule(world, 20, "0.1")
    assert watched.answers[before:] == [False]
    assert all(pod.spec.node_name for pod in world.cluster.list("Pod"))


def test_a_full_cluster_is_diagnosed_from_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, world = Watched(monkeypatch), world_of(12)
    schedule(world, 51, 1)
    assert True in watched.answers
    assert watched.answers[-1] is False
    waiting = [pod for pod in world.cluster.list("Pod") if not pod.spec.node_name]
    assert len(waiting) == 3
    (message,) = {condition.message for pod in waiting for condition in pod.status.conditions}
    assert message.startswith("0/12 nodes are available: 12 Insufficient cpu.")


def test_room_for_nominated_pods_counts() -> None:
    """Classes that go by groups look at the rows again as long as pods are nominated."""
    world = world_of(12)
    schedule(world, 20, "100m")
    for i in range(12):
        if i != 3:
            waiting = make_pod(f"waits{i}", cpu=4, priority=5, gates=("later",))
            world.cluster.create(waiting)
            world.scheduler.run_until_idle()
            world.scheduler.core.queue.nominator.add(world.find("Pod", waiting.key), f"n{i}")
    schedule(world, 5, "0.1")
    assert [world.find("Pod", f"default/0.1-{i}").spec.node_name for i in range(5)] == ["n3"] * 5


def test_where_one_node_is_feasible_no_plugin_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    pre_score = live_search.pre_score_live
    for module in (fast_search, live_search):
        monkeypatch.setattr(module, "pre_score_live", lambda *args: asked.append(args) or pre_score(*args))
    schedule(world_of(1), 3, "100m")
    assert not asked
    schedule(world_of(2), 3, "100m")
    assert len(asked) == 1


class Door:
    """Rejects every pod while there is a namespace ``closed``."""

    depends_on = Depends.ROW_RESOURCES
    reads = ("Namespace",)

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    @hookimpl
    def pod_signature(self) -> tuple[()]:
        return ()

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        closed = self.handle.objects.get("Namespace", "closed")
        return Status.unschedulable("closed") if closed is not None else None


def test_a_change_that_concerns_all_rows_rebuilds() -> None:
    world = World({"Door": Door})
    for i in range(50):
        world.cluster.create(make_node(f"n{i}"))
    schedule(world, 5, "100m")
    assert [found.columns is None for found in classes_of(world)] == [True]
    world.cluster.create(Namespace(ObjectMeta(name="open")))
    schedule(world, 5, "0.1")
    assert all(pod.spec.node_name for pod in world.cluster.list("Pod"))
    world.cluster.create(Namespace(ObjectMeta(name="closed")))
    schedule(world, 5, "0.10")
    waiting = [pod for pod in world.cluster.list("Pod") if not pod.spec.node_name]
    assert len(waiting) == 5


class Breaks:
    """Filters nodes by themselves, and fails at one."""

    depends_on = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self) -> tuple[()]:
        return ()

    @hookimpl
    def filter(self, node_info: NodeInfo) -> None:
        if node_info.name == "bad":
            raise LookupError("no such node")


def test_a_plugin_that_fails_at_a_new_node_is_reported() -> None:
    world = World({"Breaks": Breaks})
    for i in range(50):
        world.cluster.create(make_node(f"n{i}"))
    schedule(world, 5, "100m")
    assert [found.columns is None for found in classes_of(world)] == [True]
    assert not world.faults
    world.cluster.create(make_node("bad"))
    schedule(world, 1, "0.1")
    assert [status.plugin for status, _ in world.faults] == ["Breaks"]


class ColumnsOnly:
    """Lets all rows pass, and has no form for a single node."""

    depends_on = Depends.ROW_RESOURCES

    @hookimpl
    def pod_signature(self) -> tuple[()]:
        return ()

    @hookimpl
    def filter_rows(self, rows: Rows) -> RowVerdicts | None:
        return None


def test_a_class_without_per_node_forms_gets_no_state_index() -> None:
    """The index evaluates single rows, and would fail at the first state that is new."""
    world = World({"ColumnsOnly": ColumnsOnly})
    for i in range(50):
        world.cluster.create(make_node(f"n{i}"))
    schedule(world, 150, "100m")
    assert not world.faults
    assert [found.index for found in classes_of(world)] == [None]


class NegativeOnceUsed:
    """Gives a node with pods a raw score below 0, which is invalid once normalised."""

    depends_on = Depends.ROW
    normalization = Normalization.BY_MAX

    @hookimpl
    def pod_signature(self) -> tuple[()]:
        return ()

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return -5 if node_info.pods else 10


def test_a_negative_raw_score_of_a_dirty_row_is_reported() -> None:
    world = World({"NegativeOnceUsed": NegativeOnceUsed})
    for i in range(5):
        world.cluster.create(make_node(f"n{i}"))
    schedule(world, 3, "100m")
    assert {status.plugin for status, _ in world.faults} == {"NegativeOnceUsed"}
    assert sum(bool(pod.spec.node_name) for pod in world.cluster.list("Pod")) == 1
