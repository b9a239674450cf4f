"""PodTopologySpread: filter, also in dry runs."""

from __future__ import annotations

import numpy as np
import pytest

from schedframe.api import (
    SCHEDULE_ANYWAY,
    LabelSelector,
    LabelSelectorRequirement,
    Pod,
    Toleration,
)
from schedframe.errors import InputError
from schedframe.framework import CycleState, CycleStateError, Status
from schedframe.state import NodeTable
from tests.plugins.agreement import (
    columnar_statuses,
)
from tests.plugins.spreading import (
    HOSTNAME,
    RACK,
    TAINTED,
    ZONE,
    cluster,
    constraint,
    make_node,
    make_pod,
    run,
)

from .spread_filtering import EVERYTHING, OPEN, SKEWED, UNLABELLED, filtered, open_nodes, plugin_of

# ---- skew ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_skew", "expected"), [(1, {"a1"}), (2, {"a1", "b1"}), (3, {"a1", "b1"}), (4, {"a1", "b1", "c1"})]
)
def test_a_domain_may_exceed_the_smallest_count_by_max_skew(max_skew: int, expected: set[str]) -> None:
    assert open_nodes(cluster(a=0, b=1, c=3), constraint(max_skew=max_skew)) == expected


def test_a_pod_that_does_not_match_its_own_selector_does_not_count() -> None:
    table = cluster(a=0, b=1, c=2)
    assert open_nodes(table, constraint(), labels={"app": "other"}) == {"a1", "b1"}


def test_only_matching_pods_of_the_namespace_that_are_not_terminating_count() -> None:
    table = cluster(a=0, b=0)
    run(table, "b1", 2, namespace="other")
    run(table, "b1", 2, terminating=True)
    run(table, "b1", 2, labels={"app": "db"})
    assert open_nodes(table, constraint()) == {"a1", "b1"}
    run(table, "b1", 1)
    assert open_nodes(table, constraint()) == {"a1"}


def test_pods_are_summed_over_the_nodes_of_a_domain() -> None:
    table = cluster(a=1, b=1)
    for i in range(2, 4):
        table.set_node(make_node(f"b{i}", zone="b"))
        run(table, f"b{i}", 1)
    assert open_nodes(table, constraint(max_skew=2)) == {"a1"}
    assert open_nodes(table, constraint(max_skew=3)) == {"a1", "b1", "b2", "b3"}


def test_the_first_violated_constraint_gives_the_reason() -> None:
    table = NodeTable()
    for name, zone, rack in (("n1", "a", "r1"), ("n2", "a", "r2"), ("n3", "b", "r1")):
        table.set_node(make_node(name, zone=zone, rack=rack))
    run(table, "n1", 1)
    both = (constraint(ZONE), constraint(RACK))
    assert open_nodes(table, *both) == set()
    assert open_nodes(table, constraint(ZONE, 2), constraint(RACK)) == {"n2"}
    table.set_node(make_node("n4", zone="a"))
    assert filtered(table, make_pod("p", *both))["n4"] == SKEWED
    assert filtered(table, make_pod("p", *both[::-1]))["n4"] == UNLABELLED


def test_a_node_without_the_label_is_unresolvable() -> None:
    table = cluster(a=0, b=5)
    table.set_node(make_node("bare"))
    assert filtered(table, make_pod("p", constraint())) == {"a1": OPEN, "b1": SKEWED, "bare": UNLABELLED}
    run(table, "a1", 5)
    assert filtered(table, make_pod("p", constraint())) == {"a1": OPEN, "b1": OPEN, "bare": UNLABELLED}


def test_a_topology_key_that_no_node_has_rejects_all_nodes() -> None:
    found = filtered(cluster(a=0, b=0), make_pod("p", constraint("no.such/key")))
    assert set(found.values()) == {UNLABELLED}


def test_nodes_that_lack_another_topology_key_do_not_count() -> None:
    """Zone b has no pods, but its nodes lack a key: the smallest count is that of zone a."""
    table = cluster(a=3)
    table.set_node(make_node("a1", zone="a", rack="r1"))
    table.set_node(make_node("b1", zone="b"))
    both = (constraint(ZONE), constraint(RACK))
    assert filtered(table, make_pod("p", *both)) == {"a1": OPEN, "b1": UNLABELLED}


def test_many_domains_of_which_few_or_many_are_rejected() -> None:
    table = NodeTable()
    for i in range(20):
        table.set_node(make_node(f"n{i}"))
        run(table, f"n{i}", int(i >= 17))
    assert open_nodes(table, constraint(HOSTNAME)) == {f"n{i}" for i in range(17)}
    for i in range(14):
        run(table, f"n{i}", 1)
    assert open_nodes(table, constraint(HOSTNAME)) == {"n14", "n15", "n16"}


def test_a_max_skew_below_one_is_compared_like_any_other() -> None:
    """The API server refuses them; the reference's comparison works for any number."""
    table = cluster(a=0, b=1)
    assert open_nodes(table, constraint(max_skew=0)) == set()
    assert open_nodes(table, constraint(max_skew=0), labels={}) == {"a1"}
    assert open_nodes(table, constraint(max_skew=-1), labels={}) == set()


def test_constraints_with_unknown_actions_are_ignored() -> None:
    table = cluster(a=0, b=1)
    pod = make_pod("p", constraint(when="Whatever"))
    assert plugin_of(table).pre_filter(CycleState(), pod, table.rows()).is_skip
    assert plugin_of(table).pre_score(CycleState(), pod, table.rows()).is_skip


# ---- minDomains ------------------------------------------------------------------------------------------


def test_with_too_few_domains_the_smallest_count_is_zero() -> None:
    table = cluster(a=2, b=2)
    assert open_nodes(table, constraint(min_domains=2)) == {"a1", "b1"}
    assert open_nodes(table, constraint(min_domains=3)) == set()
    assert open_nodes(table, constraint(max_skew=3, min_domains=3)) == {"a1", "b1"}


def test_no_domain_is_too_few_unless_min_domains_is_zero() -> None:
    table = cluster(a=9)
    nowhere = {"node_selector": {"no": "node"}}
    assert open_nodes(table, constraint(), **nowhere) == {"a1"}
    assert open_nodes(table, constraint(max_skew=0), **nowhere) == set()
    assert open_nodes(table, constraint(max_skew=0, min_domains=0), **nowhere) == {"a1"}


# ---- which nodes count -----------------------------------------------------------------------------------


def test_by_default_only_nodes_that_the_pod_selects_count() -> None:
    table = NodeTable()
    for name, zone, disk in (("a1", "a", "ssd"), ("b1", "b", "ssd"), ("c1", "c", "hdd")):
        table.set_node(make_node(name, zone=zone, disk=disk))
    run(table, "a1", 1)
    run(table, "b1", 1)
    on_ssd = {"node_selector": {"disk": "ssd"}}
    assert open_nodes(table, constraint(), **on_ssd) == {"a1", "b1", "c1"}
    assert open_nodes(table, constraint(node_affinity_policy="Honor"), **on_ssd) == {"a1", "b1", "c1"}
    assert open_nodes(table, constraint(node_affinity_policy="Ignore"), **on_ssd) == {"c1"}


def test_taints_matter_only_if_honored() -> None:
    table = cluster(a=1, b=1)
    table.set_node(make_node("c1", [TAINTED], zone="c"))
    assert open_nodes(table, constraint()) == {"c1"}
    honoured = constraint(node_taints_policy="Honor")
    assert open_nodes(table, honoured) == {"a1", "b1", "c1"}
    tolerating = {"tolerations": (Toleration(key="dedicated", operator="Exists"),)}
    assert open_nodes(table, honoured, **tolerating) == {"c1"}
    table.set_node(make_node("c1", zone="c"))
    assert open_nodes(table, honoured) == {"c1"}


# ---- selectors -------------------------------------------------------------------------------------------


def test_match_label_keys_add_the_pods_own_labels() -> None:
    table = cluster(a=0, b=0)
    old, new = {"app": "web", "hash": "old"}, {"app": "web", "hash": "new"}
    run(table, "b1", 3, labels=old)
    by_hash = constraint(match_label_keys=("hash", "absent"))
    assert open_nodes(table, by_hash, labels=new) == {"a1", "b1"}
    assert open_nodes(table, by_hash, labels=old) == {"a1"}
    assert open_nodes(table, constraint(), labels=new) == {"a1"}


def test_a_missing_selector_matches_no_pod_and_an_empty_one_only_the_pod_itself() -> None:
    table = cluster(a=0, b=5)
    assert open_nodes(table, constraint(selector=None, max_skew=0)) == {"a1", "b1"}
    assert open_nodes(table, constraint(selector=None, match_label_keys=("app",), max_skew=0)) == {"a1", "b1"}
    assert open_nodes(table, constraint(selector=EVERYTHING)) == {"a1", "b1"}
    assert open_nodes(table, constraint(selector=EVERYTHING, max_skew=0)) == set()


def test_a_selector_that_cannot_be_parsed_is_an_error() -> None:
    table = cluster(a=0)
    broken = LabelSelector({}, (LabelSelectorRequirement("app", "Near", ("x",)),))
    hard = make_pod("p", constraint(), constraint(RACK, selector=broken))
    plugin = plugin_of(table)
    with pytest.raises(InputError, match=r"topologySpreadConstraints\[1\]\.labelSelector.*'Near'"):
        plugin.pre_filter(CycleState(), hard, table.rows())
    soft = make_pod("p", constraint(), constraint(RACK, when=SCHEDULE_ANYWAY, selector=broken))
    assert plugin.pre_filter(CycleState(), soft, table.rows()) is None
    with pytest.raises(InputError, match="'Near'"):
        plugin.pre_score(CycleState(), soft, table.rows())


def test_equal_specs_with_other_labels_or_namespaces_are_distinguished() -> None:
    table = cluster(a=0, b=1)
    plugin = plugin_of(table)
    pod = make_pod("p", constraint())
    for other, expected in (
        (pod, [OPEN, SKEWED]),
        (make_pod("q", labels={"app": "db"}), [OPEN, OPEN]),
        (make_pod("r", namespace="other"), [OPEN, OPEN]),
        (pod, [OPEN, SKEWED]),
    ):
        state = CycleState()
        same_spec = Pod(other.metadata, pod.spec)
        assert plugin.pre_filter(state, same_spec, table.rows()) is None
        assert columnar_statuses(plugin, state, same_spec, table.rows()) == expected


# ---- pre_filter, and filter without it -------------------------------------------------------------------


def test_pods_without_constraints_are_skipped() -> None:
    table = cluster(a=0, b=1)
    plugin, pod = plugin_of(table), make_pod("p")
    assert plugin.pre_filter(CycleState(), pod, table.rows()) == Status.skip()
    assert plugin.pre_score(CycleState(), pod, table.rows()) == Status.skip()
    assert table._groups is None, "skipping must not count pods"


def test_filter_and_score_need_pre_filter_and_pre_score() -> None:
    table = cluster(a=0)
    plugin, state, info = plugin_of(table), CycleState(), table.info(0)
    for call in (
        lambda: plugin.filter(state, info),
        lambda: plugin.filter_rows(state, table.rows()),
        lambda: plugin.add_pod(state, make_pod("o"), info),
        lambda: plugin.remove_pod(state, make_pod("o"), info),
        lambda: plugin.score(state, info),
        lambda: plugin.score_rows(state, table.rows()),
        lambda: plugin.normalize_scores(state, np.zeros(1, np.int64), table.rows()),
    ):
        with pytest.raises(CycleStateError, match="PodTopologySpread"):
            call()


def test_counts_of_pre_filter_do_not_follow_the_table() -> None:
    table = cluster(a=0, b=1)
    plugin, state, pod = plugin_of(table), CycleState(), make_pod("p", constraint())
    plugin.pre_filter(state, pod, table.rows())
    run(table, "a1", 5)
    plugin.pre_filter(CycleState(), pod, table.rows())
    assert columnar_statuses(plugin, state, pod, table.rows()) == [OPEN, SKEWED]


def test_values_that_no_node_has_now_are_no_domains() -> None:
    table = cluster(a=0, b=2, c=2)
    pod = make_pod("p", constraint())
    assert filtered(table, pod)["b1"] == SKEWED
    table.remove_node("a1")
    assert filtered(table, pod) == {"b1": OPEN, "c1": OPEN}
