"""Who may preempt at all."""

from __future__ import annotations

import pytest
from attrs import define

from schedframe import NodeInfo, Pod, Status
from schedframe.framework import PreemptionEvaluator
from schedframe.framework.preemption.evaluator import NEVER, TERMINATING

from .support import Arena, running, waiting

NO = Status.unschedulable("no")
NEVER_THERE = Status.unresolvable("never")


def test_preemption_policy_never() -> None:
    arena = Arena()
    arena.create(running("low", cpu=4))
    result, status = arena.preempt(waiting(preemption_policy="Never"))
    assert (result, status) == (None, Status.unschedulable(NEVER))
    assert arena.victims(waiting(preemption_policy="PreemptLowerPriority")) == {"n": ["low"]}
    assert arena.names() == {"low"}


def nominated(arena: Arena, *, status: Status | None = NO, node: str = "n") -> str | None:
    """Why a pod nominated to *node* may not preempt."""
    arena.world.scheduler.sync()
    return arena.evaluator.is_eligible(waiting(nominated=node), status)


def with_victim(**details: object) -> Arena:
    arena = Arena()
    options = {"priority": 0, "preempted": True, "finalizers": ("test/held",)} | details
    arena.create(running("victim", cpu=4, **options))  # type: ignore[arg-type]  # of many types
    arena.world.delete("victim")
    return arena


def test_a_victim_on_the_nominated_node_that_is_still_going_is_waited_for() -> None:
    arena = with_victim()
    assert nominated(arena) == TERMINATING
    # Also where nothing is known of that node's verdict.
    assert nominated(arena, status=None) == TERMINATING


def test_the_result_leaves_the_nomination_alone() -> None:
    arena = with_victim()
    assert arena.preempt(waiting(nominated="n")) == (None, Status.unschedulable(TERMINATING))


def test_a_nominated_node_that_can_never_be_is_given_up() -> None:
    assert nominated(with_victim(), status=NEVER_THERE) is None


@pytest.mark.parametrize(
    "details",
    [{"priority": 10}, {"priority": 11}, {"preempted": False}],
    ids=["same priority", "higher priority", "deleted by another client"],
)
def test_others_that_are_going_are_not_waited_for(details: dict[str, object]) -> None:
    assert nominated(with_victim(**details)) is None


def test_a_victim_that_is_not_going_yet_is_not_waited_for() -> None:
    arena = Arena()
    arena.create(running("victim", cpu=4, preempted=True))
    assert nominated(arena) is None


def test_a_nominated_node_that_is_gone() -> None:
    arena = with_victim()
    assert nominated(arena, node="elsewhere") is None
    arena.world.cluster.delete("Node", "n")
    assert nominated(arena) is None


def test_a_pod_that_is_nominated_nowhere() -> None:
    assert with_victim().evaluator.is_eligible(waiting(), None) is None


@define(eq=False)
class AnyVictim(PreemptionEvaluator):
    """Priorities play no role."""

    by_priority = False

    def may_preempt(self, info: NodeInfo, victim: Pod, preemptor: Pod) -> bool:
        """Any pod may go."""
        return True


def test_the_policy_on_who_may_go_says_who_is_waited_for() -> None:
    arena = with_victim(priority=11)
    arena.evaluator = AnyVictim(arena.handle, "Test")
    assert nominated(arena) == TERMINATING
