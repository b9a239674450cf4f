"""One node: who has to go, and who is taken back."""

from __future__ import annotations

from typing import Any

from schedframe import CycleState, NodeInfo, Pod, Status, hookimpl
from schedframe.framework.preemption import Candidate, read_budgets, select_victims
from schedframe.framework.preemption.dry_run import NO_VICTIMS

from ...cycle.build import World, config_with
from .support import Arena, budget, running, waiting

WEB = {"app": "web"}


def test_as_few_go_as_will_do_and_the_least_important_ones() -> None:
    arena = Arena()
    arena.create(*(running(f"p{i}", priority=i, start=i) for i in range(4)))
    assert arena.victims(waiting(cpu=1)) == {"n": ["p0"]}
    assert arena.victims(waiting(cpu=2)) == {"n": ["p1", "p0"]}
    assert arena.victims(waiting(cpu=4)) == {"n": ["p3", "p2", "p1", "p0"]}


def test_pods_of_the_same_or_a_higher_priority_stay() -> None:
    arena = Arena()
    arena.create(running("low", cpu=1, priority=9), running("same", cpu=3, priority=10))
    assert arena.victims(waiting(cpu=1)) == {"n": ["low"]}
    found, tally = arena.find(waiting(cpu=2))
    assert not found
    assert tally.reasons == {"Insufficient cpu": 1}


def test_a_large_pod_is_taken_back_before_small_ones_that_are_less_important() -> None:
    arena = Arena()
    arena.create(running("large", cpu=2, priority=5), running("a", priority=1), running("b", priority=0))
    # large fits back in, and then neither of the others does.
    assert arena.victims(waiting(cpu=2)) == {"n": ["a", "b"]}


def test_of_equal_priority_the_youngest_goes() -> None:
    arena = Arena()
    arena.create(running("old", cpu=2, start=1), running("new", cpu=2, start=2))
    assert arena.victims(waiting(cpu=2)) == {"n": ["new"]}
    arena.create(running("not-started", cpu=0))
    arena.world.change_pod("new", status={"start_time": None})
    assert arena.victims(waiting(cpu=2)) == {"n": ["new"]}


def test_pods_whose_budget_would_be_violated_are_taken_back_first() -> None:
    arena = Arena()
    arena.create(running("web", cpu=2, priority=0, labels=WEB), running("other", cpu=2, priority=5))
    arena.create(budget(labels=WEB))
    (found,) = arena.find(waiting(cpu=2))[0].values()
    assert ([pod.name for pod in found.victims], found.pdb_violations) == (["other"], 0)


def test_violations_are_counted_of_those_that_go() -> None:
    arena = Arena()
    arena.create(
        *(running(f"web{i}", priority=i, labels=WEB) for i in range(4)), budget(allowed=1, labels=WEB)
    )
    # The most important one uses up the budget: the other three violate it, and are taken back first.
    found, _ = arena.find(waiting(cpu=1))
    assert [pod.name for pod in found["n"].victims] == ["web3"]
    assert found["n"].pdb_violations == 0
    found, _ = arena.find(waiting(cpu=3))
    assert [pod.name for pod in found["n"].victims] == ["web3", "web1", "web0"]
    assert found["n"].pdb_violations == 2


def test_victims_come_most_important_first_however_they_were_found() -> None:
    arena = Arena()
    arena.create(running("web", cpu=2, priority=0, labels=WEB), running("other", cpu=2, priority=5))
    arena.create(budget(labels=WEB))
    found, _ = arena.find(waiting(cpu=4))
    assert [pod.name for pod in found["n"].victims] == ["other", "web"]
    assert found["n"].pdb_violations == 1


def test_a_pod_that_is_being_deleted_may_be_a_victim() -> None:
    arena = Arena()
    arena.create(running("going", cpu=4, finalizers=("test/held",)))
    arena.world.delete("going")
    assert arena.world.pod("going").is_terminating
    assert arena.victims(waiting(cpu=2)) == {"n": ["going"]}


def test_pods_nominated_to_the_node_keep_their_room() -> None:
    arena = Arena()
    arena.create(running("low", cpu=4, priority=0), waiting("expected", cpu=3, priority=10))
    arena.world.change_pod("expected", status={"nominated_node_name": "n"})
    assert arena.victims(waiting(cpu=1, priority=10)) == {"n": ["low"]}
    found, tally = arena.find(waiting(cpu=2, priority=10))
    assert not found
    assert tally.reasons == {"Insufficient cpu": 1}
    # To one of higher priority they do not matter.
    assert arena.victims(waiting(cpu=2, priority=11)) == {"n": ["low"]}


class Broken:
    """Loses count of pods that come back, or leave."""

    hook = ""

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> None:
        """Only for the others."""

    @hookimpl
    def add_pod(self, pod_to_add: Pod) -> Status | None:
        return Status.from_error("cannot add") if self.hook == "add_pod" else None

    @hookimpl
    def remove_pod(self, pod_to_remove: Pod) -> Status | None:
        return Status.from_error(f"cannot remove {pod_to_remove.name}") if self.hook == "remove_pod" else None


def test_a_plugin_that_fails_meanwhile_makes_no_candidate() -> None:
    world = World({"Broken": Broken}, config=config_with("Broken"))
    arena = Arena(world=world)
    arena.create(running("low", cpu=4))
    assert arena.victims(waiting()) == {"n": ["low"]}
    for hook in ("add_pod", "remove_pod"):
        world.plugin("Broken").hook = hook
        # As if the node had changed: what a dry run found there is not asked for again.
        arena.world.change_pod("low", labels={"touched": hook})
        found, tally = arena.find(waiting())
        assert not found
        assert len(tally.errors) == 1
        result, status = arena.preempt(waiting())
        assert result is None
        assert status.code.label == "Error"


def test_no_pod_to_remove() -> None:
    arena = Arena()
    info = arena.handle.table.info(0).clone() if arena.handle.table.size else NodeInfo("n")
    assert select_victims(arena.handle.runner, CycleState(), waiting(), info, [], []) is NO_VICTIMS


def test_the_node_and_the_state_of_the_cycle_stay_as_they_are() -> None:
    arena = Arena()
    arena.create(running("a"), running("b", cpu=3, labels=WEB), budget(labels=WEB))
    decision, diagnosis = arena.diagnosis(waiting())
    info = arena.handle.table.info(0)
    before = list(info.pods), dict(info.requested), arena.handle.table.row_log.version
    arena.evaluator.find_candidates(decision.state, waiting(), diagnosis)
    assert (list(info.pods), dict(info.requested), arena.handle.table.row_log.version) == before


def test_a_chosen_part_of_the_pods_may_go() -> None:
    # For plugins that drive the dry run themselves.
    arena = Arena()
    arena.create(running("a", cpu=2, priority=0), running("b", cpu=2, priority=3))
    decision, _ = arena.diagnosis(waiting())
    info = arena.handle.table.info(0).clone()
    potential: list[Any] = [pod for pod in info.pods.values() if pod.name == "b"]
    budgets = read_budgets([])
    state = decision.state.clone()
    found = select_victims(arena.handle.runner, state, waiting(), info, budgets, potential)
    assert isinstance(found, Candidate)
    assert [pod.name for pod in found.victims] == ["b"]
