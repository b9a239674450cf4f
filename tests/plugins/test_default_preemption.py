"""DefaultPreemption: arguments, gate, and messages."""

from __future__ import annotations

from typing import Any

import pytest

from plugins_builtin.default_preemption import IN_PROGRESS, DefaultPreemption
from schedframe import ConfigError, QueueingHint, evaluate, load_config
from tests.configurations import configuration

from ..cycle.build import World, make_node, make_pod
from ..cycle.executors import ManualExecutor

AFFINITY, PREEMPTION, SPREAD = "InterPodAffinity", "DefaultPreemption", "PodTopologySpread"
CONSTRAINT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


def with_args(plugin: str, args: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with these arguments."""
    return configuration({"pluginConfig": [{"name": plugin, "args": args}]})


def listed(**changes: Any) -> dict[str, Any]:
    return {"defaultingType": "List", "defaultConstraints": [CONSTRAINT | changes]}


@pytest.mark.parametrize(
    ("plugin", "args", "field", "value", "fix"),
    [
        (PREEMPTION, {"minCandidateNodesPercentage": -1}, "minCandidateNodesPercentage", "-1", "0 to 100"),
        (PREEMPTION, {"minCandidateNodesPercentage": 101}, "minCandidateNodesPercentage", "101", "0 to 100"),
        (PREEMPTION, {"minCandidateNodesAbsolute": -1}, "minCandidateNodesAbsolute", "-1", "0 or more"),
        (
            PREEMPTION,
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            "minCandidateNodesAbsolute",
            "0",
            "set one of the two above 0",
        ),
        (PREEMPTION, {"minCandidateNodesAbsolute": "ten"}, "minCandidateNodesAbsolute", "'ten'", "whole"),
        (PREEMPTION, {"minCandidates": 1}, "minCandidates", "unknown field", "minCandidateNodesAbsolute"),
        (AFFINITY, {"hardPodAffinityWeight": 101}, "hardPodAffinityWeight", "101", "0 to 100"),
        (AFFINITY, {"hardPodAffinityWeight": -1}, "hardPodAffinityWeight", "-1", "0 to 100"),
        (
            AFFINITY,
            {"ignorePreferredTermsOfExistingPods": "no"},
            "ignorePreferredTermsOfExistingPods",
            "'no'",
            "true or false",
        ),
        (SPREAD, listed(maxSkew=-3), "defaultConstraints[0].maxSkew", "-3", "1 or more"),
        (SPREAD, listed(topologyKey=""), "defaultConstraints[0].topologyKey", "required", "node label"),
        (
            SPREAD,
            listed(whenUnsatisfiable="Maybe"),
            "defaultConstraints[0].whenUnsatisfiable",
            "'Maybe'",
            "ScheduleAnyway",
        ),
        (
            SPREAD,
            listed(labelSelector={"matchLabels": {"a": "b"}}),
            "defaultConstraints[0].labelSelector",
            "forbidden",
            "remove it",
        ),
        (SPREAD, {"defaultingType": "Other"}, "defaultingType", "'Other'", '"System", "List"'),
    ],
)
def test_bad_arguments_are_refused_with_path_value_and_fix(
    plugin: str, args: dict[str, Any], field: str, value: str, fix: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(with_args(plugin, args))
    (line,) = [
        line
        for line in str(refused.value).splitlines()
        if f"profiles[0].pluginConfig[0].args.{field}: " in line
    ]
    assert value in line
    assert fix in line


def test_arguments_reach_the_evaluator() -> None:
    args = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 3}
    world = World(config=with_args(PREEMPTION, args))
    evaluator = world.plugin(PREEMPTION).evaluator
    assert (evaluator.percentage, evaluator.absolute) == (0, 3)


def test_the_preemptor_is_gated_until_its_last_victim_is_deleted() -> None:
    executor = ManualExecutor()
    world = World(executor=executor)
    world.create(make_node(cpu=2), make_pod("low", cpu=2, node_name="n"), make_pod(cpu=2, priority=10))
    world.cycle()
    plugin: DefaultPreemption = world.plugin(PREEMPTION)
    gate = plugin.pre_enqueue(world.pod())
    assert gate is not None
    assert gate.message == IN_PROGRESS
    assert plugin.pre_enqueue(world.pod("low")) is None
    executor.finish_all()
    world.sync()
    assert plugin.pre_enqueue(world.pod()) is None


def test_its_own_events_never_help() -> None:
    (registration,) = World().plugin(PREEMPTION).events_to_register()
    assert registration.hint(make_pod(), make_pod("gone"), None) is QueueingHint.SKIP


def test_messages_begin_with_preemption() -> None:
    found = evaluate([make_node(cpu=2)], make_pod(cpu=4))
    assert found.message is not None
    assert "preemption: 0/1 nodes are available: 1 Preemption is not helpful" in found.message


@pytest.mark.parametrize("priority", [-(2**31), 2**31 - 1])
def test_priorities_at_the_limits(priority: int) -> None:
    pods = [make_pod("low", cpu=2, node_name="n", priority=-(2**31), uid="low")]
    found = evaluate([make_node(cpu=2), *pods], make_pod(cpu=2, priority=priority, uid="p"))
    assert (found.preemption is not None) is (priority > 0)


def test_a_pod_nominated_to_a_deleted_node_can_preempt() -> None:
    low = make_pod("low", cpu=2, node_name="n", uid="low")
    found = evaluate([make_node(cpu=2), low], make_pod(cpu=2, priority=1, nominated="gone", uid="p"))
    assert found.preemption is not None
