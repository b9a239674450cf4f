"""TaintToleration: filter, score, signature and hints."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin._taints import taints_of_nodes
from plugins_builtin.taint_toleration import ERR_REASON, TaintToleration
from schedframe.api import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    Node,
    NodeSpec,
    ObjectMeta,
    Pod,
    PodSpec,
    Taint,
    Toleration,
)
from schedframe.framework import CycleState, CycleStateError, Status
from schedframe.queue import Action, ClusterEvent, EventResource
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import (
    check_filter_agreement,
    check_score_agreement,
    columnar_statuses,
)
from tests.plugins.events import hint_of
from tests.plugins.strategies import pods, tables, tolerations

PLUGIN = TaintToleration()
NODE_ADDED = ClusterEvent(EventResource.NODE, Action.ADD)
TAINTS_CHANGED = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_TAINT)
TOLERATIONS_CHANGED = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE_POD_TOLERATION)
DEDICATED = Taint("dedicated", "gpu", NO_SCHEDULE)
BROKEN = Taint("broken", "", NO_EXECUTE)
BUSY = Taint("busy", "", PREFER_NO_SCHEDULE)
FOR_GPU = Toleration(key="dedicated", value="gpu")


def node(*taints: Taint, name: str = "n") -> Node:
    return Node(ObjectMeta(name=name), NodeSpec(taints=taints))


def pod(*tolerations: Toleration, uid: str = "p") -> Pod:
    return Pod(ObjectMeta(name=uid, uid=uid), PodSpec(tolerations=tolerations))


def passes(pod: Pod, *taints: Taint) -> bool:
    status = PLUGIN.filter(pod, NodeInfo.of(node(*taints)))
    assert status in (None, Status.unresolvable(ERR_REASON))
    return status is None


def score(pod: Pod, *taints: Taint) -> int:
    state = CycleState()
    PLUGIN.pre_score(state)
    return PLUGIN.score(state, pod, NodeInfo.of(node(*taints)))


# ---- filter ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effect", [NO_SCHEDULE, NO_EXECUTE])
def test_an_untolerated_hard_taint_rejects(effect: str) -> None:
    assert not passes(pod(), Taint("a", "", effect))
    assert passes(pod(Toleration(key="a", operator="Exists")), Taint("a", "", effect))


def test_every_taint_must_be_tolerated() -> None:
    assert not passes(pod(FOR_GPU), DEDICATED, BROKEN)
    assert passes(pod(FOR_GPU, Toleration(key="broken", operator="Exists")), DEDICATED, BROKEN)


def test_a_soft_taint_does_not_reject() -> None:
    assert passes(pod(), BUSY)


@pytest.mark.parametrize("operator", ["Gt", "Lt", "equal"])
def test_other_operators_tolerate_nothing(operator: str) -> None:
    assert not passes(pod(evolve(FOR_GPU, operator=operator)), DEDICATED)


def test_nodes_tainted_at_different_times_share_one_value() -> None:
    table = NodeTable()
    for i in range(3):
        table.set_node(node(evolve(BROKEN, time_added=float(i)), name=f"n{i}"))
    rejected = Status.unresolvable(ERR_REASON)
    assert columnar_statuses(PLUGIN, CycleState(), pod(), table.rows()) == [rejected] * 3
    assert taints_of_nodes(table).values == [(BROKEN,)]


def test_cached_answers_cover_taints_that_appear_later() -> None:
    table = NodeTable()
    for name, taint in (("a", DEDICATED), ("b", BUSY)):
        table.set_node(node(taint, name=name))
    assert columnar_statuses(PLUGIN, CycleState(), pod(FOR_GPU), table.rows()) == [Status(), Status()]
    table.set_node(node(BROKEN, name="b"))
    assert columnar_statuses(PLUGIN, CycleState(), pod(FOR_GPU), table.rows()) == [
        Status(),
        Status.unresolvable(ERR_REASON),
    ]


# ---- score -----------------------------------------------------------------------------------------------


def test_the_score_counts_untolerated_soft_taints() -> None:
    other = Taint("noisy", "", PREFER_NO_SCHEDULE)
    assert score(pod(), BUSY, DEDICATED, other) == 2
    assert score(pod(Toleration(key="busy")), BUSY, DEDICATED, other) == 1
    assert score(pod(Toleration(operator="Exists")), BUSY, DEDICATED, other) == 0


def test_a_toleration_of_another_effect_does_not_count() -> None:
    assert score(pod(Toleration(key="busy", effect=NO_SCHEDULE)), BUSY) == 1
    assert score(pod(Toleration(key="busy", effect=PREFER_NO_SCHEDULE)), BUSY) == 0


def test_scoring_without_pre_score_fails() -> None:
    table = NodeTable()
    table.set_node(node())
    with pytest.raises(CycleStateError, match="TaintToleration"):
        PLUGIN.score(CycleState(), pod(), table.info(0))
    with pytest.raises(CycleStateError, match="TaintToleration"):
        PLUGIN.score_rows(CycleState(), pod(), table.rows())


# ---- signature and hints ---------------------------------------------------------------------------------


def test_the_signature_ignores_toleration_seconds() -> None:
    brief, long = (pod(evolve(FOR_GPU, toleration_seconds=seconds)) for seconds in (3, 300))
    assert PLUGIN.pod_signature(brief) == PLUGIN.pod_signature(long)
    assert PLUGIN.pod_signature(brief) == PLUGIN.pod_signature(pod(evolve(FOR_GPU, operator="Equal")))
    assert PLUGIN.pod_signature(brief) != PLUGIN.pod_signature(pod())


def test_hints_of_nodes() -> None:
    assert hint_of(PLUGIN, NODE_ADDED, pod(), None, node(BUSY))
    assert not hint_of(PLUGIN, NODE_ADDED, pod(), None, node(DEDICATED))
    assert hint_of(PLUGIN, TAINTS_CHANGED, pod(FOR_GPU), node(BROKEN), node(DEDICATED))
    assert not hint_of(PLUGIN, TAINTS_CHANGED, pod(FOR_GPU), node(DEDICATED), node())
    assert not hint_of(PLUGIN, TAINTS_CHANGED, pod(), node(BROKEN), node(DEDICATED))


def test_hints_of_tolerations() -> None:
    assert hint_of(PLUGIN, TOLERATIONS_CHANGED, pod(), pod(), pod(FOR_GPU))
    assert not hint_of(PLUGIN, TOLERATIONS_CHANGED, pod(), pod(uid="q"), pod(FOR_GPU, uid="q"))


# ---- both forms ------------------------------------------------------------------------------------------


@given(table=tables(), pod=pods(), more=st.lists(tolerations, max_size=2))
def test_both_forms_agree(table: NodeTable, pod: Pod, more: list[Toleration]) -> None:
    again = evolve(pod, spec=evolve(pod.spec, tolerations=(*pod.spec.tolerations, *more)))
    for each in (pod, again):
        check_filter_agreement(PLUGIN, table, each)
        check_score_agreement(PLUGIN, table, each)
