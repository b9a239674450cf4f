"""Made-up clusters: well formed, and with enough in them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedframe import InMemoryCluster, Node, ObjectMeta, Pod, Simulation
from schedframe.queue import derive_events
from schedframe.testing import Change, CheckOptions, StubHandle, World, strategies
from schedframe.testing.options import check_options
from schedframe.testing.worlds.trying import Worlds
from schedframe.testing.worlds.world import is_consistent, smaller
from tests.profiles import few


@few
@given(strategies.worlds())
def test_worlds_hold_together(world: World) -> None:
    assert is_consistent(world)
    everything: list[Any] = [*world.nodes, *world.running, *world.pods, *world.objects]
    assert len({(obj.KIND, obj.key) for obj in everything}) == len(everything)
    assert len({pod.uid for pod in (*world.running, *world.pods)}) == len(world.running) + len(world.pods)
    assert all(pod.node_name for pod in world.running)
    assert not any(pod.node_name for pod in world.pods)
    assert all(is_consistent(less) for less in smaller(world))
    InMemoryCluster(everything)


@few
@given(strategies.worlds())
def test_changes_can_be_followed(world: World) -> None:
    handle = StubHandle(world)
    for change in world.changes:
        handle.apply(change)
        assert change.old != change.new
        derive_events(change.old, change.new)
        assert str(change)
    handle.table.check_invariants()


@few
@given(strategies.clusters(), strategies.workloads())
def test_clusters_and_workloads_can_be_scheduled(
    cluster: tuple[tuple[Node, ...], tuple[Pod, ...]], workload: tuple[Pod, ...]
) -> None:
    nodes, running = cluster
    placements = Simulation([*nodes, *running]).schedule(workload)
    assert [placement.pod.name for placement in placements] == [pod.name for pod in workload]
    names = {node.name for node in nodes}
    assert all(placement.node_name in names for placement in placements if placement.node_name)


@few
@given(
    strategies.pods(labels={"team": ("red",)}, annotations={"note": ("x",)}, resources=["example.com/nic"]),
    strategies.nodes("n", labels={"rank": ("1",)}, resources=["example.com/nic"]),
)
def test_vocabularies_can_be_added_to(pod: Pod, node: Node) -> None:
    assert pod.labels.get("team") in (None, "red")
    assert pod.metadata.annotations.get("note") in (None, "x")
    assert not set(pod.requests) - {"cpu", "memory", "example.com/nic"}
    assert node.name == "n"
    assert node.labels["kubernetes.io/hostname"] == "n"
    assert node.labels.get("rank") in (None, "1")


def test_nodes_of_ones_own_keep_their_names() -> None:
    world = Worlds.of(
        check_options(CheckOptions(nodes=strategies.nodes("mine"), max_examples=3, max_shrinks=0))
    ).all()
    assert {node.name for each in world for node in each.nodes} >= {"mine"}


def test_worlds_of_a_seed_are_the_same_and_rich() -> None:
    worlds = Worlds.of(check_options(CheckOptions(max_examples=12, max_shrinks=0, seed=7))).all()
    assert Worlds(strategies.worlds(), 12, 0, 7).all() == worlds
    assert Worlds.of(check_options(CheckOptions(max_examples=12, max_shrinks=0, seed=8))).all() != worlds
    assert len({len(world.nodes) for world in worlds}) > 1
    assert sum(len(world.running) for world in worlds) > len(worlds)
    assert sum(len(world.changes) for world in worlds) > len(worlds)


def test_changes_say_what_is_different() -> None:
    (world, *_) = Worlds.of(check_options(CheckOptions(max_examples=1, max_shrinks=0))).all()
    node = world.nodes[0]
    assert str(Change(None, node)).startswith(f'created: Node {{"metadata": {{"name": "{node.name}"')
    assert str(Change(node, None)) == f"deleted: Node {node.name}"
    closed = Node(node.metadata, type(node.spec)(unschedulable=True), node.status)
    opened = Node(node.metadata, type(node.spec)(), node.status)
    assert str(Change(opened, closed)) == (f"changed: Node {node.name}: spec.unschedulable: null became true")


@few
@given(st.data())
def test_event_sequences_take_what_comes_as_new_objects(data: st.DataObject) -> None:
    comes = st.just(Node(ObjectMeta("comes", labels={"given": "here"})))
    nodes = [Node(ObjectMeta("n0"))]
    changes = data.draw(strategies.event_sequences(nodes, new=strategies.NewObjects(nodes=comes)))
    added = [change.new for change in changes if change.old is None and isinstance(change.new, Node)]
    assert all(node.labels.get("given") == "here" for node in added)
