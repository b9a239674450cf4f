"""The ways in which preemption and nominations are known to have gone wrong, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import ClusterError, Pod, PostFilterResult, Status, evaluate
from schedframe.api import (
    LabelSelector,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from schedframe.framework import NominatingInfo
from schedframe.framework.preemption.eviction import PREEMPTIONS_AT_A_TIME

from .build import World, make_node, make_pod, plugin_class
from .executors import ManualExecutor
from .flaky import flaky_world

# ---- nominations -----------------------------------------------------------------------------------------


class Preemptor:
    """A post_filter that nominates to a node, as a preemption would that has just evicted a pod."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.calls: list[tuple[str, dict[str, str]]] = []

    def plugin(self) -> type[Any]:
        def post_filter(plugin: Any, pod: Pod, statuses: Any) -> PostFilterResult | Status:
            self.calls.append((pod.name, {name: status.code.label for name, status in statuses.items()}))
            if pod.name != "preemptor":
                return Status.unschedulable("nothing to preempt")
            return PostFilterResult(NominatingInfo(self.node))

        return plugin_class("Preemptor", post_filter=post_filter)

    def world(self, **options: Any) -> World:
        return World({"Preemptor": self.plugin()}, only={"postFilter": ["Preemptor"]}, **options)


def test_nominated_node_never_cleared() -> None:
    preemptor = Preemptor("n")
    world = preemptor.world()
    world.create(make_node(cpu=1), make_pod("preemptor", cpu=2, priority=10))
    world.settle()
    assert world.pod("preemptor").status.nominated_node_name == "n"
    preemptor.node = ""
    world.scheduler.core.queue.activate([world.pod("preemptor")])
    world.settle()
    assert world.pod("preemptor").status.nominated_node_name == ""
    assert not world.scheduler.core.queue.nominator


def test_nomination_that_fails_on_its_node_is_never_cleared() -> None:
    world = World({"X": plugin_class(reserve=lambda self: Status.unschedulable("no"))})
    world.create(make_node(), make_pod(nominated="n"))
    world.settle()
    assert world.pod().status.nominated_node_name == ""
    assert not world.scheduler.core.queue.nominator


def test_nomination_not_yet_seen_while_another_pod_takes_the_room() -> None:
    # The victim goes, and before the nomination is written and seen another pod asks for the room.
    world, watch = flaky_world(
        plugins={"Preemptor": Preemptor("n").plugin()}, only={"postFilter": ["Preemptor"]}
    )
    world.create(make_node(cpu=2), make_pod("victim", cpu=2, node_name="n"))
    world.create(make_pod("preemptor", cpu=2, priority=10))
    watch.deliver()
    world.settle()
    world.delete("victim")
    world.create(make_pod("thief", cpu=2))
    watch.drop(0)
    assert world.scheduler.core.pending["default/preemptor"].status.nominated_node_name == ""
    # The thief is tried first: the preemptor is still backing off.
    watch.deliver()
    decision = world.scheduler.schedule_one()
    while decision is not None and decision.pod.name != "thief":
        decision = world.scheduler.schedule_one()
    watch.deliver()
    world.pass_time(20)
    watch.deliver()
    world.settle()
    assert world.node_of("thief") == ""
    assert world.node_of("preemptor") == "n"


def test_nominated_node_unresolvable_so_that_preemption_elsewhere_is_never_tried() -> None:
    preemptor = Preemptor("n")
    world = preemptor.world()
    world.create(make_node(cpu=1), make_node("other", cpu=1), make_pod("preemptor", cpu=2))
    world.settle()
    assert world.pod("preemptor").status.nominated_node_name == "n"
    # The node is closed for good. The pod is asked about again, and told of both nodes.
    world.cluster.update(make_node(cpu=1, unschedulable=True))
    preemptor.node = "other"
    world.scheduler.core.queue.activate([world.pod("preemptor")])
    world.settle()
    name, statuses = preemptor.calls[-1]
    assert name == "preemptor"
    assert statuses == {"n": "UnschedulableAndUnresolvable", "other": "UnschedulableAndUnresolvable"}
    assert world.pod("preemptor").status.nominated_node_name == "other"
    nominator = world.scheduler.core.queue.nominator
    assert [pod.name for pod in nominator.nominated_pods_for_node("other")] == ["preemptor"]
    assert not nominator.nominated_pods_for_node("n")


def test_room_of_a_new_nomination_taken_by_a_pod_of_a_cached_class() -> None:
    # Nothing but the nomination changed on that node since pods like this one were placed last.
    world = World()
    world.create(*(make_node(name, cpu=1) for name in "abc"))
    world.create(make_pod("expected", cpu=1, priority=10, gates=("held",)))
    world.sync()
    world.change_pod("expected", status={"nominated_node_name": "nowhere"})
    world.create(make_pod("p", cpu=1), make_pod("q", cpu=1))
    world.settle()
    (free,) = {"a", "b", "c"} - {world.node_of("p"), world.node_of("q")}
    world.change_pod("expected", status={"nominated_node_name": free})
    world.create(make_pod("r", cpu=1))
    world.settle()
    assert world.where("r") == "unschedulable"


@pytest.mark.parametrize("how", ["deleted", "placed", "ended"])
def test_deleted_pod_left_in_the_nominator(how: str) -> None:
    world = Preemptor("n").world()
    world.create(make_node(cpu=1), make_pod("preemptor", cpu=2, priority=10))
    world.settle()
    world.create(make_pod("other", cpu=1))
    world.settle()
    assert world.where("other") == "unschedulable"
    if how == "deleted":
        world.delete("preemptor")
    elif how == "placed":
        world.cluster.update(world.pod("preemptor").with_node_name("elsewhere"))
    else:
        world.change_pod("preemptor", status={"phase": "Failed"})
    world.settle()
    assert not world.scheduler.core.queue.nominator
    # The room that was kept is free: the pod that waited for it is queued.
    world.pass_time(2)
    assert world.node_of("other") == "n"


# ---- waiting pods ----------------------------------------------------------------------------------------


def test_a_preempted_waiting_pod_is_stuck() -> None:
    # The plugin that preempts it did not reject it in permit: none of its events brings the pod back.
    answers = iter([Status.wait(600)])
    world = World(
        {
            "X": plugin_class(permit=lambda self: next(answers, None)),
            "Silent": plugin_class(pre_filter=lambda self: None, events_to_register=lambda self: ()),
        }
    )
    world.create(make_node(), make_pod())
    world.settle()
    (waiting,) = world.scheduler.core.waiting
    waiting.reject("Silent", "preempted")
    world.settle()
    assert world.where() == "error_backoff"
    assert world.condition() == ("Unschedulable", "preempted")
    world.pass_time(2)
    assert world.node_of() == "n"


# ---- preemption ------------------------------------------------------------------------------------------


def low(name: str = "low", cpu: int = 2, node: str = "n", **details: Any) -> Pod:
    """A pod that runs, of priority 0."""
    return make_pod(name, cpu=cpu, priority=0, node_name=node, **details)


def manual_world(*victims: Pod, cpu: int = 2) -> tuple[World, ManualExecutor]:
    """A node full of victims, and a preemptor that has had its first cycle; nothing has left the core."""
    executor = ManualExecutor()
    world = World(executor=executor)
    world.create(make_node(cpu=2), *victims, make_pod(cpu=cpu, priority=10))
    world.cycle()
    assert world.scheduler.core.queue.nominator.node_of(world.pod()) == "n"
    return world, executor


def come_to_rest(world: World, executor: ManualExecutor) -> None:
    """Everything that is under way happens, and what follows from it; no time passes."""
    world.scheduler.sync()
    while len(executor) or world.cycle() is not None:
        executor.finish_all()
        world.sync()


@pytest.mark.parametrize("event_first", [True, False])
@pytest.mark.parametrize("victims", [1, 2])
def test_victim_already_gone_so_that_no_event_comes(victims: int, event_first: bool) -> None:
    # Another client deleted it: its event came while the preemptor was still kept out, and no other will.
    world, executor = manual_world(*(low(f"low{i}", 2 // victims) for i in range(victims)))
    for i in range(victims):
        world.delete(f"low{i}")
    if event_first:
        world.sync()
    come_to_rest(world, executor)
    assert world.where() in ("backoff", "active", "assumed", "placed")
    world.clock.advance(2)
    come_to_rest(world, executor)
    assert world.node_of() == "n"


def test_the_last_victim_is_asked_for_though_others_are_gone() -> None:
    world, executor = manual_world(low("low0", 1), low("low1", 1))
    world.delete("low0")
    come_to_rest(world, executor)
    assert world.find("Pod", "default/low1") is None
    world.clock.advance(2)
    come_to_rest(world, executor)
    assert world.node_of() == "n"


def test_nomination_cleared_too_early() -> None:
    # Tried again while its victim takes its time: preemption is no help then, and yet the room is its own.
    world, executor = manual_world(low(finalizers=("test/held",)))
    come_to_rest(world, executor)
    assert world.pod("low").is_terminating
    for i in range(3):
        world.create(make_node(f"small{i}", cpu=1))
        world.clock.advance(30)
        come_to_rest(world, executor)
        assert world.condition() is not None
        assert world.pod().status.nominated_node_name == "n"
        assert world.scheduler.core.queue.nominator.node_of(world.pod()) == "n"
    world.create(make_pod("thief", cpu=2))
    come_to_rest(world, executor)
    world.change_pod("low", finalizers=())
    world.clock.advance(30)
    come_to_rest(world, executor)
    assert (world.node_of(), world.node_of("thief")) == ("n", "")


def test_an_error_does_not_give_the_nominated_room_to_others() -> None:
    # The victims are on their way and something fails: the next pod must not find the room free.
    world, executor = manual_world(low(finalizers=("test/held",)))
    world.cluster.fail_next("patch_pod_status", ClusterError("down"), times=3)
    come_to_rest(world, executor)
    assert world.pod().status.nominated_node_name == ""
    world.create(make_pod("thief", cpu=2))
    world.change_pod("low", finalizers=())
    come_to_rest(world, executor)
    world.clock.advance(30)
    come_to_rest(world, executor)
    assert (world.node_of(), world.node_of("thief")) == ("n", "")


@pytest.mark.parametrize("what", ["node gone", "node shrinks", "victim spared", "preempted itself"])
def test_nomination_never_cleared(what: str) -> None:
    world, executor = manual_world(low(finalizers=("test/held",)))
    if what == "preempted itself":
        # Its nomination is not even written when a pod of higher priority takes the room.
        world.create(make_pod("higher", cpu=2, priority=20))
        world.cycle()
    come_to_rest(world, executor)
    if what == "node gone":
        world.cluster.delete("Node", "n")
    elif what == "node shrinks":
        world.cluster.update(make_node(cpu=1))
    elif what == "victim spared":
        # As if it had been replaced by one that may not be removed.
        world.change_pod("low", finalizers=())
        world.create(make_pod("high", cpu=2, priority=99, node_name="n"))
    # It is tried again because of a node that is no help either.
    world.create(make_pod("high-too", cpu=1, priority=99, node_name="taken"), make_node("taken", cpu=2))
    for _ in range(3):
        world.clock.advance(30)
        come_to_rest(world, executor)
    nominator = world.scheduler.core.queue.nominator
    assert world.pod().status.nominated_node_name == ""
    assert nominator.node_of(world.pod()) is None
    if what == "preempted itself":
        assert [pod.name for pod in nominator.nominated_pods_for_node("n")] == ["higher"]


def test_budget_violations_counted_wrongly() -> None:
    def budget(name: str, allowed: int, *disrupted: str, **labels: str) -> PodDisruptionBudget:
        spec = PodDisruptionBudgetSpec(selector=LabelSelector(match_labels=labels))
        gone = dict.fromkeys(disrupted, 0.0)
        status = PodDisruptionBudgetStatus(disruptions_allowed=allowed, disrupted_pods=gone)
        return PodDisruptionBudget(make_pod(name).metadata, spec, status)

    def violations(*budgets: PodDisruptionBudget) -> dict[str, int]:
        nodes = [make_node(name, cpu=2) for name in "ab"]
        web = [low(f"web{i}", 1, "a", labels={"app": "web", "tier": "1"}) for i in range(2)]
        others = [low(f"db{i}", 1, "b", labels={"app": "db"}) for i in range(2)]
        found = evaluate([*nodes, *web, *others, *budgets], make_pod(cpu=2, priority=10))
        assert found.preemption is not None
        return {one.node_name: one.pdb_violations for one in found.preemption.candidates}

    assert violations() == {"a": 0, "b": 0}
    assert violations(budget("one", 1, app="web")) == {"a": 1, "b": 0}
    # Two budgets are violated by the same pods: each pod counts once.
    assert violations(budget("one", 0, app="web"), budget("two", 0, tier="1")) == {"a": 2, "b": 0}
    # Each node by itself: victims of another candidate take nothing from the budget.
    assert violations(budget("one", 0, app="web"), budget("two", 1, app="db")) == {"a": 2, "b": 1}
    # What was disrupted already is not counted a second time, nor does it make room for others.
    assert violations(budget("one", 0, "web0", app="web")) == {"a": 1, "b": 0}
    assert violations(budget("one", 0, "web0", "web1", app="web")) == {"a": 0, "b": 0}


def test_a_budget_that_changed_since_the_last_preemption() -> None:
    # What a dry run found is remembered for pods alike; not beyond a change of any budget.
    world = World()
    world.create(make_node("a", cpu=2), make_node("b", cpu=2))
    for name in "ab":
        world.create(low(f"on-{name}", node=name, labels={"app": name}, finalizers=("test/held",)))
    world.create(make_pod("first", cpu=2, priority=10))
    world.settle()
    first = world.pod("first").status.nominated_node_name
    other = "b" if first == "a" else "a"
    spec = PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": other}))
    world.create(PodDisruptionBudget(make_pod("strict").metadata, spec))
    world.create(make_node("c", cpu=2), low("on-c", node="c", finalizers=("test/held",)))
    world.create(make_pod("second", cpu=2, priority=10))
    world.settle()
    assert world.pod("second").status.nominated_node_name == "c"


def test_a_victim_whose_deletion_is_not_seen_yet_is_not_chosen_again() -> None:
    """The response to the eviction arrives before its event: the preemptor must wait for the event."""
    world, watch = flaky_world()
    world.create(make_node(cpu=2), make_pod("victim", cpu=2, node_name="n"))
    world.create(make_pod("preemptor", cpu=2, priority=10))
    watch.deliver()
    world.settle()
    assert world.cluster.get("Pod", "default/victim") is None
    world.scheduler.core.queue.activate([world.pod("preemptor")])
    assert world.where("preemptor") == "gated"
    watch.deliver()
    world.pass_time(20)
    watch.deliver()
    world.settle()
    assert world.node_of("preemptor") == "n"


def test_preemptions_make_room_in_the_order_in_which_they_began() -> None:
    """The first preemptor does not wait until the victims of all others but their last ones are evicted."""
    count = PREEMPTIONS_AT_A_TIME + 2
    executor = ManualExecutor()
    world = World(executor=executor)
    for number in range(count):
        node = f"n{number}"
        victims = [make_pod(f"{node}-{each}", cpu=1, node_name=node) for each in "ab"]
        world.create(make_node(node, cpu=2), *victims, make_pod(f"p{number}", cpu=2, priority=10))
    for _ in range(count):
        world.cycle()
    evictions = [job for job in executor.waiting if "evict" in repr(job.work)]
    assert len(evictions) == PREEMPTIONS_AT_A_TIME
    come_to_rest(world, executor)
    assert len(world.cluster.list("Pod")) == count
