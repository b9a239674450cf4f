"""PodTopologySpread: counts as pods are added and removed in a dry run."""

from __future__ import annotations

from plugins_builtin.pod_topology_spread.filtering import ConstraintCounts
from plugins_builtin.pod_topology_spread.plugin import _HARD
from schedframe.framework import CycleState
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import (
    columnar_statuses,
    per_node_statuses,
)
from tests.plugins.spreading import (
    HOSTNAME,
    RACK,
    ZONE,
    cluster,
    constraint,
    make_node,
    make_pod,
    run,
)

from .spread_filtering import EVERYTHING, OPEN, SKEWED, UNLABELLED, plugin_of

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
