"""NodeAffinity: filter, score, signature and hints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.args import NodeAffinityArgs
from plugins_builtin.node_affinity import (
    ERR_REASON_CONFLICT,
    ERR_REASON_ENFORCED,
    ERR_REASON_POD,
    NodeAffinity,
)
from schedframe import InputError
from schedframe.api import (
    Affinity,
    Node,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodSpec,
    PreferredSchedulingTerm,
)
from schedframe.api import NodeAffinity as Wanted
from schedframe.api import NodeSelectorRequirement as Expression
from schedframe.framework import CycleState, PreFilterResult, Status
from schedframe.queue import Action, ClusterEvent, EventResource
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import (
    check_filter_agreement,
    check_score_agreement,
    columnar_scores,
    columnar_statuses,
    per_node_scores,
    per_node_statuses,
)
from tests.plugins.events import hint_of
from tests.plugins.strategies import NODE_NAMES, node_affinities, pods, tables

PLAIN = NodeAffinity(NodeAffinityArgs())
NODE_ADDED = ClusterEvent(EventResource.NODE, Action.ADD)
LABELS_CHANGED = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_LABEL)
TAINTS_CHANGED = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_TAINT)
NOT_A_NUMBER = Expression("cores", "Gt", ("five",))


def node(name: str = "n", **labels: str) -> Node:
    return Node(ObjectMeta(name=name, labels=labels))


def terms(*alternatives: NodeSelectorTerm | Expression) -> NodeSelector:
    """Return a selector with one term per argument; a bare expression is a term."""
    return NodeSelector(
        tuple(NodeSelectorTerm((one,)) if isinstance(one, Expression) else one for one in alternatives)
    )


def named(*names: str, operator: str = "In") -> NodeSelectorTerm:
    """Return a term with one ``metadata.name`` expression for each of *names*."""
    return NodeSelectorTerm((), tuple(Expression("metadata.name", operator, (name,)) for name in names))


def preferring(*weighted: tuple[int, NodeSelectorTerm | Expression]) -> tuple[PreferredSchedulingTerm, ...]:
    return tuple(PreferredSchedulingTerm(weight, terms(term).terms[0]) for weight, term in weighted)


def pod(
    required: NodeSelector | None = None,
    preferred: tuple[PreferredSchedulingTerm, ...] = (),
    selector: Mapping[str, str] | None = None,
) -> Pod:
    affinity = Affinity(Wanted(required, preferred)) if required or preferred else None
    return Pod(ObjectMeta(name="p", uid="p"), PodSpec(affinity=affinity, node_selector=selector or {}))


def adding(
    required: NodeSelector | None = None, preferred: tuple[PreferredSchedulingTerm, ...] = ()
) -> NodeAffinity:
    return NodeAffinity(NodeAffinityArgs(Wanted(required, preferred)))


def passes(pod: Pod, node: Node, plugin: NodeAffinity = PLAIN) -> bool:
    status = plugin.filter(pod, NodeInfo.of(node))
    assert status in (None, Status.unresolvable(ERR_REASON_POD))
    return status is None


# ---- required --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "labels", "matches"),
    [
        (Expression("disk", "In", ("ssd", "nvme")), {"disk": "ssd"}, True),
        (Expression("disk", "In", ("ssd", "nvme")), {"disk": "hdd"}, False),
        (Expression("disk", "In", ("ssd",)), {}, False),
        (Expression("disk", "NotIn", ("hdd",)), {"disk": "ssd"}, True),
        (Expression("disk", "NotIn", ("hdd",)), {}, True),
        (Expression("disk", "NotIn", ("hdd",)), {"disk": "hdd"}, False),
        (Expression("disk", "Exists"), {"disk": ""}, True),
        (Expression("disk", "Exists"), {}, False),
        (Expression("disk", "DoesNotExist"), {}, True),
        (Expression("disk", "DoesNotExist"), {"disk": ""}, False),
        (Expression("cores", "Gt", ("8",)), {"cores": "16"}, True),
        (Expression("cores", "Gt", ("8",)), {"cores": "8"}, False),
        (Expression("cores", "Lt", ("8",)), {"cores": "-3"}, True),
        (Expression("cores", "Lt", ("8",)), {"cores": "many"}, False),
        (Expression("cores", "Lt", ("8",)), {}, False),
        (NOT_A_NUMBER, {"cores": "6"}, False),
        (Expression("disk", "Like", ("s*",)), {"disk": "ssd"}, False),
    ],
)
def test_expressions(expression: Expression, labels: dict[str, str], matches: bool) -> None:
    assert passes(pod(terms(expression)), node(**labels)) is matches


def test_one_term_must_match_in_all_its_expressions() -> None:
    both = NodeSelectorTerm((Expression("disk", "Exists"), Expression("cores", "Exists")))
    either = pod(terms(both, Expression("zone", "In", ("a",))))
    assert passes(either, node(disk="ssd", cores="4"))
    assert not passes(either, node(disk="ssd"))
    assert passes(either, node(zone="a"))


def test_an_empty_term_and_no_terms_match_nothing() -> None:
    assert not passes(pod(terms(NodeSelectorTerm())), node())
    assert not passes(pod(NodeSelector()), node())


def test_a_term_that_cannot_be_parsed_matches_nothing() -> None:
    assert passes(pod(terms(NOT_A_NUMBER, Expression("disk", "Exists"))), node(disk="ssd"))


def test_node_selector_and_affinity_must_both_hold() -> None:
    demanding = pod(terms(Expression("zone", "In", ("a",))), selector={"disk": "ssd"})
    assert passes(demanding, node(zone="a", disk="ssd"))
    assert not passes(demanding, node(zone="a"))
    assert not passes(demanding, node(disk="ssd"))


def test_fields() -> None:
    assert passes(pod(terms(named("n"))), node("n"))
    assert not passes(pod(terms(named("n"))), node("m"))
    assert passes(pod(terms(named("n", operator="NotIn"))), node("m"))


# ---- pre_filter ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unconstrained",
    [
        pod(),
        pod(preferred=preferring((1, Expression("disk", "Exists")))),
        Pod(ObjectMeta(name="p"), PodSpec(affinity=Affinity(pod_affinity=PodAffinity()))),
    ],
)
def test_pods_without_requirements_are_skipped_without_added_affinity(unconstrained: Pod) -> None:
    assert PLAIN.pre_filter(unconstrained) == Status.skip()
    assert (
        adding(preferred=preferring((1, Expression("disk", "Exists")))).pre_filter(unconstrained)
        == Status.skip()
    )
    assert adding(terms(Expression("disk", "Exists"))).pre_filter(unconstrained) is None


@pytest.mark.parametrize(
    ("required", "names"),
    [
        (terms(named("a")), {"a"}),
        (terms(named("a"), named("b")), {"a", "b"}),
        (terms(named("a", "a"), named("b", "c")), {"a"}),
        (terms(NodeSelectorTerm((NOT_A_NUMBER,), named("a").match_fields)), {"a"}),
        (terms(named("a"), Expression("disk", "Exists")), None),
        (terms(named("a", operator="NotIn")), None),
        (terms(named("a"), NodeSelectorTerm()), None),
        (NodeSelector(), None),
    ],
)
def test_terms_that_all_name_nodes_leave_only_those(required: NodeSelector, names: set[str] | None) -> None:
    expected = None if names is None else PreFilterResult(frozenset(names))
    assert PLAIN.pre_filter(pod(required)) == expected


def test_contradictory_names_reject_the_pod() -> None:
    assert PLAIN.pre_filter(pod(terms(named("a", "b")))) == Status.unresolvable(ERR_REASON_CONFLICT)


# ---- added affinity --------------------------------------------------------------------------------------


def test_added_affinity_has_its_own_reason_and_comes_first() -> None:
    plugin = adding(terms(Expression("pool", "In", ("main",))))
    picky = pod(selector={"disk": "ssd"})
    assert plugin.filter(picky, NodeInfo.of(node())) == Status.unresolvable(ERR_REASON_ENFORCED)
    assert plugin.filter(picky, NodeInfo.of(node(pool="main"))) == Status.unresolvable(ERR_REASON_POD)
    assert plugin.filter(picky, NodeInfo.of(node(pool="main", disk="ssd"))) is None


@pytest.mark.parametrize("kind", ["required", "preferred"])
def test_added_affinity_that_cannot_be_parsed_is_refused(kind: str) -> None:
    broken = (
        Wanted(terms(NOT_A_NUMBER)) if kind == "required" else Wanted(None, preferring((1, NOT_A_NUMBER)))
    )
    with pytest.raises(InputError, match=rf"addedAffinity\.{kind}During.*must be an integer"):
        NodeAffinity(NodeAffinityArgs(broken))


# ---- score -----------------------------------------------------------------------------------------------


def test_weights_of_matching_preferences_add_up() -> None:
    keen = pod(
        preferred=preferring(
            (10, Expression("disk", "In", ("ssd",))),
            (5, Expression("zone", "Exists")),
            (90, Expression("zone", "In", ("elsewhere",))),
            (40, NodeSelectorTerm()),
        )
    )
    assert PLAIN.score(keen, NodeInfo.of(node(disk="ssd", zone="a"))) == 15
    assert PLAIN.score(keen, NodeInfo.of(node(zone="a"))) == 5
    assert PLAIN.score(keen, NodeInfo.of(node())) == 0


def test_added_preferences_count_for_pods_that_have_none() -> None:
    plugin = adding(preferred=preferring((7, Expression("pool", "In", ("main",)))))
    keen = pod(preferred=preferring((2, Expression("disk", "Exists"))))
    assert plugin.pre_score(pod()) is None
    assert plugin.score(pod(), NodeInfo.of(node(pool="main"))) == 7
    assert plugin.score(keen, NodeInfo.of(node(pool="main", disk="ssd"))) == 9


def test_pods_without_preferences_are_not_scored() -> None:
    assert PLAIN.pre_score(pod()) == Status.skip()
    assert PLAIN.pre_score(pod(terms(Expression("disk", "Exists")))) == Status.skip()
    assert PLAIN.pre_score(pod(preferred=preferring((1, NodeSelectorTerm())))) is None


def test_preferences_that_cannot_be_parsed_are_an_error() -> None:
    table = NodeTable()
    table.set_node(node())
    broken = pod(preferred=preferring((1, NOT_A_NUMBER)))
    status = PLAIN.pre_score(broken)
    assert status is not None
    assert status == Status.from_error(status.message)
    assert "must be an integer" in status.message
    with pytest.raises(InputError, match="must be an integer"):
        PLAIN.score(broken, table.info(0))
    with pytest.raises(InputError, match="must be an integer"):
        PLAIN.score_rows(broken, table.rows())


# ---- signature -------------------------------------------------------------------------------------------


def test_signatures_depend_on_the_affinity() -> None:
    wants = [
        pod(),
        pod(selector={"disk": "ssd"}),
        pod(terms(Expression("disk", "In", ("ssd",)))),
        pod(terms(named("ssd"))),
        pod(preferred=preferring((1, Expression("disk", "In", ("ssd",))))),
        pod(preferred=preferring((2, Expression("disk", "In", ("ssd",))))),
    ]
    signatures = {PLAIN.pod_signature(each) for each in wants}
    assert len(signatures) == len(wants)
    assert None not in signatures
    again = pod(selector=dict(reversed([("b", "2"), ("a", "1")])))
    assert PLAIN.pod_signature(again) == PLAIN.pod_signature(pod(selector={"b": "2", "a": "1"}))


# ---- hints -----------------------------------------------------------------------------------------------

ON_SSD = pod(selector={"disk": "ssd"})


def test_hints_from_no_match_to_match() -> None:
    assert hint_of(PLAIN, NODE_ADDED, ON_SSD, None, node(disk="ssd"))
    assert not hint_of(PLAIN, NODE_ADDED, ON_SSD, None, node())
    assert hint_of(PLAIN, LABELS_CHANGED, ON_SSD, node(), node(disk="ssd"))
    assert not hint_of(PLAIN, LABELS_CHANGED, ON_SSD, node(disk="ssd"), node(disk="ssd", zone="a"))
    assert not hint_of(PLAIN, LABELS_CHANGED, ON_SSD, node(disk="ssd"), node())
    assert hint_of(PLAIN, TAINTS_CHANGED, ON_SSD, node(), node())


def test_hints_compare_the_added_affinity_with_the_new_node_only() -> None:
    plugin = adding(terms(Expression("pool", "Exists")))
    assert not hint_of(plugin, NODE_ADDED, ON_SSD, None, node(disk="ssd"))
    assert not hint_of(plugin, LABELS_CHANGED, pod(), node(), node(pool="main"))
    assert hint_of(plugin, LABELS_CHANGED, ON_SSD, node(), node(pool="main", disk="ssd"))


def test_a_hint_raises_for_a_term_that_cannot_be_parsed() -> None:
    broken = pod(terms(NOT_A_NUMBER, Expression("zone", "Exists")), selector={"disk": "ssd"})
    with pytest.raises(InputError, match="must be an integer"):
        hint_of(PLAIN, NODE_ADDED, broken, None, node(disk="ssd"))
    assert hint_of(PLAIN, NODE_ADDED, broken, None, node(disk="ssd", zone="a"))
    assert not hint_of(PLAIN, NODE_ADDED, broken, None, node(zone="b"))


# ---- both forms ------------------------------------------------------------------------------------------

UNPARSABLE_TERMS = st.sampled_from(
    (
        NodeSelectorTerm((NOT_A_NUMBER,)),
        NodeSelectorTerm((Expression("zone", "In", ()),)),
        NodeSelectorTerm((), (Expression("metadata.name", "In", NODE_NAMES[:2]),)),
    )
)
UNUSUAL_TERMS = st.sampled_from(
    (
        NodeSelectorTerm(),
        NodeSelectorTerm((), (Expression("metadata.uid", "NotIn", ("x",)),)),
        NodeSelectorTerm((), (Expression("metadata.uid", "In", ("x",)),)),
        NodeSelectorTerm((), (Expression("metadata.uid", "In", ("",)),)),
        named("gone"),
        named("gone", operator="NotIn"),
    )
)
ADDED = st.none() | st.builds(
    evolve,
    node_affinities,
    required=st.none() | UNUSUAL_TERMS.map(terms) | st.just(terms(Expression("zone", "Exists"))),
)


@given(table=tables(), pod=pods(), odd=st.none() | UNUSUAL_TERMS | UNPARSABLE_TERMS, added=ADDED)
def test_both_forms_agree(
    table: NodeTable, pod: Pod, odd: NodeSelectorTerm | None, added: Wanted | None
) -> None:
    plugin = NodeAffinity(NodeAffinityArgs(added))
    if odd is not None:
        own = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
        others = own.required.terms if own is not None and own.required is not None else ()
        wanted = Wanted(NodeSelector((odd, *others)), own.preferred if own is not None else ())
        pod = evolve(pod, spec=evolve(pod.spec, affinity=Affinity(wanted)))
    check_filter_agreement(plugin, table, pod)
    check_score_agreement(plugin, table, pod)


@given(table=tables(), pod=pods())
def test_both_forms_agree_without_pre_filter_and_pre_score(table: NodeTable, pod: Pod) -> None:
    state, rows = CycleState(), table.rows()
    assert columnar_statuses(PLAIN, state, pod, rows) == per_node_statuses(PLAIN, state, pod, rows)
    assert columnar_scores(PLAIN, state, pod, rows) == per_node_scores(PLAIN, state, pod, rows)


def test_a_new_number_is_compared_by_a_known_expression() -> None:
    table = NodeTable()
    table.set_node(node("a", cores="4"))
    large = pod(terms(Expression("cores", "Gt", ("8",))))
    before = PLAIN.filter_rows(large, table.rows())
    table.set_node(node("b", cores="16"))
    after = PLAIN.filter_rows(large, table.rows())
    assert before is not None
    assert after is not None
    assert before.codes.tolist() == [1]
    assert np.array_equal(after.codes, [1, 0])
