"""PodTopologySpread: score and normalization."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plugins_builtin.args import LIST_DEFAULTING, PodTopologySpreadArgs
from plugins_builtin.pod_topology_spread import PodTopologySpread
from plugins_builtin.pod_topology_spread.scoring import _normalized_array, _normalized_list, _reversed, _round
from schedframe.api import SCHEDULE_ANYWAY, LabelSelector, Pod, TopologySpreadConstraint
from schedframe.framework import CycleState, Status
from schedframe.state import NodeInfo, NodeTable, Rows
from tests.plugins.agreement import StandInHandle, columnar_scores, per_node_scores
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


def plugin_of(table: NodeTable) -> PodTopologySpread:
    return PodTopologySpread(PodTopologySpreadArgs(), StandInHandle(table=table))


def scored(table: NodeTable, pod: Pod, *nodes: str) -> dict[str, tuple[int, int]]:
    """Return raw and normalized scores of *nodes*, the feasible ones (by default all)."""
    plugin, state, rows = plugin_of(table), CycleState(), table.rows()
    if nodes:
        rows = Rows.at(table, np.array([table.live_row(name) for name in nodes], np.intp))
    assert plugin.pre_score(state, pod, rows) is None
    raw = columnar_scores(plugin, state, pod, rows)
    assert raw == per_node_scores(plugin, state, pod, rows)
    scores = np.array(raw, np.int64)
    plugin.normalize_scores(state, scores, rows)
    return dict(zip(rows.names(), zip(raw, scores.tolist(), strict=True), strict=True))


def soft(key: str = ZONE, max_skew: int = 1, **more: Any) -> TopologySpreadConstraint:
    return constraint(key, max_skew, SCHEDULE_ANYWAY, **more)


def test_fewer_pods_score_higher() -> None:
    weight = math.log(3 + 2)
    expected = [round(count * weight) for count in (0, 1, 4)]
    found = scored(cluster(a=0, b=1, c=4), make_pod("p", soft()))
    assert [raw for raw, _ in found.values()] == expected == [0, 2, 6]
    assert [score for _, score in found.values()] == [100, 66, 0]


def test_equal_domains_get_the_highest_score() -> None:
    assert set(scored(cluster(a=0, b=0), make_pod("p", soft())).values()) == {(0, 100)}
    weight = round(2 * math.log(4))
    assert set(scored(cluster(a=2, b=2), make_pod("p", soft())).values()) == {(weight, 100)}


def test_a_larger_max_skew_reduces_differences() -> None:
    found = scored(cluster(a=0, b=1, c=4), make_pod("p", soft(max_skew=5)))
    assert list(found.values()) == [(4, 100), (6, 80), (10, 40)]


def test_for_host_names_all_pods_of_a_node_count() -> None:
    """Independent of the node inclusion policies."""
    table = cluster(a=0, b=2)
    found = scored(table, make_pod("p", soft(HOSTNAME), node_selector={"no": "node"}))
    assert found == {"a1": (0, 100), "b1": (round(2 * math.log(4)), 0)}


def test_the_weight_depends_on_the_domains_of_feasible_nodes() -> None:
    table = cluster(a=0, b=2, c=5)
    assert scored(table, make_pod("p", soft()), "b1")["b1"] == (round(2 * math.log(3)), 100)
    assert scored(table, make_pod("p", soft()), "b1", "a1")["b1"][0] == round(2 * math.log(4))
    assert scored(table, make_pod("p", soft(HOSTNAME)), "b1", "a1")["b1"][0] == round(2 * math.log(4))


def test_a_node_that_lacks_a_key_scores_zero() -> None:
    table = cluster(a=0, b=1)
    table.set_node(make_node("bare"))
    found = scored(table, make_pod("p", soft()))
    assert found == {"a1": (0, 100), "b1": (round(math.log(4)), 0), "bare": (0, 0)}
    assert scored(table, make_pod("p", soft()), "bare") == {"bare": (0, 0)}
    both = scored(table, make_pod("p", soft(), soft(HOSTNAME)))
    assert both["a1"] == (0, 100)
    assert both["bare"] == (0, 0)


def test_pods_on_nodes_that_do_not_count_are_ignored() -> None:
    table = cluster(a=0, b=1)
    table.set_node(make_node("b2", [TAINTED], zone="b"))
    run(table, "b2", 7)
    raw = {name: raw for name, (raw, _) in scored(table, make_pod("p", soft())).items()}
    assert raw["b1"] == round(8 * math.log(4))
    honoured = scored(table, make_pod("p", soft(node_taints_policy="Honor")))
    assert honoured["b1"][0] == round(math.log(4))


def test_many_domains_are_counted_exactly() -> None:
    table = NodeTable()
    for i in range(600):
        table.set_node(make_node(f"n{i}", rack=f"r{i // 2}"))
    run(table, "n599", 1)
    some = [f"n{i}" for i in range(0, 600, 3)]
    racks = len({int(name[1:]) // 2 for name in some})
    found = scored(table, make_pod("p", soft(RACK)), "n599", *some)
    assert found["n599"][0] == round(math.log(racks + 1 + 2))


def test_a_node_info_outside_the_table_is_scored_by_its_own_pods() -> None:
    table = cluster(a=3, b=0)
    plugin, state, pod = plugin_of(table), CycleState(), make_pod("p", soft(HOSTNAME))
    plugin.pre_score(state, pod, table.rows())
    weight = math.log(4)
    assert plugin.score(state, table.info(0)) == round(3 * weight)
    copy = table.info(0).clone()
    copy.remove_pod(next(iter(copy.pods.values())))
    assert plugin.score(state, copy) == round(2 * weight)
    mixed = [make_pod("x"), make_pod("y", terminating=True), make_pod("z", labels={})]
    assert plugin.score(state, NodeInfo.of(make_node("new", zone="a"), mixed)) == round(weight)
    state, matching_all = CycleState(), make_pod("p", soft(HOSTNAME, selector=LabelSelector()))
    plugin.pre_score(state, matching_all, table.rows())
    assert plugin.score(state, copy) == 0


def test_scores_of_an_invalid_skew_may_be_negative_and_are_truncated_towards_zero() -> None:
    found = scored(cluster(a=0, b=7), make_pod("p", soft(max_skew=-2)))
    assert list(found.values()) == [(-3, 100), (7, -42)]
    below_zero = scored(cluster(a=0, b=1), make_pod("p", soft(max_skew=-4)))
    assert list(below_zero.values()) == [(-5, 100), (-4, 100)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, 0), (0.5, 1), (1.4999999999999998, 1), (1.5, 2), (2.5, 3), (5.545, 6), (7.499999999999999, 7)],
)
def test_scores_are_rounded_half_away_from_zero(value: float, expected: int) -> None:
    assert _round(np.array([value]), zero_or_large=True).tolist() == [expected]
    assert _round(np.array([value, -value]), zero_or_large=False).tolist() == [expected, -expected]


def test_a_value_just_below_one_half_is_rounded_down() -> None:
    assert _round(np.array([0.49999999999999994]), zero_or_large=False).tolist() == [0]


@pytest.mark.parametrize("factor", [1, 10**7, 10**12])
def test_large_scores_are_normalised_without_overflow(factor: int) -> None:
    scores = np.array([0, 1, 5, 7], np.int64) * factor
    assert _reversed(scores, 0, 7 * factor).tolist() == [100, 85, 28, 0]
    assert _reversed(scores - 3 * factor, -3 * factor, 4 * factor).tolist() == [100, 75, -25, -75]


def test_listed_defaults_need_not_exist() -> None:
    table = cluster(a=0)
    plugin = PodTopologySpread(PodTopologySpreadArgs((), LIST_DEFAULTING), StandInHandle(table=table))
    assert plugin.pre_filter(CycleState(), make_pod("p"), table.rows()) == Status.skip()
    assert plugin.pre_score(CycleState(), make_pod("p"), table.rows()) == Status.skip()


@given(st.lists(st.tuples(st.integers(-50, 500), st.integers(0, 2)), min_size=1, max_size=6), st.booleans())
def test_both_normalizations_by_code_agree(domains: list[tuple[int, int]], lacking: bool) -> None:
    raw, nodes = [score for score, _ in domains] + [0], [count for _, count in domains]
    counted = [score for score, count in domains if count] + [0] * lacking
    assume(counted)
    few, many = _normalized_list(raw, nodes, lacking), _normalized_array(np.array(raw), np.array(counted))
    here = [*(i for i, count in enumerate(nodes) if count), *([len(nodes)] if lacking else [])]
    assert few[here].tolist() == many[here].tolist()
