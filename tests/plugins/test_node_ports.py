"""NodePorts: conflicts of host ports."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given

from plugins_builtin.node_ports import ERR_REASON, NodePorts
from schedframe.api import RESTART_ALWAYS, Container, ContainerPort, Pod
from schedframe.framework import CycleState, CycleStateError, Status
from schedframe.queue import Action, ClusterEvent, EventResource
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import check_filter_agreement, columnar_statuses, per_node_statuses
from tests.plugins.events import hint_of
from tests.plugins.resources import make_node, make_pod, table_of
from tests.plugins.strategies import pods, tables

PLUGIN = NodePorts()
POD_DELETED = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)
NODE_ADDED = ClusterEvent(EventResource.NODE, Action.ADD)


def port(number: int = 80, ip: str = "", protocol: str = "TCP") -> ContainerPort:
    return ContainerPort(8080, number, ip, protocol)


def pod(*ports: ContainerPort, name: str = "p", node: str = "") -> Pod:
    return make_pod({}, name=name, node=node, ports=ports)


def free(wanted: Pod, *used: ContainerPort) -> bool:
    """Return whether both forms accept *wanted* beside a pod with the *used* ports."""
    table = table_of(NodeInfo.of(make_node(), [pod(*used, name="other", node="n")]))
    state = CycleState()
    assert PLUGIN.pre_filter(state, wanted) is None
    found = columnar_statuses(PLUGIN, state, wanted, table.rows())
    assert found == per_node_statuses(PLUGIN, state, wanted, table.rows())
    assert found in ([Status()], [Status.unschedulable(ERR_REASON)])
    return found == [Status()]


def test_ports_conflict_by_protocol_and_number() -> None:
    assert not free(pod(port()), port())
    assert free(pod(port()), port(81))
    assert free(pod(port()), port(protocol="UDP"))
    assert not free(pod(port(81), port()), port())


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        ("10.0.0.1", "10.0.0.1", False),
        ("10.0.0.1", "10.0.0.2", True),
        ("10.0.0.1", "", False),
        ("0.0.0.0", "10.0.0.2", False),
        ("", "0.0.0.0", False),
    ],
)
def test_addresses_conflict_if_equal_or_any(wanted: str, used: str, expected: bool) -> None:
    assert free(pod(port(ip=wanted)), port(ip=used)) is expected


def test_ports_of_the_container_alone_do_not_count() -> None:
    assert PLUGIN.pre_filter(CycleState(), pod(port(0))) == Status.skip()
    assert PLUGIN.pre_filter(CycleState(), pod()) == Status.skip()


@pytest.mark.parametrize("restart_policy", ["", RESTART_ALWAYS])
def test_of_init_containers_only_sidecars_hold_ports(restart_policy: str) -> None:
    init = Container("init", ports=(port(),), restart_policy=restart_policy)
    wanted = pod()
    wanted = evolve(wanted, spec=evolve(wanted.spec, init_containers=(init,)))
    if restart_policy:
        assert not free(wanted, port())
    else:
        assert PLUGIN.pre_filter(CycleState(), wanted) == Status.skip()


def test_filter_needs_pre_filter() -> None:
    table = table_of(NodeInfo.of(make_node()))
    with pytest.raises(CycleStateError, match="NodePorts"):
        PLUGIN.filter(CycleState(), table.info(0))
    with pytest.raises(CycleStateError, match="NodePorts"):
        PLUGIN.filter_rows(CycleState(), table.rows())


def test_the_signature_is_the_host_ports() -> None:
    assert PLUGIN.pod_signature(pod(port(), name="a")) == PLUGIN.pod_signature(pod(port(), name="b"))
    assert PLUGIN.pod_signature(pod(port())) != PLUGIN.pod_signature(pod(port(ip="10.0.0.1")))


def test_deleting_a_pod_with_a_conflicting_port_helps() -> None:
    gone = pod(port(), name="other")
    placed = pod(port(), name="other", node="n")
    assert not hint_of(PLUGIN, POD_DELETED, pod(port()), gone, None)
    assert hint_of(PLUGIN, POD_DELETED, pod(port()), placed, None)
    assert hint_of(PLUGIN, POD_DELETED, pod(port()), gone.with_status(nominated_node_name="n"), None)
    assert hint_of(PLUGIN, POD_DELETED, pod(port(81), port(ip="10.0.0.1")), placed, None)
    assert not hint_of(PLUGIN, POD_DELETED, pod(port(81)), placed, None)


def test_any_new_node_helps() -> None:
    assert hint_of(PLUGIN, NODE_ADDED, pod(port()), None, make_node())


@given(tables(), pods())
def test_both_forms_agree(table: NodeTable, pod: Pod) -> None:
    check_filter_agreement(PLUGIN, table, pod)


def explained(wanted: Pod, *used: Pod) -> str | None:
    """Return the explanation of a node with the *used* pods."""
    state = CycleState()
    PLUGIN.pre_filter(state, wanted)
    return PLUGIN.explain(state, NodeInfo.of(make_node(), used))


def test_a_taken_port_is_named_with_its_protocol_and_the_pod() -> None:
    web = pod(port(8080), port(53, protocol="UDP"), name="web", node="n")
    assert explained(pod(port(8080), port(81)), web) == "8080/TCP is taken by default/web on n"
    assert explained(pod(port(53, protocol="UDP"), port(8080)), web) == (
        "53/UDP is taken by default/web on n; 8080/TCP is taken by default/web on n"
    )
    assert explained(pod(port(53)), web) is None


def test_addresses_of_ports_are_named_where_they_differ() -> None:
    here = pod(port(80, "10.0.0.1"), name="here", node="n")
    assert explained(pod(port(80, "10.0.0.1")), here) == "10.0.0.1:80/TCP is taken by default/here on n"
    assert explained(pod(port(80)), here) == "80/TCP is taken by default/here on n, on address 10.0.0.1"
    anywhere = pod(port(80), name="anywhere", node="n")
    assert explained(pod(port(80, "10.0.0.1")), anywhere) == (
        "10.0.0.1:80/TCP is taken by default/anywhere on n, on all addresses"
    )
