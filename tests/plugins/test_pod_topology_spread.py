"""PodTopologySpread: filter, also in dry runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plugins_builtin.args import PodTopologySpreadArgs
from plugins_builtin.pod_topology_spread import ERR_REASON_CONSTRAINTS, ERR_REASON_LABEL, PodTopologySpread
from plugins_builtin.pod_topology_spread.filtering import ConstraintCounts
from plugins_builtin.pod_topology_spread.plugin import _HARD
from schedframe.api import (
    SCHEDULE_ANYWAY,
    LabelSelector,
    LabelSelectorRequirement,
    Pod,
    Toleration,
    TopologySpreadConstraint,
)
from schedframe.errors import InputError
from schedframe.framework import CycleState, CycleStateError, Status
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import (
    StandInHandle,
    columnar_statuses,
    per_node_statuses,
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

OPEN = Status()
SKEWED = Status.unschedulable(ERR_REASON_CONSTRAINTS)
UNLABELLED = Status.unresolvable(ERR_REASON_LABEL)
EVERYTHING = LabelSelector()


def plugin_of(table: NodeTable) -> PodTopologySpread:
    return PodTopologySpread(PodTopologySpreadArgs(), StandInHandle(table=table))


def filtered(table: NodeTable, pod: Pod) -> dict[str, Status]:
    """Return the status of each node by both forms."""
    plugin, state, rows = plugin_of(table), CycleState(), table.rows()
    assert plugin.pre_filter(state, pod, rows) is None
    found = columnar_statuses(plugin, state, pod, rows)
    assert found == per_node_statuses(plugin, state, pod, rows)
    return dict(zip(rows.names(), found, strict=True))


def open_nodes(table: NodeTable, *constraints: TopologySpreadConstraint, **pod: Any) -> set[str]:
    found = filtered(table, make_pod("p", *constraints, **pod))
    assert set(found.values()) <= {OPEN, SKEWED}
    return {name for name, status in found.items() if status == OPEN}


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


# ---- dry runs --------------------------------------------------------------------------------------------


def test_remove_pod_lowers_and_add_pod_raises_the_counts() -> None:
    table = cluster(a=1, b=2)
    plugin, state, pod = plugin_of(table), CycleState(), make_pod("p", constraint())
    plugin.pre_filter(state, pod, table.rows())
    trial = state.clone()
    rows = table.rows()
    b1 = table.info(1)
    victim = next(iter(b1.pods.values()))
    plugin.remove_pod(trial, victim, b1)
    assert columnar_statuses(plugin, trial, pod, rows) == [OPEN, OPEN]
    plugin.add_pod(trial, make_pod("x"), b1)
    plugin.add_pod(trial, make_pod("y"), table.info(0))
    assert columnar_statuses(plugin, trial, pod, rows) == [OPEN, OPEN]
    assert per_node_statuses(plugin, trial, pod, rows) == [OPEN, OPEN]
    plugin.add_pod(trial, make_pod("z"), table.info(0))
    assert columnar_statuses(plugin, trial, pod, rows) == [SKEWED, OPEN]
    assert columnar_statuses(plugin, state, pod, rows) == [OPEN, SKEWED]


def test_pods_that_do_not_count_change_nothing_in_a_dry_run() -> None:
    table = cluster(a=0, b=1)
    table.set_node(make_node("bare"))
    plugin, state, pod = plugin_of(table), CycleState(), make_pod("p", constraint())
    plugin.pre_filter(state, pod, table.rows())
    before = columnar_statuses(plugin, state, pod, table.rows())
    for other, row in (
        (make_pod("o", labels={"app": "db"}), 0),
        (make_pod("o", namespace="other"), 0),
        (make_pod("o"), 2),
    ):
        plugin.add_pod(state, other, table.info(row))
        assert columnar_statuses(plugin, state, pod, table.rows()) == before
    plugin.add_pod(state, make_pod("o"), NodeInfo("gone"))
    assert columnar_statuses(plugin, state, pod, table.rows()) == before


def test_pods_on_nodes_that_lack_another_key_change_nothing_in_a_dry_run() -> None:
    table = NodeTable()
    for name, labels in (("n1", {"rack": "r1"}), ("n2", {"rack": "r2"}), ("n3", {})):
        table.set_node(make_node(name, zone="a", **labels))
    plugin, state = plugin_of(table), CycleState()
    pod = make_pod("p", constraint(ZONE), constraint(RACK))
    plugin.pre_filter(state, pod, table.rows())
    plugin.add_pod(state, make_pod("o"), table.info(2))
    assert columnar_statuses(plugin, state, pod, table.rows()) == [OPEN, OPEN, UNLABELLED]
    assert state.read(_HARD).lowest(0) == 0


def test_dry_runs_count_the_pods_that_the_reference_counts_there() -> None:
    """Terminating pods, and pods that an empty selector matches, though pre_filter counts neither."""
    table = cluster(a=0, b=1)
    plugin, state, pod = plugin_of(table), CycleState(), make_pod("p", constraint())
    plugin.pre_filter(state, pod, table.rows())
    plugin.remove_pod(state, make_pod("o", terminating=True), table.info(1))
    assert columnar_statuses(plugin, state, pod, table.rows()) == [OPEN, OPEN]
    state, pod = CycleState(), make_pod("p", constraint(selector=EVERYTHING))
    plugin.pre_filter(state, pod, table.rows())
    plugin.add_pod(state, make_pod("o"), table.info(1))
    assert columnar_statuses(plugin, state, pod, table.rows()) == [OPEN, SKEWED]


def test_a_node_outside_the_table_adds_its_domain() -> None:
    table = cluster(a=1, b=1)
    plugin, state = plugin_of(table), CycleState()
    pod = make_pod("p", constraint(min_domains=3, max_skew=1))
    plugin.pre_filter(state, pod, table.rows())
    new = NodeInfo.of(make_node("c1", zone="c"))
    assert plugin.filter(state, new) is None
    assert plugin.filter(state, table.info(0)) == SKEWED
    plugin.add_pod(state, make_pod("o"), new)
    assert plugin.filter(state, new) is None
    assert plugin.filter(state, table.info(0)) is None


def test_the_smallest_count_of_many_domains_after_many_changes() -> None:
    """More domains change than the first search returned."""
    table = NodeTable()
    for i in range(30):
        table.set_node(make_node(f"n{i:02}"))
        run(table, f"n{i:02}", i // 10)
    plugin, state, pod = plugin_of(table), CycleState(), make_pod("p", constraint(HOSTNAME))
    plugin.pre_filter(state, pod, table.rows())
    last = table.info(29)
    for i in range(30):
        assert (plugin.filter(state, last) is None) == (i >= 20)
        plugin.add_pod(state, make_pod(f"o{i}"), table.info(i))
        if i < 10:
            plugin.add_pod(state, make_pod(f"p{i}"), table.info(i))
    assert plugin.filter(state, last) == SKEWED


def test_the_smallest_counts_are_searched_once_and_then_extended() -> None:
    table = NodeTable()
    for i in range(40):
        table.set_node(make_node(f"n{i:02}"))
        run(table, f"n{i:02}", i // 4)
    (wanted,) = plugin_of(table).constraints(make_pod("p", constraint(HOSTNAME)), "DoNotSchedule")
    counted = ConstraintCounts.of(wanted, table.rows())
    counts = counted.counts.tolist()
    for gone in (0, 1, 7, 8, 20, 39):
        order = sorted(range(40), key=counts.__getitem__)
        assert counted.lowest_except(set(order[:gone])) == counts[order[gone]]
    assert counted.lowest_except(set(range(40))) is None
