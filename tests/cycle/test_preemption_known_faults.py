"""The ways in which preemption and nominations are known to have gone wrong, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import NominatingInfo, Pod, PostFilterResult, Status

from .build import World, make_node, make_pod, plugin_class
from .flaky import flaky_world

# ---- nominations -----------------------------------------------------------------------------------------


class Preemptor:
    """A post_filter that nominates to a node, as a preemption would that has just evicted somebody."""

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
    # The victim goes, and before the nomination is written and seen somebody else asks for the room.
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


def test_room_of_a_new_nomination_taken_by_a_pod_of_a_remembered_class() -> None:
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
    # The room that was kept is free, and who waited for it is told.
    world.pass_time(2)
    assert world.node_of("other") == "n"


# ---- waiting pods ----------------------------------------------------------------------------------------


def test_a_preempted_waiting_pod_is_stuck() -> None:
    # Whoever preempts it is not who rejected it in permit: no event of that plugin would bring it back.
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
