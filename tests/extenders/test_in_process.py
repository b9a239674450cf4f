"""Extenders that are objects in this process: what each call does, with and without the equivalence cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from unittest.mock import patch

import pytest
from attrs import define, field

from schedframe import InMemoryCluster, Pod, Scheduler, Simulation, VirtualClock
from schedframe.cycle import Decision, Tuning, observing
from schedframe.cycle.equivalence.cache import EquivalenceCache
from schedframe.framework import (
    BaseExtender,
    Extender,
    ExtenderError,
    ExtenderFilterResult,
    ExtenderVerb,
    HostPriority,
    OfferedNodes,
    Victims,
    VictimUids,
)
from tests.cycle.build import make_node, make_pod


@define(eq=False)
class Recording(BaseExtender):
    """Notes its calls, and keeps all nodes."""

    verbs: frozenset[ExtenderVerb] = frozenset({ExtenderVerb.FILTER, ExtenderVerb.PRIORITIZE})
    calls: list[tuple[str, str, tuple[str, ...]]] = field(factory=list)
    interested_in: str = ""

    def is_interested(self, pod: Pod) -> bool:
        return pod.name.startswith(self.interested_in)

    def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
        self.calls.append(("filter", pod.name, tuple(nodes.names)))
        return ExtenderFilterResult()

    def prioritize(self, pod: Pod, nodes: OfferedNodes) -> Iterable[HostPriority]:
        self.calls.append(("prioritize", pod.name, tuple(nodes.names)))
        return [HostPriority(nodes.names[0], 10)]


@define(eq=False)
class Even(Recording):
    """Keeps nodes with an even number."""

    def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
        Recording.filter(self, pod, nodes)
        even = [name for name in nodes.names if int(name.rpartition("-")[2]) % 2 == 0]
        return ExtenderFilterResult(even, failed=dict.fromkeys(set(nodes.names) - set(even), "odd"))


def scheduler(*extenders: Extender, nodes: int = 4, **options: Any) -> Scheduler:
    cluster = InMemoryCluster()
    for i in range(nodes):
        cluster.apply(make_node(f"node-{i}", cpu=2, labels={"topology.kubernetes.io/zone": "ab"[i % 2]}))
    return Scheduler(cluster, extenders=extenders, seed=3, clock=VirtualClock(), **options)


def decide(made: Scheduler, pod: Pod) -> Decision:
    assert isinstance(made.core.cluster, InMemoryCluster)
    made.core.cluster.create(pod)
    decision = made.schedule_one()
    assert decision is not None
    return decision


def test_the_base_is_an_extender() -> None:
    extender: Extender = BaseExtender()
    made = scheduler(extender)
    assert decide(made, make_pod()).node_name is not None


def test_nodes_are_offered_in_search_order() -> None:
    extender = Recording()
    decide(scheduler(extender), make_pod())
    # the first of each zone, then the second of each
    order = ("node-0", "node-1", "node-2", "node-3")
    assert extender.calls == [("filter", "p", order), ("prioritize", "p", order)]


def test_scores_are_added() -> None:
    decision = decide(scheduler(Recording(weight=7)), make_pod())
    assert decision.node_name == "node-0"
    assert decision.scores is not None
    assert decision.scores.by_extender == {"extender": {"node-0": 700}}


def test_rejections_have_their_reasons() -> None:
    made = scheduler(Even(), nodes=2)
    for i in range(2):
        decide(made, make_pod(f"p{i}", cpu=1))
    decision = decide(made, make_pod("more", cpu=1))
    diagnosis = decision.diagnosis
    assert diagnosis is not None
    assert diagnosis.message().startswith("0/2 nodes are available: 1 Insufficient cpu, 1 odd.")
    assert diagnosis.unschedulable_plugins == {"NodeResourcesFit", "Extender"}


def test_any_event_brings_a_pod_back_that_extenders_rejected() -> None:
    extender = Even()
    made = scheduler(extender, nodes=1)
    cluster = made.core.cluster
    assert isinstance(cluster, InMemoryCluster)
    extender.interested_in = "nothing"
    decide(made, make_pod("full", cpu=2))
    cluster.apply(make_node("node-1", cpu=2))
    extender.interested_in = ""
    assert decide(made, make_pod("rejected", cpu=1)).diagnosis is not None
    cluster.apply(make_node("node-2", cpu=2))
    made.core.clock.advance(10)  # type: ignore[attr-defined]  # its backoff
    made.run_until_idle()
    pod = cluster.get("Pod", "default/rejected")
    assert pod is not None
    assert pod.spec.node_name == "node-2"


def test_pods_without_interest_are_not_offered() -> None:
    extender = Even(interested_in="mine")
    made = scheduler(extender)
    for i in range(8):
        decide(made, make_pod(f"p{i}", cpu=1))
    assert not extender.calls


@pytest.mark.parametrize("ignorable", [False, True])
def test_an_exception_is_an_error_of_the_extender(ignorable: bool) -> None:
    class Broken(Recording):
        def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
            raise ZeroDivisionError("oh")

    decision = decide(scheduler(Broken(is_ignorable=ignorable)), make_pod())
    if ignorable:
        assert decision.node_name is not None
    else:
        assert decision.error is not None
        assert decision.error.message == 'extender "extender" failed: oh'


SCORES = 'extender "extender" failed: a score is a HostPriority of the name of a node and a whole number'


@pytest.mark.parametrize(
    ("call", "answer", "message"),
    [
        ("filter", None, 'extender "extender" answered None; return an ExtenderFilterResult'),
        ("filter", ["node-1"], 'extender "extender" answered a list; return an ExtenderFilterResult'),
        ("prioritize", 5, "extender \"extender\" failed: 'int' object is not iterable"),
        ("prioritize", [("node-1", 1.5)], SCORES),
        ("prioritize", [(1, 2)], SCORES),
        ("prioritize", [(["node-1"], 2)], "extender \"extender\" failed: unhashable type: 'list'"),
    ],
)
def test_a_wrong_answer_is_an_error_of_the_extender(call: str, answer: Any, message: str) -> None:
    """It ended the scheduler."""
    faults: list[str] = []
    extender = type("Wrong", (Recording,), {call: lambda self, pod, nodes: answer})()
    cluster = InMemoryCluster([make_node(f"node-{i}") for i in range(4)])
    made = Scheduler(
        cluster,
        extenders=[extender],
        observers=[observing(faulted=lambda status, pod: faults.append(status.message))],
    )
    decision = decide(made, make_pod())
    assert (decision.node_name is None) == (call == "filter")
    assert message in faults


def test_an_extender_that_fails_at_is_interested_is_called() -> None:
    """Without a call, a node that it would reject could be chosen."""

    class Broken(Even):
        def is_interested(self, pod: Pod) -> bool:
            raise ZeroDivisionError("oh")

    decision = decide(scheduler(Broken()), make_pod())
    assert decision.node_name in ("node-0", "node-2")


@pytest.mark.parametrize("answer", [None, 5, {"node-1": ("uid",)}])
def test_wrong_victims_are_an_error_of_the_extender(answer: Any) -> None:
    extender = type("Wrong", (Sparing,), {"process_preemption": lambda self, pod, victims: answer})()
    made = scheduler(extender)
    for i in range(4):
        decide(made, make_pod(f"p{i}", cpu=2))
    decide(made, make_pod("urgent", cpu=2, priority=10))
    made.sync()
    pod = made.core.cluster.get("Pod", "default/urgent")
    assert pod is not None
    assert pod.status.nominated_node_name == ""


@define(eq=False)
class Binder(BaseExtender):
    """Binds, or fails."""

    verbs: frozenset[ExtenderVerb] = frozenset({ExtenderVerb.BIND})
    bound: list[tuple[str, str]] = field(factory=list)
    fails: bool = False

    def bind(self, pod: Pod, node_name: str) -> None:
        if self.fails:
            raise ExtenderError("not today")
        self.bound.append((pod.name, node_name))


def test_a_binder_replaces_the_bind_plugins() -> None:
    binder = Binder()
    made = scheduler(binder)
    node = decide(made, make_pod()).node_name
    assert binder.bound == [("p", node)]
    assert made.core.cluster.get("Pod", "default/p").spec.node_name == ""
    assert len(made.core.cache.states) == 1


def test_a_failed_bind_is_an_error() -> None:
    made = scheduler(Binder(fails=True))
    decide(made, make_pod())
    assert made.core.cluster.get("Pod", "default/p").status.conditions[0].message == "not today"
    assert not made.core.cache.states


@define(eq=False)
class Sparing(BaseExtender):
    """Allows preemption on the last node only, of the pods in reverse."""

    verbs: frozenset[ExtenderVerb] = frozenset({ExtenderVerb.PREEMPT})

    def process_preemption(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, VictimUids]:
        name = max(victims)
        return {name: VictimUids(tuple(each.uid for each in reversed(victims[name].pods)))}


def test_preemption_takes_the_nodes_that_are_left() -> None:
    made = scheduler(Sparing())
    for i in range(4):
        decide(made, make_pod(f"p{i}", cpu=2))
    assert decide(made, make_pod("urgent", cpu=2, priority=10)).diagnosis is not None
    made.sync()
    pod = made.core.cluster.get("Pod", "default/urgent")
    assert pod is not None
    assert pod.status.nominated_node_name == "node-3"


@pytest.mark.parametrize("remembered", [None, 0])
def test_the_cache_changes_no_decision(remembered: int | None) -> None:
    placed = []
    for remember in (remembered, 0):
        extender = Even(interested_in="p")
        made = scheduler(extender, nodes=40, tuning=Tuning(remember=remember))
        decisions = [decide(made, make_pod(f"{'pq'[i % 3 == 0]}{i}", cpu=1)) for i in range(70)]
        placed.append([(d.node_name, d.diagnosis and d.diagnosis.message(), d.evaluated) for d in decisions])
        placed[-1].append((str(extender.calls), None, 0))
    assert placed[0] == placed[1]


def test_an_evaluation_shows_extenders_like_plugins() -> None:
    nodes = [make_node(f"node-{i}") for i in range(4)]
    with Simulation(nodes, extenders=[Even(weight=2)]) as simulation:
        evaluation = simulation.evaluate(make_pod())
    assert evaluation.scores["extender"] == {"node-0": 200}
    assert evaluation.best == ["node-0"]
    assert {n for n, s in evaluation.statuses.items() if s is not None} == {"node-1", "node-3"}
    assert "odd: reported by extender" in str(evaluation)
    assert "extender 200" in str(evaluation)


def test_an_evaluation_shows_nodes_that_an_extender_leaves_out() -> None:
    class Silent(Recording):
        def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
            return ExtenderFilterResult(())

    with Simulation([make_node("n")], extenders=[Silent()]) as simulation:
        evaluation = simulation.evaluate(make_pod())
    assert evaluation.feasible == []
    assert "an extender left the node out" in str(evaluation)


def test_an_extender_that_was_passed_outlives_a_reload() -> None:
    class Closing(Recording):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    extender = Closing()
    made = scheduler(extender)
    made.reload(None)
    assert decide(made, make_pod()).node_name is not None
    assert [call for call, _, _ in extender.calls] == ["filter", "prioritize"]
    assert extender.closed == 0
    made.close()
    assert extender.closed == 1


def test_a_fault_of_the_cache_is_reported() -> None:
    faults: list[str] = []
    made = scheduler(
        Recording(), observers=[observing(faulted=lambda status, pod: faults.append(status.message))]
    )
    with patch.object(EquivalenceCache, "lookup", side_effect=ZeroDivisionError):
        assert decide(made, make_pod()).node_name is not None
    assert len(faults) == 1
    assert "the equivalence class was dropped" in faults[0]
