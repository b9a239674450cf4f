"""Which nodes are tried, how many candidates are enough, and what is reported about the others."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import define

from schedframe import NodeInfo, Pod, Status, Taint
from schedframe.framework import PreemptionEvaluator
from schedframe.framework.preemption import Candidate

from ...cycle.build import make_node
from .support import Arena, budget, running, waiting


def full(nodes: int = 20, **options: Any) -> Arena:
    """Each node n00, n01, … has one pod of priority 0 that leaves no room."""
    arena = Arena(nodes, **options)
    arena.create(*(running(f"on{i:02d}", f"n{i:02d}", cpu=4) for i in range(nodes)))
    return arena


@pytest.mark.parametrize(
    ("nodes", "percentage", "absolute", "wanted"),
    [(20, 10, 100, 20), (20, 10, 5, 5), (20, 50, 5, 10), (20, 10, 0, 2), (20, 100, 0, 20), (3, 10, 1, 1)],
)
def test_how_many_candidates_are_enough(nodes: int, percentage: int, absolute: int, wanted: int) -> None:
    arena = full(nodes, percentage=percentage, absolute=absolute)
    assert arena.evaluator.wanted(nodes) == wanted
    assert len(arena.find(waiting())[0]) == wanted


def test_the_percentage_is_of_nodes_where_preemption_may_help() -> None:
    arena = full(20, percentage=50, absolute=1)
    for i in range(10):
        closed = (Taint("closed", "", "NoSchedule"),)
        arena.world.cluster.update(make_node(f"n{i:02d}", taints=closed))
    found, _ = arena.find(waiting())
    assert len(found) == 5
    assert all(name >= "n10" for name in found)


def test_nodes_without_victims_count_as_tried() -> None:
    # They are ruled out by a column, and yet take part in how many candidates are wanted.
    arena = full(20, percentage=50, absolute=1)
    for i in range(10):
        arena.world.cluster.delete(arena.world.pod(f"on{i:02d}"))
        arena.create(running(f"high{i}", f"n{i:02d}", cpu=4, priority=10))
    found, tally = arena.find(waiting())
    assert len(found) == 10
    assert tally.reasons == {"No preemption victims found for incoming pod": 10}


def test_the_search_starts_anywhere_and_goes_round() -> None:
    arena = full(10, absolute=3, percentage=0)
    seen = set()
    for _ in range(60):
        rows = [int(name[1:]) for name in arena.find(waiting())[0]]
        assert rows == [(rows[0] + i) % 10 for i in range(3)]
        seen.add(rows[0])
    assert seen == set(range(10))


def test_the_same_seed_starts_at_the_same_nodes() -> None:
    def run() -> list[list[str]]:
        arena = full(10, absolute=2, percentage=0)
        return [list(arena.find(waiting())[0]) for _ in range(5)]

    assert run() == run()


def test_no_end_before_one_without_violation_is_found() -> None:
    arena = full(10, absolute=1, percentage=0)
    arena.create(budget(labels={"app": "web"}))
    for i in range(9):
        arena.world.change_pod(f"on{i:02d}", labels={"app": "web"})
    for _ in range(5):
        found, _ = arena.find(waiting())
        assert "n09" in found
        assert [one.pdb_violations for one in found.values()] == [0] + [1] * (len(found) - 1)
        assert arena.evaluator.handle is arena.handle


def test_if_all_violate_all_are_candidates() -> None:
    arena = full(5, absolute=1, percentage=0)
    arena.create(budget(labels={"app": "web"}))
    for i in range(5):
        arena.world.change_pod(f"on{i:02d}", labels={"app": "web"})
    assert len(arena.find(waiting())[0]) == 5


def test_what_is_said_where_preemption_does_not_work() -> None:
    arena = Arena({"big": 4, "high": 4, "tainted": 4, "small": 1})
    arena.world.cluster.update(make_node("tainted", taints=(Taint("closed", "", "NoSchedule"),)))
    arena.create(
        running("low", "big", cpu=1, priority=0),
        running("same", "big", cpu=3, priority=10),
        running("alone", "high", cpu=4, priority=10),
    )
    result, status = arena.preempt(waiting(cpu=2))
    assert status == Status.unschedulable(
        "0/4 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert result is not None
    # A nomination that the pod may have is cleared.
    assert result.nominating_info is not None
    assert result.nominating_info.node_name == ""


def test_only_rejections_that_removing_pods_may_mend_are_tried() -> None:
    arena = Arena({"n": 4, "small": 1})
    arena.create(running("low", "n", cpu=4), running("tiny", "small", cpu=1))
    # More than the small node has at all.
    assert arena.victims(waiting(cpu=2)) == {"n": ["low"]}


def test_statuses_by_name_will_do() -> None:
    # For plugins that have their own idea of which nodes to try.
    arena = full(4)
    decision, _ = arena.diagnosis(waiting())
    statuses = {
        "n01": Status.unschedulable("no"),
        "n02": Status.unresolvable("never"),
        "gone": Status.unschedulable("no"),
    }
    found, tally = arena.evaluator.find_candidates(decision.state, waiting(), statuses)
    assert [one.node_name for one in found] == ["n01"]
    assert tally.nodes == 0


@define(eq=False)
class Sparing(PreemptionEvaluator):
    """Never evict pods with the label ``spare``."""

    by_priority = False

    def may_preempt(self, info: NodeInfo, victim: Pod, preemptor: Pod) -> bool:
        """Every pod that is not spared may be removed, at any priority."""
        return "spare" not in victim.labels


def test_another_policy_on_who_may_go() -> None:
    arena = Arena({"n": 4, "m": 4}, kind=Sparing)
    arena.create(
        running("spared", "n", cpu=3, labels={"spare": "me"}),
        running("high", "n", cpu=1, priority=99),
        running("also-spared", "m", cpu=4, labels={"spare": "me"}),
    )
    assert arena.victims(waiting(cpu=1)) == {"n": ["high"]}
    arena.world.change_pod("also-spared", labels={})
    assert set(arena.victims(waiting(cpu=1))) == {"n", "m"}


def test_no_victims_is_an_error() -> None:
    # The filters changed their mind: nothing that eviction could mend.
    arena = Arena()
    arena.create(running("low", cpu=1))
    decision = arena.decide(waiting(cpu=1))
    statuses = {"n": Status.unschedulable("no")}
    found, tally = arena.evaluator.find_candidates(decision.state, waiting(cpu=1), statuses)
    assert not found
    assert tally.errors == ['expected at least one victim pod on node "n"']
    assert all(isinstance(one, Candidate) for one in found)
