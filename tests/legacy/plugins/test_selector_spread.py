"""SelectorSpread: the score of SelectorSpreadPriority."""

from __future__ import annotations

import math

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.legacy.plugins.selector_spread import SelectorSpread
from schedframe import InMemoryCluster, Scheduler, VirtualClock, load_config
from schedframe.api import NodeStatus, ObjectMeta, Pod, Quantity, Service, ServiceSpec
from schedframe.errors import ConfigError
from schedframe.framework import CycleState, CycleStateError, Status
from schedframe.state import NodeTable, ObjectStore, Rows, zone_of
from tests.configurations import configuration
from tests.plugins.agreement import StandInHandle, check_score_agreement, columnar_scores, parts_of
from tests.plugins.spreading import cluster, constraint, make_node, make_pod, pods, run, tables

WEB = make_pod("p")
SERVICE = Service(ObjectMeta(name="s", namespace="default"), ServiceSpec({"app": "web"}))


def plugin_of(table: NodeTable, served: bool = True) -> SelectorSpread:
    store = ObjectStore()
    if served:
        store.set(SERVICE)
    return SelectorSpread(StandInHandle(table, store))


def scored(plugin: SelectorSpread, rows: Rows, pod: Pod = WEB) -> dict[str, int]:
    state = CycleState()
    assert plugin.pre_score(state, pod) is None
    raw = np.array(columnar_scores(plugin, state, pod, rows), np.int64)
    return dict(zip(rows.names(), plugin.normalize_scores(raw, rows).tolist(), strict=True))


def hosts(**pods: int) -> NodeTable:
    """Return a table of nodes without zones, with these numbers of pods."""
    table = NodeTable()
    for name, count in pods.items():
        table.set_node(make_node(name))
        run(table, name, count)
    return table


# ---- by node ---------------------------------------------------------------------------------------------


def test_the_fewest_pods_score_highest() -> None:
    table = hosts(a=0, b=1, c=3)
    assert scored(plugin_of(table), table.rows()) == {"a": 100, "b": 66, "c": 0}


def test_without_any_pod_all_nodes_are_equal() -> None:
    table = hosts(a=0, b=0)
    assert scored(plugin_of(table), table.rows()) == {"a": 100, "b": 100}


def test_all_nodes_score_the_same_for_a_pod_without_workload() -> None:
    table = hosts(a=0, b=3)
    assert scored(plugin_of(table, served=False), table.rows()) == {"a": 100, "b": 100}


def test_only_pods_of_the_namespace_that_are_not_terminating_count() -> None:
    table = hosts(a=1, b=1)
    run(table, "b", 2, terminating=True)
    run(table, "b", 2, namespace="other")
    assert scored(plugin_of(table), table.rows()) == {"a": 0, "b": 0}


def test_pods_with_constraints_are_skipped() -> None:
    plugin = plugin_of(hosts(a=1))
    assert plugin.pre_score(CycleState(), make_pod("p", constraint())) == Status.skip()


def test_it_does_not_score_without_pre_score() -> None:
    table = hosts(a=1)
    plugin = plugin_of(table)
    with pytest.raises(CycleStateError, match="SelectorSpread"):
        plugin.score(CycleState(), WEB, table.info(0))
    with pytest.raises(CycleStateError, match="SelectorSpread"):
        plugin.score_rows(CycleState(), WEB, table.rows())


# ---- by zone ---------------------------------------------------------------------------------------------


def test_the_zone_makes_up_two_thirds() -> None:
    """One pod and two pods: half of the score for the zone, as for the node."""
    table = cluster(a=0, b=1, c=2)
    table.set_node(make_node("c2", zone="c"))
    assert scored(plugin_of(table), table.rows()) == {"a1": 100, "b1": 50, "c1": 0, "c2": 33}


def test_a_node_without_a_zone_is_scored_by_itself() -> None:
    table = cluster(a=0, b=2)
    table.set_node(make_node("bare"))
    run(table, "bare", 1)
    assert scored(plugin_of(table), table.rows()) == {"a1": 100, "b1": 0, "bare": 50}


def test_zones_are_distinguished_by_region_too() -> None:
    table = NodeTable()
    for name, region, count in (("a", "eu", 2), ("b", "us", 0)):
        table.set_node(make_node(name, zone="z", **{"topology.kubernetes.io/region": region}))
        run(table, name, count)
    assert scored(plugin_of(table), table.rows()) == {"a": 0, "b": 100}


def test_only_feasible_nodes_make_up_a_zone() -> None:
    table = cluster(a=1, b=1)
    table.set_node(make_node("b2", zone="b"))
    run(table, "b2", 5)
    rows = Rows.at(table, np.array([0, 1], np.intp))
    assert scored(plugin_of(table), rows) == {"a1": 0, "b1": 0}


# ---- at random -------------------------------------------------------------------------------------------


def plainly(table: NodeTable, names: list[str], counts: list[int]) -> list[int]:
    """Return the normalized scores of the reference, by a loop."""
    highest = max([0, *counts])
    zones: dict[tuple[str, str], int] = {}
    of = {}
    for name, count in zip(names, counts, strict=True):
        node = table.node_at(table.live_row(name))
        of[name] = zone_of(node)
        if any(of[name]):
            zones[of[name]] = zones.get(of[name], 0) + count
    most = max([0, *zones.values()])
    found = []
    for name, count in zip(names, counts, strict=True):
        score = 100.0 * (float(highest - count) / float(highest)) if highest > 0 else 100.0
        if of[name] in zones:
            zone = 100.0 * (float(most - zones[of[name]]) / float(most)) if most > 0 else 100.0
            score = (score * (1.0 - 2.0 / 3.0)) + (2.0 / 3.0 * zone)
        found.append(math.trunc(score))
    return found


@given(table=tables(), pod=pods("p"), served=st.booleans())
def test_both_forms_and_the_normalization_equal_loops(table: NodeTable, pod: Pod, served: bool) -> None:
    plugin = plugin_of(table, served)
    check_score_agreement(plugin, table, pod)
    for part in parts_of(table.rows()):
        state = CycleState()
        plugin.pre_score(state, pod)
        counts = columnar_scores(plugin, state, pod, part)
        expected = plainly(table, part.names(), counts)
        assert plugin.normalize_scores(np.array(counts, np.int64), part).tolist() == expected


# ---- in a scheduler --------------------------------------------------------------------------------------


def config_with(name: str) -> dict[str, object]:
    return configuration({"plugins": {"multiPoint": {"enabled": [{"name": name, "weight": 5}]}}})


def test_load_config_alone_refuses_the_name_as_the_reference_does() -> None:
    with pytest.raises(ConfigError, match="SelectorSpread"):
        load_config(config_with("SelectorSpread"))


@pytest.mark.parametrize(
    ("name", "plugins"),
    [("SelectorSpread", {}), ("Mine", {"Mine": SelectorSpread})],
)
def test_a_scheduler_takes_it_by_its_names_and_by_another(name: str, plugins: dict[str, type]) -> None:
    cluster = InMemoryCluster()
    for node in ("n1", "n2", "n3"):
        cluster.create(evolve(make_node(node), status=NodeStatus(allocatable={"pods": Quantity.of(10)})))
    cluster.create(SERVICE)
    for i in range(6):
        cluster.create(make_pod(f"p{i}"))
    scheduler = Scheduler(cluster, config_with(name), plugins=plugins, clock=VirtualClock(), seed=1)
    with scheduler:
        scheduler.run_until_idle()
    found = sorted(pod.node_name for pod in cluster.list("Pod"))
    assert found == ["n1", "n1", "n2", "n2", "n3", "n3"]
