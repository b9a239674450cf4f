"""Mistakes in calls of a simulation are errors that say what to do, and no silent success."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Handle,
    InMemoryCluster,
    Pod,
    Profile,
    QueuedPodInfo,
    Scheduler,
    Simulation,
    Status,
    evaluate,
    explain,
    hookimpl,
)
from schedframe.errors import ConfigError, InputError
from schedframe.simulate import queueing_hint
from schedframe.testing import node, pod


def test_a_pod_is_not_assumed_on_a_node_that_is_not_there() -> None:
    with Simulation([node("worker-1")]) as simulation:
        with pytest.raises(InputError, match=r'there is no node "worker-l"; did you mean worker-1\?'):
            simulation.assume(pod("p"), "worker-l")
        with pytest.raises(InputError, match="add the node first"):
            simulation.assume(pod("p"), "nowhere")
        simulation.assume(pod("p"), "worker-1")
        assert simulation.scheduler.core.cache.table.pod_count[0] == 1


def test_a_pod_may_be_named() -> None:
    objects = [node("n"), pod("a"), pod("b").in_namespace("x"), pod("b").in_namespace("y")]
    assert evaluate(objects, "a").feasible == ["n"]
    assert evaluate(objects, "x/b").feasible == ["n"]
    with pytest.raises(InputError, match="2 pods are named b; say which: x/b, y/b"):
        evaluate(objects, "b")
    with pytest.raises(InputError, match="no pod is named c"):
        evaluate(objects, "c")


def test_a_placed_pod_is_removed_by_its_name() -> None:
    with Simulation([node("n")]) as simulation:
        simulation.schedule([pod("a"), pod("b").in_namespace("x"), pod("b").in_namespace("y")])
        assert simulation.remove_pod("a")
        assert not simulation.remove_pod("a")
        with pytest.raises(InputError, match="2 pods are named b"):
            simulation.remove_pod("b")
        assert simulation.remove_pod("x/b")
        assert simulation.remove_pod("b")


class Refusing:
    def __init__(self, args: object, handle: Handle) -> None:
        raise ValueError("no server")

    @hookimpl
    def reserve(self, pod: Pod) -> None: ...


def test_a_plugin_that_cannot_be_made_is_named_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Simulation([node("n")], plugins=[Refusing])
    text = "profile default-scheduler: plugin Refusing cannot be made: ValueError: no server ("
    assert str(caught.value).startswith(text)
    assert str(caught.value).endswith(" in __init__)")


@define(eq=False)
class Counting:
    """Gets an object of the program beside its handle."""

    server: list[str]
    handle: Handle

    @hookimpl
    def reserve(self, pod: Pod) -> None:
        self.server.append(pod.name)


def test_a_plugin_gets_an_object_of_the_program() -> None:
    """As a partial, from a function, or as an instance."""
    server: list[str] = []
    makers = (
        partial(Counting, server),
        partial(Counting, server=server),
        lambda args, handle: Counting(server, handle),
    )
    for maker in makers:
        with Simulation([node("n")], plugins={"Counting": maker}) as simulation:
            simulation.schedule([pod("p")])
    assert server == ["p"] * 3


def test_a_negative_weight_is_the_one_that_is_blamed() -> None:
    profile = {"plugins": {"score": {"enabled": [{"name": "TaintToleration", "weight": -4}]}}}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    with pytest.raises(ConfigError, match="'TaintToleration': its weight is -4; use a weight of at least 1"):
        Simulation([node("n")], {**kind, "profiles": [profile]})


def test_explain_names_the_event_that_is_implied() -> None:
    """A plugin that registers new nodes also gets changes of taints."""

    class Waiting:
        @hookimpl
        def filter(self, pod: Pod) -> Status | None:
            return Status.unschedulable("never")

        @hookimpl
        def events_to_register(self) -> list[EventRegistration]:
            return [EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD))]

    cluster = InMemoryCluster([node("n"), pod("p")])
    with Scheduler(cluster, plugins=[Waiting]) as scheduler:
        scheduler.run_until_idle()
        waiting = explain(scheduler, "p").waiting
    assert waiting is not None
    assert waiting.events[0].events == ("Node: Add", "Node: UpdateNodeTaint (implied by Add)")


def test_a_closed_simulation_says_that_it_schedules_nothing() -> None:
    """It said that the pod waits for its turn, which never comes."""
    with Simulation([node("n").allocatable(cpu="4", pods=10)]) as simulation:
        (before,) = simulation.schedule([pod("a")])
    (after,) = simulation.schedule([pod("b")])
    assert (before.node_name, after.node_name) == ("n", None)
    assert "closed" in after.message


class Deadline:
    """Sorts the queue by an annotation."""

    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> float:
        return float(pod_info.pod.metadata.annotations.get("deadline", "inf"))


def test_a_second_plugin_that_sorts_the_queue_says_how_to_disable_the_first() -> None:
    with pytest.raises(
        ConfigError, match=r'disable the others: Profile\(\).disable\("PrioritySort"\) in Python'
    ):
        Simulation([node("n")], plugins=[Deadline])
    with Simulation([node("n")], Profile().disable("PrioritySort"), plugins=[Deadline]) as simulation:
        late, early = pod("late").annotations(deadline="9"), pod("early").annotations(deadline="1")
        placed = simulation.schedule([each.requests(cpu=3) for each in (late, early)])
        assert [placement.node_name for placement in placed] == [None, "n"]


def test_a_cycle_needs_a_profile_of_the_pod() -> None:
    problem = pytest.raises(InputError, match="no profile is named other; the profiles are default-scheduler")
    with Simulation([node("n")]) as simulation, problem:
        simulation.cycle(pod("p").for_scheduler("other"))


@define(eq=False)
class Closing:
    """Counts how often it is closed."""

    closed: int = 0

    @hookimpl
    def events_to_register(self) -> list[EventRegistration]:
        return [EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD))]

    @hookimpl
    def filter(self, state: object, pod: Pod, node_info: object) -> Status:
        return Status.unschedulable("closed")

    @hookimpl
    def close(self) -> None:
        self.closed += 1


def test_plugins_of_a_single_question_are_closed() -> None:
    plugin = Closing()
    assert evaluate([node("n")], pod("p"), plugins=[plugin]).feasible == []
    assert plugin.closed == 1
    answer = queueing_hint("Closing", pod("p"), "Node/Add", None, node("m"), plugins=[plugin])
    assert (answer.hint, plugin.closed) == ("Queue", 2)
    with pytest.raises(InputError, match="'Other' is not enabled"):
        queueing_hint("Other", pod("p"), "Node/Add", None, node("m"), plugins=[plugin])
    assert plugin.closed == 3


def test_plugins_of_a_simulation_that_cannot_be_made_are_closed() -> None:
    closed = []

    class Closing:
        @hookimpl
        def filter(self) -> None:
            return None

        @hookimpl
        def close(self) -> None:
            closed.append(self)

    with pytest.raises(InputError, match="expected text, got 5"):
        Simulation([{"kind": "Node", "metadata": {"name": 5}}], plugins=[Closing])
    assert len(closed) == 1


@pytest.mark.parametrize("wrong", [{"kind": "Pod", "metadata": {"name": 5}}, 5, None, "pod", [pod("other")]])
def test_nothing_is_added_with_an_object_that_cannot_be_used(wrong: Any) -> None:
    with Simulation([node("a")]) as simulation:
        with pytest.raises(InputError):
            simulation.add(pod("p"), wrong)
        with pytest.raises(InputError):
            simulation.schedule([pod("p"), wrong])
        assert simulation.cluster.list("Pod") == []
        assert simulation.pending() == []


def test_a_pod_that_counts_already_is_not_assumed() -> None:
    with Simulation([node("a")]) as simulation:
        simulation.assume(pod("p"), "a")
        with pytest.raises(InputError, match="pod: default/p has a node already"):
            simulation.assume(pod("p"), "a")
        simulation.schedule([pod("q")])
        (placed,) = simulation.cluster.list("Pod")
        with pytest.raises(InputError, match="pod: default/q has a node already"):
            simulation.assume(placed, "a")
