"""NodeUnschedulable: cordoned nodes."""

from __future__ import annotations

import pytest
from hypothesis import given

from plugins_builtin.node_unschedulable import ERR_REASON, NodeUnschedulable
from schedframe.api import Node, NodeSpec, ObjectMeta, Pod, PodSpec, Taint, Toleration
from schedframe.framework import CycleState, Status
from schedframe.queue import Action, ClusterEvent, EventResource
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import check_filter_agreement, columnar_statuses
from tests.plugins.events import hint_of
from tests.plugins.strategies import pods, tables

PLUGIN = NodeUnschedulable()
CORDON = "node.kubernetes.io/unschedulable"
TOLERANT = Toleration(key=CORDON, operator="Exists", effect="NoSchedule")
NODE_ADDED = ClusterEvent(EventResource.NODE, Action.ADD)
TAINTS_CHANGED = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_TAINT)
TOLERATIONS_CHANGED = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE_POD_TOLERATION)


def node(unschedulable: bool, *taints: Taint) -> Node:
    return Node(ObjectMeta(name="n"), NodeSpec(unschedulable=unschedulable, taints=taints))


def pod(*tolerations: Toleration, uid: str = "p") -> Pod:
    return Pod(ObjectMeta(name=uid, uid=uid), PodSpec(tolerations=tolerations))


def test_a_cordoned_node_is_rejected() -> None:
    assert PLUGIN.filter(pod(), NodeInfo.of(node(True))) == Status.unresolvable(ERR_REASON)
    assert PLUGIN.filter(pod(), NodeInfo.of(node(False))) is None


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (TOLERANT, True),
        (Toleration(operator="Exists"), True),
        (Toleration(key=CORDON), True),
        (Toleration(key=CORDON, value="true"), False),
        (Toleration(key=CORDON, operator="Exists", effect="NoExecute"), False),
        (Toleration(key="other", operator="Exists"), False),
    ],
)
def test_tolerating_the_cordon_taint_tolerates_cordoned_nodes(
    toleration: Toleration, tolerates: bool
) -> None:
    assert (PLUGIN.filter(pod(toleration), NodeInfo.of(node(True))) is None) is tolerates
    assert PLUGIN.pod_signature(pod(toleration)) is tolerates


def test_the_taint_itself_does_not_matter() -> None:
    assert PLUGIN.filter(pod(), NodeInfo.of(node(False, Taint(CORDON, effect="NoSchedule")))) is None


def test_verdicts_do_not_change_with_the_node() -> None:
    table = NodeTable()
    table.set_node(node(True))
    verdicts = PLUGIN.filter_rows(pod(), table.rows())
    table.set_node(node(False))
    assert verdicts is not None
    assert verdicts.codes.tolist() == [1]
    assert columnar_statuses(PLUGIN, CycleState(), pod(), table.rows()) == [Status()]


def test_hints_of_nodes() -> None:
    assert hint_of(PLUGIN, NODE_ADDED, pod(), None, node(False))
    assert not hint_of(PLUGIN, NODE_ADDED, pod(TOLERANT), None, node(True))
    assert hint_of(PLUGIN, TAINTS_CHANGED, pod(), node(True), node(False))
    assert not hint_of(PLUGIN, TAINTS_CHANGED, pod(), node(True), node(True))
    assert not hint_of(
        PLUGIN, TAINTS_CHANGED, pod(), node(False, Taint("a", effect="NoSchedule")), node(False)
    )


def test_hints_of_tolerations() -> None:
    assert hint_of(PLUGIN, TOLERATIONS_CHANGED, pod(), pod(), pod(TOLERANT))
    assert not hint_of(PLUGIN, TOLERATIONS_CHANGED, pod(), pod(), pod(Toleration(key="a")))
    assert not hint_of(PLUGIN, TOLERATIONS_CHANGED, pod(), pod(uid="q"), pod(TOLERANT, uid="q"))


@given(table=tables(), pod=pods())
def test_both_forms_agree(table: NodeTable, pod: Pod) -> None:
    check_filter_agreement(PLUGIN, table, pod)
