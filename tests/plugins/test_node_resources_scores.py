"""NodeResourcesFit, score: the three strategies and their arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from plugins_builtin.node_resources.arithmetic import EXACT, percent, percents
from plugins_builtin.node_resources.fit import NodeResourcesFit
from plugins_builtin.node_resources.strategies import curve
from schedframe.api import Pod
from schedframe.framework import CycleState
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import (
    StandInHandle,
    check_pods_agreement,
    check_score_agreement,
    columnar_scores,
    per_node_scores,
)
from tests.plugins.resources import Amount, make_node, make_pod, table_of
from tests.plugins.strategies import EXTENDED, pods, tables

GPU = "example.com/gpu"
LINE = ((0, 0), (100, 10))


def plugin_of(
    kind: str, weights: Mapping[str, int] | None = None, shape: Sequence[tuple[int, int]] = LINE
) -> NodeResourcesFit:
    resources = {} if weights is None else {"resources": tuple(ResourceSpec(*one) for one in weights.items())}
    points = tuple(UtilizationShapePoint(utilization, score) for utilization, score in shape)
    ratio = RequestedToCapacityRatioParam(points) if kind == REQUESTED_TO_CAPACITY_RATIO else None
    strategy = ScoringStrategy(type=kind, requested_to_capacity_ratio=ratio, **resources)
    return NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=strategy), StandInHandle())


LEAST = plugin_of(LEAST_ALLOCATED)
MOST = plugin_of(MOST_ALLOCATED)
RATIO = plugin_of(REQUESTED_TO_CAPACITY_RATIO)


def score(plugin: NodeResourcesFit, pod: Pod, values: Mapping[str, Amount], *running: Pod) -> int:
    """What both forms give the node."""
    table = table_of(NodeInfo.of(make_node(values), running))
    state = CycleState()
    plugin.pre_score(state, pod)
    scores = columnar_scores(plugin, state, pod, table.rows())
    assert scores == per_node_scores(plugin, state, pod, table.rows())
    return scores[0]


NODE: Mapping[str, Amount] = {"cpu": 4, "memory": "4Gi"}
POD = make_pod({"cpu": 1, "memory": "2Gi"})
FULL = make_pod({"cpu": 4, "memory": "4Gi"}, name="full", node="n")


def test_strategies_are_means_of_what_is_left_or_used() -> None:
    assert score(LEAST, POD, NODE) == (75 + 50) // 2
    assert score(MOST, POD, NODE) == (25 + 50) // 2
    assert score(RATIO, POD, NODE) == 38


@pytest.mark.parametrize(("plugin", "expected"), [(LEAST, 0), (MOST, 100), (RATIO, 100)])
def test_a_node_cannot_be_fuller_than_full(plugin: NodeResourcesFit, expected: int) -> None:
    assert score(plugin, POD, NODE, FULL) == expected


def test_weights() -> None:
    weights = {"cpu": 3, "memory": 1}
    assert score(plugin_of(LEAST_ALLOCATED, weights), POD, NODE) == (3 * 75 + 50) // 4
    assert score(plugin_of(MOST_ALLOCATED, weights), POD, NODE) == (3 * 25 + 50) // 4
    assert score(plugin_of(REQUESTED_TO_CAPACITY_RATIO, weights), POD, NODE) == 31


@pytest.mark.parametrize("plugin", [LEAST, MOST, RATIO])
def test_a_resource_that_the_node_lacks_is_left_out(plugin: NodeResourcesFit) -> None:
    assert score(plugin, POD, {"memory": "4Gi"}) == 50
    assert score(plugin, POD, {}) == 0


@pytest.mark.parametrize("kind", [LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO])
def test_an_extended_resource_counts_only_if_it_is_requested(kind: str) -> None:
    plugin = plugin_of(kind, {"cpu": 1, GPU: 1})
    node = {"cpu": 4, GPU: 4}
    taken = make_pod({"cpu": 2, GPU: 4}, name="other", node="n")
    assert score(plugin, make_pod({"cpu": 0}), node, taken) == 50
    assert score(plugin, make_pod({"cpu": 0, GPU: 1}), node, taken) == {LEAST_ALLOCATED: 25}.get(kind, 75)


def test_a_resource_that_is_none_is_left_out() -> None:
    assert score(plugin_of(LEAST_ALLOCATED, {"cpu": 1, "pods": 1}), POD, NODE) == 75


def test_containers_that_do_not_say_count_a_little() -> None:
    cpu = plugin_of(MOST_ALLOCATED, {"cpu": 1})
    silent, zero = make_pod({}), make_pod({"cpu": 0})
    assert score(cpu, silent, {"cpu": "1"}) == 10
    assert score(cpu, zero, {"cpu": "1"}) == 0
    assert score(cpu, silent, {"cpu": "1"}, make_pod({}, {}, name="other", node="n")) == 30
    memory = plugin_of(MOST_ALLOCATED, {"memory": 1})
    assert score(memory, silent, {"memory": "400Mi"}) == 50


def test_storage_has_no_default() -> None:
    plugin = plugin_of(LEAST_ALLOCATED, {"ephemeral-storage": 1})
    assert score(plugin, make_pod({}), {"ephemeral-storage": 10}) == 100


def test_scores_need_no_pre_score() -> None:
    table = table_of(NodeInfo.of(make_node(NODE)))
    assert LEAST.score(CycleState(), POD, table.info(0)) == 62
    assert LEAST.score_rows(CycleState(), POD, table.rows()).tolist() == [62]


# ---- the curve -------------------------------------------------------------------------------------------


def test_a_curve_is_level_outside_of_its_points_and_straight_between() -> None:
    found = curve([UtilizationShapePoint(20, 2), UtilizationShapePoint(40, 10), UtilizationShapePoint(50, 0)])
    assert found[[0, 20, 30, 40, 45, 50, 51, 100]].tolist() == [20, 20, 60, 100, 50, 0, 0, 0]


def test_a_curve_drops_fractions_towards_the_point_it_starts_from() -> None:
    rising = curve([UtilizationShapePoint(0, 0), UtilizationShapePoint(3, 1)])
    falling = curve([UtilizationShapePoint(0, 1), UtilizationShapePoint(3, 0)])
    assert rising[:4].tolist() == [0, 3, 6, 10]
    assert falling[:4].tolist() == [10, 7, 4, 0]


def test_a_resource_that_scores_nothing_is_left_out_of_the_mean() -> None:
    plugin = plugin_of(REQUESTED_TO_CAPACITY_RATIO, shape=((25, 0), (50, 5)))
    assert score(plugin, POD, NODE) == 50
    assert score(plugin, make_pod({"cpu": 0, "memory": 0}), NODE) == 0


def test_a_curve_that_rewards_emptiness_does_not_reward_having_nothing() -> None:
    plugin = plugin_of(REQUESTED_TO_CAPACITY_RATIO, shape=((0, 10), (100, 0)))
    assert score(plugin, POD, {"memory": "4Gi"}) == 50
    assert score(plugin, POD, {}) == 0


def test_means_of_curves_are_rounded_half_up() -> None:
    plugin = plugin_of(REQUESTED_TO_CAPACITY_RATIO)
    assert score(plugin, make_pod({"cpu": "10m", "memory": 20}), {"cpu": 1, "memory": 1000}) == 2


# ---- integers --------------------------------------------------------------------------------------------

_SIZES = st.one_of(st.integers(1, 1000), st.integers(1, EXACT - 1), st.integers(EXACT, 2**62))


@given(_SIZES, st.data())
def test_percentages_are_exact_until_they_wrap_around(whole: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, whole))
    found = percent(part, whole)
    assert percents(np.array([part]), np.array([whole])).tolist() == [found]
    if part * 100 < 2**63:
        assert found == part * 100 // whole


def test_percentages_wrap_around_as_64_bit_integers_do() -> None:
    whole = 2**62
    assert percent(2**60, whole) == 1  # 25 without the overflow
    assert percent(2**61, whole) == -2
    assert percent(2**56, whole) == 1
    assert percents(np.array([2**61, 0]), np.array([whole, 0])).tolist() == [-2, 0]


# ---- both forms ------------------------------------------------------------------------------------------

_RESOURCES = ("cpu", "memory", "ephemeral-storage", *EXTENDED)
_SHAPES = st.dictionaries(st.integers(0, 100), st.integers(0, 10), min_size=1, max_size=4)
_PLUGINS = st.builds(
    plugin_of,
    st.sampled_from((LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)),
    st.none() | st.dictionaries(st.sampled_from(_RESOURCES), st.integers(1, 5), min_size=1, max_size=4),
    _SHAPES.map(lambda shape: sorted(shape.items())),
)


@given(_PLUGINS, tables(), pods())
def test_both_forms_of_score_agree(plugin: NodeResourcesFit, table: NodeTable, pod: Pod) -> None:
    check_score_agreement(plugin, table, pod)


@given(_PLUGINS, tables(), st.lists(pods(), min_size=1, max_size=4))
def test_several_pods_get_the_scores_of_each(
    plugin: NodeResourcesFit, table: NodeTable, some: list[Pod]
) -> None:
    check_pods_agreement(plugin, table, some)


@pytest.mark.parametrize("weights", [None, {"cpu": 2, "memory": 2}, {"cpu": 1, "memory": 3}])
def test_pods_of_the_usual_sizes_are_scored_at_once(weights: Mapping[str, int] | None) -> None:
    plugin = plugin_of(LEAST_ALLOCATED, weights)
    sizes = [{"cpu": f"{cpu}m", "memory": f"{memory}Mi"} for cpu in (50, 300, 3900) for memory in (128, 900)]
    some = [make_pod(size, name=f"p{i}") for i, size in enumerate(sizes)]
    running = make_pod({"cpu": "333m", "memory": "1Gi"}, name="there")
    nodes = [NODE, {"cpu": 1}, {"cpu": 4, "memory": 2**62}, {}]
    table = table_of(*[NodeInfo.of(make_node(node, f"n{i}"), [running]) for i, node in enumerate(nodes)])
    check_pods_agreement(plugin, table, some)
    check_pods_agreement(plugin, table, some[:1])
    at_once = plugin.prepare_score([CycleState() for _ in some], some, table)
    assert at_once is not None


_AMOUNTS = st.one_of(st.integers(1, 5000), st.integers(EXACT - 3, 8 * EXACT), st.integers(2**56, 2**61))


@given(
    st.sampled_from((LEAST_ALLOCATED, MOST_ALLOCATED)),
    st.lists(st.tuples(_AMOUNTS, st.integers(0, 3), _AMOUNTS), min_size=1, max_size=3),
    st.lists(st.tuples(_AMOUNTS, _AMOUNTS), min_size=1, max_size=3),
)
def test_amounts_that_floats_do_not_hold_are_scored_exactly(
    kind: str, sizes: list[tuple[int, int, int]], asked: list[tuple[int, int]]
) -> None:
    plugin = plugin_of(kind, {GPU: 2, EXTENDED[1]: 1, "cpu": 1})
    infos = [
        NodeInfo.of(
            make_node({GPU: gpus, EXTENDED[1]: nics, "cpu": 2}, f"n{i}"),
            [make_pod({GPU: used}, name=f"r{i}")],
        )
        for i, (gpus, nics, used) in enumerate(sizes)
    ]
    some = [make_pod({GPU: gpus, EXTENDED[1]: nics}, name=f"p{i}") for i, (gpus, nics) in enumerate(asked)]
    check_pods_agreement(plugin, table_of(*infos), some)


def test_large_amounts_and_lacking_resources_are_scored_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = plugin_of(LEAST_ALLOCATED, {"cpu": 1, GPU: 1})
    nodes = [{"cpu": 4, GPU: 2 * EXACT}, {"cpu": 4}]
    table = table_of(*[NodeInfo.of(make_node(node, f"n{i}")) for i, node in enumerate(nodes)])
    some = [make_pod({"cpu": cpu, GPU: EXACT}, name=f"p{cpu}") for cpu in (1, 2)]
    at_once = plugin.prepare_score([CycleState() for _ in some], some, table)
    assert at_once is not None
    # Node by node nothing is scored.
    monkeypatch.setattr(NodeTable, "info", None)
    assert [at_once(row).tolist() for row in (0, 1)] == [[62, 50], [75, 50]]
