"""NodeName: pods that name their node."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.node_name import ERR_REASON, NodeName
from schedframe.api import Node, ObjectMeta, Pod, PodSpec
from schedframe.framework import Status
from schedframe.queue import Action, ClusterEvent, EventResource
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import check_filter_agreement
from tests.plugins.events import hint_of
from tests.plugins.strategies import NODE_NAMES, pods, tables

PLUGIN = NodeName()
HERE = NodeInfo.of(Node(ObjectMeta(name="here")))


def pod(node_name: str) -> Pod:
    return Pod(ObjectMeta(name="p", uid="p"), PodSpec(node_name=node_name))


def test_only_the_named_node_is_feasible() -> None:
    assert PLUGIN.filter(pod("here"), HERE) is None
    assert PLUGIN.filter(pod("elsewhere"), HERE) == Status.unresolvable(ERR_REASON)


def test_without_a_name_every_node_is_feasible() -> None:
    assert PLUGIN.filter(pod(""), HERE) is None


def test_every_new_node_helps() -> None:
    node = HERE.node
    assert hint_of(PLUGIN, ClusterEvent(EventResource.NODE, Action.ADD), pod("elsewhere"), None, node)


@given(table=tables(), pod=st.sampled_from(("", "gone", *NODE_NAMES)).flatmap(lambda name: pods("p", name)))
def test_both_forms_agree(table: NodeTable, pod: Pod) -> None:
    check_filter_agreement(PLUGIN, table, pod)
