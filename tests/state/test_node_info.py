from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import HostPort, Pod
from schedframe.state import NodeInfo, NodeTable, port_conflicts

from . import strategies as s
from .build import make_node, make_pod
from .model import NaiveTable, assert_info_agrees


def test_sums_and_ports() -> None:
    info = NodeInfo.of(make_node("n", {"cpu": 1000, "pods": 5}))
    assert (info.allocatable, info.allowed_pods) == ({"cpu": 1000, "pods": 5}, 5)
    info.add_pod(make_pod("a", "n", {"cpu": 300}, ports=[HostPort("0.0.0.0", "TCP", 80)]))
    assert info.requested == {"cpu": 300}
    assert (info.non_zero_cpu, info.non_zero_memory) == (300, 200 * 2**20)
    assert info.used_ports == {("TCP", 80): {"0.0.0.0": 1}}


def test_without_a_node_there_is_nothing_to_allocate() -> None:
    info = NodeInfo("gone")
    assert info.allocatable == {}
    assert info.allowed_pods == 0
    assert info.labels == {}
    assert not info.has_node
    assert NodeInfo.of(make_node("n")).has_node


def test_removing_a_pod_that_is_not_here() -> None:
    with pytest.raises(KeyError):
        NodeInfo.of(make_node("n")).remove_pod(make_pod("p"))


@given(st.lists(s.pods, unique_by=lambda pod: pod.uid), st.data())
def test_copies_are_independent(pods: list[Pod], data: st.DataObject) -> None:
    node = make_node("n0")
    info = NodeInfo.of(node, pods)
    model = NaiveTable({"n0": node}, {"n0": {pod.uid: pod for pod in pods}})
    for copy in (info.clone(), info.detached()):
        gone = data.draw(
            st.lists(st.sampled_from(pods), unique_by=lambda pod: pod.uid) if pods else st.just([])
        )
        for pod in gone:
            copy.remove_pod(pod)
        copy.add_pod(make_pod("extra", ports=[HostPort("0.0.0.0", "TCP", 80)]))
        assert_info_agrees(info, model)


def test_a_clone_keeps_its_place_in_the_table_and_a_detached_copy_does_not() -> None:
    table = NodeTable()
    table.set_node(make_node("n", images={"nginx": 1}))
    info = table.info(0)
    assert info.clone().row == 0
    assert info.clone().image_state("nginx") is not None
    assert info.detached().row == -1
    assert info.detached().image_state("nginx") is None


@pytest.mark.parametrize(
    ("mine", "taken"),
    [
        (HostPort("0.0.0.0", "TCP", 80), True),
        (HostPort("10.0.0.1", "TCP", 80), True),
        (HostPort("10.0.0.2", "TCP", 80), False),
        (HostPort("10.0.0.1", "UDP", 80), False),
        (HostPort("10.0.0.1", "TCP", 81), False),
    ],
)
def test_ports_against_an_address(mine: HostPort, taken: bool) -> None:
    assert port_conflicts({("TCP", 80): {"10.0.0.1": 1}}, mine) is taken


def test_ports_against_all_addresses() -> None:
    assert port_conflicts({("TCP", 80): {"0.0.0.0": 1}}, HostPort("10.0.0.2", "TCP", 80))
