from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

from schedframe.api import NO_SCHEDULE, HostPort, NodeSpec, Taint
from schedframe.errors import InvariantError
from schedframe.state import LazyRows, NodeTable, Rows

from .build import FPGA, GPU, make_node, make_pod, overwrite


@pytest.fixture
def table() -> NodeTable:
    table = NodeTable()
    for i in range(3):
        table.set_node(make_node(f"n{i}"))
    return table


def test_sums_per_row(table: NodeTable) -> None:
    table.add_pod("n1", make_pod("a", "n1", {"cpu": 500, "memory": 1024}))
    table.add_pod("n1", make_pod("b", "n1", {"cpu": 250}))
    table.add_pod("n1", make_pod("c", "n1"))
    assert table.requested("cpu")[:3].tolist() == [0, 750, 0]
    assert table.non_zero_requested("cpu")[:3].tolist() == [0, 850, 0]
    assert table.requested("memory")[1] == 1024
    assert table.non_zero_requested("memory")[1] == 1024 + 2 * 200 * 2**20
    assert table.pod_count[:3].tolist() == [0, 3, 0]


def test_resources_appear_with_their_first_use(table: NodeTable) -> None:
    assert table.allocatable(GPU).tolist() == table.requested(GPU).tolist() == [0] * table.capacity
    table.set_node(make_node("n1", {GPU: 8}))
    table.add_pod("n2", make_pod("p", "n2", {FPGA: 1}))
    assert table.allocatable(GPU)[:3].tolist() == [0, 8, 0]
    assert table.requested(FPGA)[:3].tolist() == [0, 0, 1]
    assert {GPU, FPGA} <= set(table.resources())


def test_pods_is_a_resource_as_any_other(table: NodeTable) -> None:
    table.add_pod("n0", make_pod("odd", "n0", {"pods": 2}))
    assert table.allocatable("pods")[:3].tolist() == table.allowed_pods[:3].tolist() == [110, 110, 110]
    assert table.requested("pods")[0] == 2
    table.check_invariants()


def test_a_resource_that_the_node_lost_is_zero(table: NodeTable) -> None:
    table.set_node(make_node("n0", {GPU: 8, "cpu": 1}))
    table.set_node(make_node("n0", {"cpu": 2}))
    assert table.allocatable(GPU)[0] == 0
    assert table.allocatable("cpu")[0] == 2
    assert table.allowed_pods[0] == 0


def test_growth_keeps_everything(table: NodeTable) -> None:
    table.add_pod("n2", make_pod("p", "n2", {"cpu": 7, GPU: 1}))
    for i in range(3, 1000):
        table.set_node(make_node(f"n{i}", {"cpu": i}))
    assert table.capacity == 1024
    assert len(table.rows()) == table.num_nodes == 1000
    assert table.requested("cpu")[2] == 7
    assert table.allocatable("cpu")[999] == 999
    table.check_invariants()


def test_all_rows_are_a_slice_until_there_is_a_hole(table: NodeTable) -> None:
    assert table.rows().index == slice(0, 3)
    assert table.rows() is table.rows()
    table.remove_node("n1")
    assert table.rows().positions.tolist() == [0, 2]
    assert table.rows().names() == ["n0", "n2"]
    table.set_node(make_node("other"))
    assert table.rows().index == slice(0, 3)
    assert table.rows().names() == ["n0", "other", "n2"]


def test_pods_stay_under_the_name_of_a_node_that_went_and_came_back(table: NodeTable) -> None:
    table.add_pod("n1", make_pod("p", "n1", {"cpu": 5}))
    assert table.remove_node("n1")
    assert table.live_row("n1") is None
    assert table.row_of("n1") == 1
    assert table.requested("cpu")[1] == 5
    assert table.allocatable("cpu")[1] == 0
    table.set_node(make_node("n1"))
    assert table.info(1).requested == {"cpu": 5}
    table.remove_node("n1")
    table.remove_pod("n1", "uid-p")
    assert table.row_of("n1") is None
    assert not table.remove_node("n1")


def test_pods_on_a_node_that_is_added_later(table: NodeTable) -> None:
    row = table.add_pod("later", make_pod("p", "later", {"cpu": 5}))
    assert table.num_nodes == 3
    assert "later" not in table.rows().names()
    assert table.set_node(make_node("later")) == row
    assert table.requested("cpu")[row] == 5


def test_unused_row_has_no_name(table: NodeTable) -> None:
    table.remove_node("n1")
    with pytest.raises(InvariantError, match="row 1 is not in use"):
        table.name_of(1)


def test_ports_are_counted_per_row(table: NodeTable) -> None:
    web = HostPort("0.0.0.0", "TCP", 80)
    table.add_pod("n0", make_pod("a", "n0", ports=[web]))
    table.add_pod("n0", make_pod("b", "n0", ports=[web, HostPort("10.0.0.1", "TCP", 80)]))
    table.add_pod("n2", make_pod("c", "n2", ports=[HostPort("10.0.0.1", "UDP", 80)]))
    assert table.ports == {("TCP", 80): {0: {"0.0.0.0": 2, "10.0.0.1": 1}}, ("UDP", 80): {2: {"10.0.0.1": 1}}}
    table.remove_pod("n0", "uid-b")
    assert table.ports[("TCP", 80)] == {0: {"0.0.0.0": 1}}
    table.remove_pod("n0", "uid-a")
    table.remove_pod("n2", "uid-c")
    assert table.ports == {}


def test_images_know_their_rows(table: NodeTable) -> None:
    table.set_node(make_node("n0", images={"nginx": 10}))
    table.set_node(make_node("n2", images={"nginx": 20, "redis": 5}))
    nginx = table.images.get("nginx")
    assert nginx is not None
    assert (nginx.size, nginx.num_nodes, nginx.rows) == (10, 2, {0, 2})
    assert table.info(0).image_state("nginx") is nginx
    assert table.info(0).image_state("redis") is None
    version = table.images.version
    table.remove_node("n0")
    assert table.images.version != version
    assert nginx.rows == {2}
    table.set_node(make_node("n2", images={"redis": 5}))
    assert table.images.get("nginx") is None
    assert len(table.images) == 1
    version = table.images.version
    table.set_node(make_node("n2", images={"redis": 5}, labels={"beat": "1"}))
    assert table.images.version == version, "a heartbeat is no news of images"


def test_node_changes_are_logged_apart_from_pod_changes(table: NodeTable) -> None:
    rows, nodes = table.row_log.version, table.node_log.version
    table.add_pod("n0", make_pod("p", "n0"))
    assert (table.row_log.since(rows), table.node_log.since(nodes)) == ([0], [])
    table.set_node(make_node("n1"))
    assert (table.row_log.since(rows), table.node_log.since(nodes)) == ([0, 1], [1])


def test_an_exchanged_pod_leaves_the_row_unchanged(table: NodeTable) -> None:
    pod = make_pod("p", "n0", {"cpu": 5})
    table.add_pod("n0", pod)
    version = table.row_log.version
    other = pod.with_resource_version("2")
    table.replace_pod("n0", other)
    assert table.pods_at(0) == {pod.uid: other}
    assert table.row_log.version == version
    assert table.replaced_log.since(0) == [0]


# ---- trials ------------------------------------------------------------------------------------------------


def test_a_trial_within_a_trial_that_changed_nothing_yet(table: NodeTable) -> None:
    outer = table.mark()
    inner = table.mark()
    table.add_pod("n0", make_pod("p", "n0", {"cpu": 5}))
    table.rollback(inner)
    assert table.requested("cpu")[0] == 0
    table.add_pod("n0", make_pod("q", "n0", {"cpu": 7}))
    table.rollback(outer)
    assert table.requested("cpu")[0] == 0
    table.check_invariants()


def test_a_trial_ends_those_within_it(table: NodeTable) -> None:
    outer = table.mark()
    table.add_pod("n0", make_pod("p", "n0"))
    inner = table.mark()
    table.add_pod("n0", make_pod("q", "n0"))
    table.rollback(outer)
    assert table.pods_at(0) == {}
    with pytest.raises(InvariantError, match="0 trials are under way"):
        table.rollback(inner)


def test_rollback_keeps_the_order_of_pods(table: NodeTable) -> None:
    for name in "abcd":
        table.add_pod("n0", make_pod(name, "n0"))
    mark = table.mark()
    for name in "bdac":
        table.remove_pod("n0", f"uid-{name}")
    table.add_pod("n0", make_pod("a", "n0"))
    table.rollback(mark)
    assert [pod.name for pod in table.pods_at(0).values()] == ["a", "b", "c", "d"]


def test_rows_that_a_trial_took_are_given_back(table: NodeTable) -> None:
    size = table.size
    outer = table.mark()
    table.add_pod("n0", make_pod("p", "n0"))
    inner = table.mark()
    row = table.add_pod("unknown", make_pod("q", "unknown"))
    table.rollback(inner)
    assert (table.row_of("unknown"), table.size) == (None, size)
    table.rollback(outer)
    assert table.set_node(make_node("new")) == row
    table.check_invariants()


def test_a_node_that_leaves_during_a_trial_comes_back(table: NodeTable) -> None:
    before = [table.node_at(row) for row in range(table.size)]
    table.add_pod("n1", make_pod("p", "n1"))
    mark = table.mark()
    table.remove_pod("n1", "uid-p")
    table.remove_node("n1")
    table.remove_node("n2")
    table.rollback(mark)
    assert list(table.pods_at(1)) == ["uid-p"]
    assert [table.node_at(row) for row in range(table.size)] == before
    table.check_invariants()


def test_node_infos_and_logs_take_part_in_trials(table: NodeTable) -> None:
    info = table.info(0)
    version = table.row_log.version
    mark = table.mark()
    table.add_pod("n0", make_pod("p", "n0", {"cpu": 5}))
    assert info.requested["cpu"] == 5
    table.rollback(mark)
    assert info.requested["cpu"] == 0
    assert table.row_log.since(version) == [0, 0]


# ---- rows --------------------------------------------------------------------------------------------------


def test_rows_take_select_and_iterate(table: NodeTable) -> None:
    everything = table.rows()
    assert np.shares_memory(everything.take(table.pod_count), table.pod_count)
    assert [info.name for info in everything] == ["n0", "n1", "n2"]
    some = everything.select(np.array([False, True, True]))
    assert some.names() == ["n1", "n2"]
    assert some.select(np.array([1])).names() == ["n2"]
    shuffled = Rows.at(table, np.array([2, 0], np.intp))
    assert [info.name for info in shuffled] == ["n2", "n0"]
    assert len(shuffled) == 2
    table.add_pod("n2", make_pod("p", "n2"))
    assert shuffled.take(table.pod_count).tolist() == [1, 0]


def test_rows_keep_to_the_nodes_of_their_time(table: NodeTable) -> None:
    everything = table.rows()
    table.set_node(make_node("n3"))
    assert everything.names() == ["n0", "n1", "n2"]
    assert table.rows().names() == ["n0", "n1", "n2", "n3"]


@pytest.mark.parametrize("hole", [False, True])
def test_rows_in_portions(hole: bool) -> None:
    table = NodeTable()
    for i in range(10):
        table.set_node(make_node(f"n{i}"))
    if hole:
        table.remove_node("n4")
    rows = table.rows()
    assert list(rows.portions(10)) == [rows]
    parts = list(rows.portions(4))
    assert [len(part) for part in parts] == ([4, 4, 1] if hole else [4, 4, 2])
    assert [name for part in parts for name in part.names()] == rows.names()
    for part in parts:
        assert [part.row_at(i) for i in range(len(part))] == part.positions.tolist()
        assert part.select(np.array([True] + [False] * (len(part) - 1))).names() == part.names()[:1]
        assert part.select(np.array([0], np.intp)).names() == part.names()[:1]
        assert part.take(np.arange(table.capacity)).tolist() == part.positions.tolist()
    assert [len(one) for part in parts for one in part.portions(3)] == (
        [3, 1, 3, 1, 1] if hole else [3, 1, 3, 1, 2]
    )


def test_rows_that_are_computed_at_first_use(table: NodeTable) -> None:
    calls: list[int] = []

    def find() -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        calls.append(1)
        return np.array([2, 0], np.intp)

    rows = LazyRows(table, 2, find)
    assert len(rows) == 2
    assert calls == []
    assert rows.names() == ["n2", "n0"]
    assert rows.take(table.allowed_pods).tolist() == [110, 110]
    assert rows.select(np.array([True, False])).names() == ["n2"]
    assert calls == [1]


# ---- self-check --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda t: overwrite(t.requested("cpu"), 0, 1),
        lambda t: overwrite(t.allocatable("memory"), 1, 1),
        lambda t: overwrite(t.non_zero_requested("cpu"), 0, 1),
        lambda t: overwrite(t.non_zero_requested("memory"), 0, 1),
        lambda t: overwrite(t.pod_count, 0, 9),
        lambda t: overwrite(t.allowed_pods, 0, 9),
        lambda t: overwrite(t.unschedulable, 0, True),
        lambda t: overwrite(t.alive, 2, False),
        lambda t: t.ports.clear(),
        lambda t: t.images.remove(0, t.node_at(0)),
        lambda t: t.info(0).requested.__setitem__("cpu", 77),
        lambda t: t.info(0).used_ports.clear(),
        lambda t: setattr(t.info(0), "non_zero_cpu", 1),
        lambda t: setattr(t.info(0), "node", None),
        lambda t: setattr(t, "num_nodes", 7),
        lambda t: t._pods[0].__setitem__("other-uid", t._pods[0].pop("uid-p")),
        lambda t: overwrite(t.requested("cpu"), t.size, 5),
        lambda t: t._free.append(0),
        lambda t: t._row_of.__setitem__("n1", 0),
        lambda t: setattr(t.row_log, "version", 0),
    ],
)
def test_damage_is_found(damage: object) -> None:
    table = NodeTable()
    table.set_node(make_node("n0", images={"nginx": 1}))
    table.set_node(make_node("n1"))
    table.set_node(make_node("n2"))
    table.add_pod("n0", make_pod("p", "n0", {"cpu": 5}, ports=[HostPort("0.0.0.0", "TCP", 80)]))
    table.info(0)
    table.check_invariants()
    assert callable(damage)
    damage(table)
    with pytest.raises(InvariantError):
        table.check_invariants()


def test_taints_of_rows_are_those_of_their_nodes() -> None:
    table = NodeTable()
    taints = (Taint("a", "", NO_SCHEDULE),)
    table.set_node(evolve(make_node("n0"), spec=NodeSpec(taints=taints)))
    table.set_node(evolve(make_node("n1"), spec=NodeSpec(taints=taints)))
    assert table.tainted == {0: taints, 1: taints}
    column = table.distinct("taints", lambda node: node.spec.taints or None, table.tainted)
    assert [column.codes[row] for row in (0, 1)] == [0, 0]
    table.set_node(make_node("n1"))
    table.check_invariants()
    assert table.tainted == {0: taints}
    again = table.distinct("taints again", lambda node: node.spec.taints or None, table.tainted)
    assert [again.codes[row] for row in (0, 1)] == [0, -1]
    table.remove_node("n0")
    table.check_invariants()
    assert table.tainted == {}


@pytest.mark.parametrize("resource", ["cpu", "memory", GPU])
def test_sums_beyond_64_bits_show_as_the_largest_number(table: NodeTable, resource: str) -> None:
    """Such pods run where ``spec.nodeName`` was set by hand: nothing checks what they request."""
    most = 2**63 - 1
    huge = [make_pod(f"huge{i}", "n1", {resource: most}) for i in range(3)]
    for pod in huge:
        table.add_pod("n1", pod)
    table.add_pod("n1", make_pod("small", "n1", {resource: 7}))
    assert table.requested(resource)[:3].tolist() == [0, most, 0]
    table.check_invariants()
    for pod in huge[:-1]:
        table.remove_pod("n1", pod.uid)
        assert table.requested(resource)[1] == most
        table.check_invariants()
    table.remove_pod("n1", huge[-1].uid)
    assert table.requested(resource)[:3].tolist() == [0, 7, 0]
    table.check_invariants()
