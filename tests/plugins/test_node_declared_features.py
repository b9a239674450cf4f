"""NodeDeclaredFeatures: required features of pods."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.node_declared_features import (
    ERR_REASON,
    REQUIRED_BY,
    NodeDeclaredFeatures,
    required_features,
)
from schedframe.api import (
    Container,
    ContainerRestartRule,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
)
from schedframe.framework import CycleState, CycleStateError, Status
from schedframe.queue import Action, ClusterEvent, EventResource
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import check_filter_agreement
from tests.plugins.events import hint_of
from tests.plugins.strategies import tables

PLUGIN = NodeDeclaredFeatures()
RESTART = "RestartAllContainersOnContainerExits"
HOST_USERS = "UserNamespacesHostNetworkSupport"
NODE_ADDED = ClusterEvent(EventResource.NODE, Action.ADD)
FEATURES_CHANGED = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_DECLARED_FEATURE)
POD_CHANGED = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE)
TAINTS_CHANGED = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_TAINT)

PLAIN = PodSpec(containers=(Container("c"),))
IN_HOST_NETWORK = evolve(PLAIN, host_network=True, host_users=False)


def restarting(action: str) -> Container:
    return Container("c", restart_policy_rules=(ContainerRestartRule(action),))


def pod(spec: PodSpec, uid: str = "p") -> Pod:
    return Pod(ObjectMeta(name=uid, uid=uid), spec)


def node(*features: str) -> Node:
    return Node(ObjectMeta(name="n"), status=NodeStatus(declared_features=features))


# ---- required features -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        (PLAIN, set()),
        (PodSpec(containers=(Container("c"), restarting("RestartAllContainers"))), {RESTART}),
        (evolve(PLAIN, init_containers=(restarting("RestartAllContainers"),)), {RESTART}),
        (PodSpec(containers=(restarting("Restart"),)), set()),
        (IN_HOST_NETWORK, {HOST_USERS}),
        (evolve(PLAIN, host_network=True), set()),
        (evolve(PLAIN, host_network=True, host_users=True), set()),
        (evolve(PLAIN, host_users=False), set()),
        (evolve(IN_HOST_NETWORK, containers=(restarting("RestartAllContainers"),)), {RESTART, HOST_USERS}),
    ],
)
def test_required_features(spec: PodSpec, needed: set[str]) -> None:
    assert required_features(spec) == needed
    assert PLUGIN.pod_signature(pod(spec)) == needed


def test_pods_without_required_features_are_skipped() -> None:
    state = CycleState()
    assert PLUGIN.pre_filter(state, pod(PLAIN)) == Status.skip()
    assert PLUGIN.pre_filter(state, pod(IN_HOST_NETWORK)) is None


# ---- filter ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "passes"),
    [((), False), ((HOST_USERS,), True), ((RESTART, HOST_USERS, "Unheard"), True), ((RESTART,), False)],
)
def test_the_node_must_declare_them_all(declared: tuple[str, ...], passes: bool) -> None:
    state = CycleState()
    PLUGIN.pre_filter(state, pod(IN_HOST_NETWORK))
    expected = None if passes else Status.unresolvable(ERR_REASON)
    assert PLUGIN.filter(state, NodeInfo.of(node(*declared))) == expected


def test_filtering_without_pre_filter_fails() -> None:
    table = NodeTable()
    table.set_node(node())
    with pytest.raises(CycleStateError, match="NodeDeclaredFeatures"):
        PLUGIN.filter(CycleState(), table.info(0))
    with pytest.raises(CycleStateError, match="NodeDeclaredFeatures"):
        PLUGIN.filter_rows(CycleState(), table.rows())


# ---- hints -----------------------------------------------------------------------------------------------


def test_hints_of_nodes() -> None:
    waiting = pod(IN_HOST_NETWORK)
    assert hint_of(PLUGIN, NODE_ADDED, waiting, None, node())
    assert hint_of(PLUGIN, FEATURES_CHANGED, waiting, node(), node(RESTART))
    assert not hint_of(PLUGIN, FEATURES_CHANGED, waiting, node(RESTART), node(RESTART))
    assert hint_of(PLUGIN, TAINTS_CHANGED, waiting, node(), node())


def test_hints_of_pods() -> None:
    waiting = pod(IN_HOST_NETWORK)
    assert hint_of(PLUGIN, POD_CHANGED, waiting, pod(IN_HOST_NETWORK), pod(PLAIN))
    assert not hint_of(PLUGIN, POD_CHANGED, waiting, pod(PLAIN), pod(evolve(PLAIN, priority=7)))
    assert not hint_of(PLUGIN, POD_CHANGED, waiting, pod(IN_HOST_NETWORK, "q"), pod(PLAIN, "q"))


# ---- both forms ------------------------------------------------------------------------------------------

SPECS = st.builds(
    PodSpec,
    containers=st.sampled_from(((Container("c"),), (restarting("RestartAllContainers"),))),
    host_network=st.booleans(),
    host_users=st.sampled_from((None, True, False)),
)
FEATURE_LISTS = st.lists(st.sampled_from((*REQUIRED_BY, "Unheard")), unique=True).map(tuple)


@given(table=tables(), spec=SPECS, data=st.data())
def test_both_forms_agree(table: NodeTable, spec: PodSpec, data: st.DataObject) -> None:
    for info in list(table.rows()):
        status = evolve(info.node.status, declared_features=data.draw(FEATURE_LISTS))
        table.set_node(evolve(info.node, status=status))
    check_filter_agreement(PLUGIN, table, pod(spec))
