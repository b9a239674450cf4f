"""The cache of dry runs: what is reused, and each change that invalidates it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import define, field

from schedframe import CycleState, Pod, Status
from schedframe.api import LabelSelector, TopologySpreadConstraint
from schedframe.framework import PreemptionEvaluator
from schedframe.framework.preemption import Budget, Candidate
from schedframe.framework.preemption.dry_run_cache import MAX_KINDS

from ...cycle.build import make_node
from .support import Arena, budget, running, waiting


@define(eq=False)
class Watched(PreemptionEvaluator):
    """Keeps a list of the nodes on which it tried."""

    tried: list[str] = field(factory=list)

    def _try(self, state: CycleState, pod: Pod, row: int, budgets: list[Budget]) -> Candidate | Status:
        self.tried.append(self.handle.table.name_of(row))
        return super()._try(state, pod, row, budgets)


@pytest.fixture
def arena() -> Arena:
    arena = Arena(4, kind=Watched)
    arena.create(*(running(f"on{i:02d}", f"n{i:02d}", cpu=4) for i in range(4)))
    return arena


def tried(arena: Arena, pod: Pod) -> list[str]:
    """Nodes on which a dry run is done for *pod*; the answer is that of an evaluator without memory."""
    evaluator = arena.evaluator
    assert isinstance(evaluator, Watched)
    evaluator.tried.clear()
    found = arena.victims(pod)
    arena.evaluator = PreemptionEvaluator(arena.handle, "Fresh")
    assert arena.victims(pod) == {name: found[name] for name in arena.victims(pod)}
    arena.evaluator = evaluator
    return sorted(evaluator.tried)


ALL = ["n00", "n01", "n02", "n03"]


def test_pods_alike_are_tried_once(arena: Arena) -> None:
    assert tried(arena, waiting("p")) == ALL
    assert tried(arena, waiting("q")) == []
    assert tried(arena, waiting("other-size", cpu=3)) == ALL
    assert tried(arena, waiting("other-priority", priority=11)) == ALL


def expect(arena: Arena, node: str) -> None:
    """A pod of higher priority is nominated to *node*."""
    if arena.world.find("Pod", "default/expected") is None:
        arena.create(waiting("expected", cpu=1))
    arena.world.change_pod("expected", status={"nominated_node_name": node})


CHANGES: dict[str, tuple[Callable[[Arena], object], list[str]]] = {
    "a pod comes": (lambda a: a.create(running("new", "n01", cpu=0)), ["n01"]),
    "a pod goes": (lambda a: a.world.delete("on01"), []),
    "labels of a pod": (lambda a: a.world.change_pod("on01", labels={"a": "b"}), ["n01"]),
    "a node changes": (lambda a: a.world.cluster.update(make_node("n01", labels={"a": "b"})), ["n01"]),
    "a budget comes": (lambda a: a.create(budget(labels={"a": "b"})), ALL),
    "a pod is nominated": (lambda a: expect(a, "n01"), ["n01"]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_is_tried_again(arena: Arena, what: str) -> None:
    change, expected = CHANGES[what]
    assert tried(arena, waiting()) == ALL
    change(arena)
    if what == "a pod goes":
        arena.create(running("instead", "n01", cpu=4))
        expected = ["n01"]
    assert tried(arena, waiting()) == expected
    assert tried(arena, waiting()) == []


def test_an_expectation_that_ends_is_noticed(arena: Arena) -> None:
    expect(arena, "n01")
    tried(arena, waiting())
    expect(arena, "n02")
    assert tried(arena, waiting()) == ["n01", "n02"]
    arena.world.delete("expected")
    assert tried(arena, waiting()) == ["n02"]


def test_pods_that_look_at_other_nodes_are_tried_every_time(arena: Arena) -> None:
    constraint = TopologySpreadConstraint(
        max_skew=1,
        topology_key="kubernetes.io/hostname",
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels={"app": "web"}),
    )
    for name in "pq":
        spread = waiting(name, labels={"app": "web"}, topology_spread_constraints=(constraint,))
        assert tried(arena, spread) == ALL


def test_a_nominated_pod_is_tried_every_time(arena: Arena) -> None:
    arena.create(waiting())
    arena.world.change_pod("p", status={"nominated_node_name": "n01"})
    pod = arena.world.pod("p")
    assert tried(arena, pod) == ALL
    assert tried(arena, pod) == ALL


class AnotherPolicy(Watched):
    """Says nothing of priorities."""

    by_priority = False


def test_another_policy_is_asked_every_time(arena: Arena) -> None:
    arena.evaluator = AnotherPolicy(arena.handle, "Test")
    assert tried(arena, waiting("p")) == ALL
    assert tried(arena, waiting("q")) == ALL


def test_only_so_many_kinds_are_kept(arena: Arena) -> None:
    for priority in range(1, MAX_KINDS + 3):
        tried(arena, waiting(priority=priority))
    assert tried(arena, waiting(priority=MAX_KINDS)) == []
    assert tried(arena, waiting(priority=1)) == ALL
