"""NodeResourcesBalancedAllocation: does the pod leave the node used more evenly?"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.args import NodeResourcesBalancedAllocationArgs, ResourceSpec
from plugins_builtin.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from schedframe.api import Pod
from schedframe.framework import CycleState, Status
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


def plugin_of(*names: str) -> NodeResourcesBalancedAllocation:
    resources = {"resources": tuple(ResourceSpec(name, 1) for name in names)} if names else {}
    return NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs(**resources), StandInHandle())


PLUGIN = plugin_of()
NODE: Mapping[str, Amount] = {"cpu": 10, "memory": 1000}


def score(
    pod: Pod,
    values: Mapping[str, Amount],
    *running: Mapping[str, Amount],
    plugin: NodeResourcesBalancedAllocation = PLUGIN,
) -> int:
    """What both forms give the node."""
    others = (make_pod(requests, name=f"other-{i}", node="n") for i, requests in enumerate(running))
    table = table_of(NodeInfo.of(make_node(values), others))
    state = CycleState()
    assert plugin.pre_score(state, pod) is None
    scores = columnar_scores(plugin, state, pod, table.rows())
    assert scores == per_node_scores(plugin, state, pod, table.rows())
    return scores[0]


def test_no_change_is_75() -> None:
    assert score(make_pod({"cpu": 1, "memory": 100}), NODE) == 75
    assert score(make_pod({"cpu": 1, "memory": 100}), NODE, {"cpu": 4}) == 75


def test_better_and_worse() -> None:
    """Half of the change of (1 - standard deviation), in percent."""
    cpu = make_pod({"cpu": 4})
    assert score(cpu, NODE) == 65
    assert score(cpu, NODE, {"memory": 400}) == 85
    assert score(make_pod({"cpu": "200m"}), NODE) == 74  # 24.5 is 24


def test_from_all_to_nothing() -> None:
    assert score(make_pod({"cpu": 10}), NODE) == 50
    assert score(make_pod({"cpu": 10}), NODE, {"memory": 1000}) == 100


def test_more_than_all_is_all() -> None:
    assert score(make_pod({"cpu": 1, "memory": 1}), NODE, {"cpu": 30, "memory": 3000}) == 75


def test_real_requests_count_without_defaults() -> None:
    assert score(make_pod({"cpu": 1, "memory": 100}), NODE, {}, {}) == 75


def test_more_than_two_resources() -> None:
    plugin = plugin_of("cpu", "memory", "ephemeral-storage")
    node = {**NODE, "ephemeral-storage": 10}
    # Deviation of (1, 0, 0) is sqrt(2)/3, so 52 is left of 100.
    assert score(make_pod({"cpu": 10}), node, plugin=plugin) == 51


def test_a_single_resource_is_in_balance() -> None:
    assert score(make_pod({"cpu": 7}), NODE, plugin=plugin_of("cpu")) == 75
    assert score(make_pod({"cpu": 7}), {"cpu": 10}) == 75


def test_an_extended_resource_that_the_pod_leaves_alone_does_not_count() -> None:
    plugin = plugin_of("cpu", GPU)
    node = {"cpu": 10, GPU: 10}
    assert score(make_pod({"cpu": 1}), node, {GPU: 10}, plugin=plugin) == 75
    assert score(make_pod({"cpu": 1, GPU: 1}), node, {GPU: 1}, plugin=plugin) == 75
    assert score(make_pod({"cpu": 2, GPU: 1}), node, {GPU: 1}, plugin=plugin) == 77


@pytest.mark.parametrize("pod", [make_pod({}), make_pod({"cpu": 0, "memory": 0}), make_pod({GPU: 1})])
def test_a_pod_that_asks_for_none_of_the_resources_is_skipped(pod: Pod) -> None:
    assert PLUGIN.pre_score(CycleState(), pod) == Status.skip()


def test_scores_need_no_pre_score() -> None:
    table = table_of(NodeInfo.of(make_node(NODE)))
    for pod, expected in ((make_pod({"cpu": 4}), 65), (make_pod({}), 0)):
        assert PLUGIN.score(CycleState(), pod, table.info(0)) == expected
        assert PLUGIN.score_rows(CycleState(), pod, table.rows()).tolist() == [expected]


def test_the_signature_is_the_requests() -> None:
    one, same, other = make_pod({"cpu": 1}), make_pod({"cpu": "1000m"}, name="b"), make_pod({"cpu": 2})
    assert PLUGIN.pod_signature(one) == PLUGIN.pod_signature(same)
    assert PLUGIN.pod_signature(one) != PLUGIN.pod_signature(other)


_PLUGINS = st.lists(
    st.sampled_from(("cpu", "memory", "ephemeral-storage", *EXTENDED)), max_size=4, unique=True
).map(lambda names: plugin_of(*names))


@given(_PLUGINS, tables(), pods())
def test_both_forms_agree(plugin: NodeResourcesBalancedAllocation, table: NodeTable, pod: Pod) -> None:
    check_score_agreement(plugin, table, pod)


@given(_PLUGINS, tables(), st.lists(pods(), min_size=1, max_size=4))
def test_several_pods_get_the_scores_of_each(
    plugin: NodeResourcesBalancedAllocation, table: NodeTable, some: list[Pod]
) -> None:
    check_pods_agreement(plugin, table, some)


def test_pods_of_the_usual_sizes_are_scored_at_once() -> None:
    sizes = [{"cpu": f"{cpu}m", "memory": f"{memory}Mi"} for cpu in (50, 300, 3900) for memory in (128, 900)]
    some = [make_pod(size, name=f"p{i}") for i, size in enumerate(sizes)]
    running = make_pod({"cpu": "333m", "memory": "1Gi"}, name="there")
    nodes = [NODE, {"cpu": 1}, {"cpu": 4, "memory": 2**62}, {}, {"cpu": "333m", "memory": "1Gi"}]
    table = table_of(*[NodeInfo.of(make_node(node, f"n{i}"), [running]) for i, node in enumerate(nodes)])
    check_pods_agreement(PLUGIN, table, some)
    check_pods_agreement(PLUGIN, table, some[:1])
    states = [CycleState() for _ in some]
    assert PLUGIN.prepare_score(states, table) is None
    for state, each in zip(states, some, strict=True):
        assert PLUGIN.pre_score(state, each) is None
    assert PLUGIN.prepare_score(states, table) is not None
