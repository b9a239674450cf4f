"""Numbers, nearest nodes, waiting, comparison, forms, sources, bad input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import define

from schedframe import (
    InMemoryCluster,
    InputError,
    NodeInfo,
    Pod,
    Recorder,
    Scheduler,
    Simulation,
    Status,
    VirtualClock,
    explain,
    hookimpl,
)
from schedframe.cycle import SchedulerObserver, observing
from tests.configurations import configuration, enabling

from .manifests import Manifest, node, pod

TAINT = {"key": "team", "value": "ml", "effect": "NoSchedule"}


def test_reasons_have_numbers_and_nodes_come_nearest_first() -> None:
    objects = [node("n1"), node("n2"), node("far", "16", taints=[TAINT], unschedulable=True)]
    found = explain([*objects, pod("x", "800m", on="n2"), pod("y", "2", on="n1")], pod("p", "4"))
    assert found.reasons[0].numbers == "needs 4 cpu, most free 3.2 on n2"
    assert [each.node for each in found.nearest] == ["n2", "n1", "far"]
    assert [obstacle.plugin for obstacle in found.nearest[2].obstacles] == [
        "NodeUnschedulable",
        "TaintToleration",
    ]
    assert "(needs 4 cpu, 3.2 free)" in str(found)


@define(eq=False)
class Talkative:
    """Rejects every node with a given status."""

    status: Status

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status:
        return self.status


def talkative(status: Status) -> tuple[str, list[str]]:
    """Return the numbers of the only reason, and the short resources of the only obstacle."""
    config = with_plugin("Talkative")
    config["profiles"][0]["plugins"]["filter"] = {"disabled": [{"name": "NodeResourcesFit"}]}
    plugins = {"Talkative": lambda args, handle: Talkative(status)}
    found = explain([node("n", "1")], pod("p", "4"), plugins=plugins, config=config)
    (reason,) = found.reasons
    (obstacle,) = found.nearest[0].obstacles
    return reason.numbers, [each.resource for each in obstacle.shortages]


def test_a_reason_is_a_shortage_if_the_details_say_so_and_not_by_its_words() -> None:
    assert talkative(Status.unschedulable("node(s) had an old cpu")) == ("", [])
    data = Status.unschedulable("too slow", details={"too slow": {"resource": "cpu"}})
    assert talkative(data) == ("needs 4 cpu, most free 1 on n", ["cpu"])


@pytest.mark.parametrize("details", [{}, {"odd": None}, {"odd": "cpu"}, {"odd": {"resource": 5}}, {"b": {}}])
def test_details_of_another_form_are_ignored(details: dict[str, Any]) -> None:
    assert talkative(Status.unschedulable("odd", details=details)) == ("", [])


def test_obstacles_are_all_that_stands_in_the_way_also_for_a_plugin_without_columns() -> None:
    found = explain(
        [node("n", taints=[TAINT])], pod("p"), plugins={"Never": Never}, config=with_plugin("Never")
    )
    (miss,) = found.nearest
    assert [each.plugin for each in miss.obstacles] == ["TaintToleration", "Never"]
    assert not found.changes


@define(eq=False)
class Never:
    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status:
        return Status.unschedulable("never")


def with_plugin(name: str) -> dict[str, Any]:
    return configuration(enabling(name))


def test_a_plugin_that_fails_is_reported_and_no_change_is_proposed() -> None:
    found = explain([node("n")], pod("p"), plugins={"Broken": Broken}, config=with_plugin("Broken"))
    assert found.verdict == "failed"
    assert "out of order" in found.message
    assert not found.changes


@define(eq=False)
class Broken:
    @hookimpl
    def filter(self, pod: Pod) -> None:
        raise RuntimeError("out of order")


def test_who_wins_and_by_how_much() -> None:
    found = explain([node("a"), node("b", "8")], pod("p"))
    assert found.verdict == "fits"
    comparison = found.comparison
    assert comparison is not None
    assert (comparison.node, comparison.other) == ("b", "a")
    assert comparison.total == sum(each.chosen for each in comparison.lines)
    assert comparison.reason.startswith("b leads a by ")
    assert found.waiting is None


def test_ties_say_so() -> None:
    comparison = explain([node("a"), node("b"), node("c")], pod("p")).comparison
    assert comparison is not None
    assert comparison.tied == ("a", "b", "c")
    assert "ties with 2 others" in comparison.reason


def test_a_placed_pod_is_compared_as_if_it_were_to_be_placed_now() -> None:
    found = explain([node("a"), node("b", "8"), pod("p", on="a")], "p")
    assert found.verdict == "placed"
    assert found.message.startswith("is on a: a would not be chosen any more: b leads by ")
    alone = explain([node("a"), pod("p", on="a")], "default/p")
    assert alone.message == "is on a: a is the only node on which it can run"


def test_what_a_rejected_pod_waits_for() -> None:
    waiting = explain([node("n", taints=[TAINT])], pod("p")).waiting
    assert waiting is not None
    assert waiting.plugins == ("TaintToleration",)
    assert str(waiting.events[0]) == "TaintToleration: Node: Add, UpdateNodeTaint; Pod: UpdatePodToleration"


def running(*objects: Manifest, **options: Any) -> tuple[InMemoryCluster, Scheduler, VirtualClock]:
    clock = VirtualClock()
    cluster = InMemoryCluster(objects, clock=clock)
    return cluster, Scheduler(cluster, seed=1, clock=clock, **options), clock


def test_a_running_scheduler_says_until_when() -> None:
    _, scheduler, clock = running(node("n"), pod("p", "8"))
    scheduler.run_until_idle()
    clock.advance(100)
    waiting = explain(scheduler, "p").waiting
    assert waiting is not None
    assert (waiting.place, waiting.until_s, waiting.attempts) == ("unschedulable", 200.0, 1)
    assert waiting.plugins == ("NodeResourcesFit",)


@define(eq=False)
class Gate:
    @hookimpl
    def permit(self) -> Status:
        return Status.wait(60)


def test_a_pod_in_permit_is_on_its_node_and_waits_for_the_plugin() -> None:
    _, scheduler, clock = running(node("n"), pod("p"), plugins={"Gate": Gate}, config=with_plugin("Gate"))
    scheduler.run_until_idle()
    clock.advance(20)
    found = explain(scheduler, "p")
    assert found.verdict == "placed"
    assert found.waiting is not None
    assert found.waiting.lines() == ["permit on n (Gate), until 40 s from now"]


@define(eq=False)
class Trouble:
    """Fails at pre_bind, and rejects every node if ``rejects`` says so."""

    rejects = False

    @hookimpl
    def filter(self) -> Status | None:
        return Status.unschedulable("no") if type(self).rejects else None

    @hookimpl
    def pre_bind(self) -> None:
        raise RuntimeError("the volume is gone")


def test_a_pod_whose_last_attempt_failed_says_by_what_and_when_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = with_plugin("Trouble")
    _, scheduler, clock = running(node("n"), pod("p"), plugins={"Trouble": Trouble}, config=config)
    scheduler.run_until_idle()
    clock.advance(0.25)
    found = explain(scheduler, "p")
    assert found.verdict == "fits"
    assert found.waiting is not None
    when, why = found.waiting.lines()
    assert when == "error_backoff, until 1.75 s from now, tried 1 time"
    text = 'the last attempt failed: running PreBind plugin "Trouble": RuntimeError: the volume is gone ('
    assert why.startswith(f"{text}pod default/p, node n, ")
    assert found.waiting.to_dict()["failure"] in str(found)
    monkeypatch.setattr(Trouble, "rejects", True)
    clock.advance(10)
    scheduler.run_until_idle()
    rejected = explain(scheduler, "p").waiting
    assert rejected is not None
    assert (rejected.place, rejected.plugins, rejected.failure) == ("unschedulable", ("Trouble",), "")


def test_asking_changes_nothing_and_draws_nothing() -> None:
    answers = []
    for ask in (False, True):
        cluster, scheduler, _ = running(*(node(f"n{i}") for i in range(9)), pod("x", "8"))
        scheduler.run_until_idle()
        if ask:
            explain(scheduler, "x")
        for i in range(6):
            cluster.create(pod(f"p{i}"))
        scheduler.run_until_idle()
        answers.append([each.spec.node_name for each in cluster.list("Pod")])
    assert answers[0] == answers[1]


def test_any_source_gives_the_same_answer() -> None:
    objects = [node("n"), pod("x", "3", on="n"), pod("p", "2")]
    cluster, scheduler, _ = running(*objects)
    scheduler.sync()
    simulation = Simulation(objects)
    snapshot = scheduler.core.cache.snapshot()
    answers = [
        [each.description for each in explain(source, objects[2]).changes]
        for source in (objects, cluster, scheduler, simulation, snapshot)
    ]
    assert all(each == answers[0] for each in answers)
    assert answers[0]


def test_a_nominated_pod_in_the_way_is_found() -> None:
    first = pod("first", "3", priority=9) | {"status": {"nominatedNodeName": "n"}}
    found = explain([node("n"), first], pod("p", "2", priority=1))
    assert found.verdict == "pending"
    assert found.nearest[0].obstacles[0].detail == "counting nominated pods"
    assert "delete pod default/first (priority 9)" in [each.description for each in found.changes]


def test_forms() -> None:
    found = explain([node("n", taints=[TAINT])], pod("p<b>"), strict=False)
    document = json.loads(found.to_json())
    assert document["changes"][0]["edits"][0]["field"] == "spec.tolerations"
    assert document["verdict"] == "pending"
    bundle = found._repr_mimebundle_()
    assert bundle["text/plain"] == str(found)
    assert "p&lt;b&gt;" in bundle["text/html"]
    assert bundle["application/json"] == document


@pytest.mark.parametrize(
    ("source", "wanted", "message"),
    [
        ([], "nix", "pod: no pod is named nix; write its name, namespace/name, or a workload"),
        (
            [pod("p"), pod("p") | {"metadata": {"name": "p", "namespace": "b"}}],
            "p",
            "say which: b/p, default/p",
        ),
        (7, pod("p"), "cluster: a int is no cluster; give a Scheduler"),
        ("nodes.yaml", pod("p"), "cluster: a str is no cluster"),
        ([], {"kind": "Node", "metadata": {"name": "n"}}, "Node is not a pod"),
    ],
)
def test_bad_input_is_one_clear_error(source: Any, wanted: Any, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        explain(source, wanted)
    with pytest.raises(InputError, match="budget: -1 is below 0"):
        explain([], "p", budget=-1)


# ---- recorder ----------------------------------------------------------------------------------------------


def test_the_recorder_keeps_the_last_decisions_and_no_more() -> None:
    recorder = Recorder(3, each_attempt=True)
    _, scheduler, _ = running(node("n"), *(pod(f"p{i}", "1") for i in range(6)), observers=[recorder])
    scheduler.run_until_idle()
    assert [(each.pod, each.node) for each in recorder] == [
        ("default/p3", "n"),
        ("default/p4", None),
        ("default/p5", None),
    ]
    last = recorder.of("p5")[0]
    assert (last.rejected_by, last.attempt, last.feasible) == (("NodeResourcesFit",), 1, 0)
    assert last.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert explain(scheduler, "p5").history == (last,)
    assert "last decisions:" in str(explain(scheduler, "p5"))
    assert json.dumps(recorder.to_dict())


def test_with_scores_a_decision_tells_why_its_node_won() -> None:
    recorder = Recorder(scores=True)
    _, scheduler, _ = running(node("a"), node("b", "8"), pod("p"), pod("q"), observers=[recorder])
    scheduler.run_until_idle()
    for each in recorder:
        assert each.comparison is not None
        assert each.comparison.node == each.node
        assert each.comparison.reason.startswith(f"{each.node} ")


@pytest.mark.parametrize("scores", [False, True])
def test_a_recorder_changes_no_decision(scores: bool) -> None:
    placed = []
    for recorders in ([], [Recorder(scores=scores)]):
        cluster, scheduler, _ = running(
            *(node(f"n{i}") for i in range(5)), *(pod(f"p{i}") for i in range(12)), observers=recorders
        )
        scheduler.run_until_idle()
        placed.append([each.spec.node_name for each in cluster.list("Pod")])
    assert placed[0] == placed[1]


class Failing(SchedulerObserver):
    def decided(self, *_: Any) -> None:
        raise RuntimeError("full")


def test_a_recorder_that_fails_is_reported_and_stops_nothing() -> None:
    faults: list[str] = []
    cluster, scheduler, _ = running(
        node("n"),
        pod("p"),
        observers=[Failing(), observing(faulted=lambda status, pod: faults.append(status.message))],
    )
    scheduler.run_until_idle()
    assert cluster.get("Pod", "default/p").spec.node_name == "n"
    assert faults == ["full"]


def test_a_recorder_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="0 decisions are none"):
        Recorder(0)


# ---- after scheduling --------------------------------------------------------------------------------------


def test_after_the_other_pending_pods_are_placed() -> None:
    objects = [node("n"), pod("first", "3", priority=9), pod("p", "2")]
    assert explain(objects, "p").verdict == "fits"
    later = pod("later", "1.5")
    cluster, scheduler, _ = running(*objects)
    scheduler.sync()
    for source in (objects, cluster, scheduler, Simulation(objects)):
        found = explain(source, "p", after=True)
        assert found.smallest_change is not None
        assert found.smallest_change.description == "lower the requested cpu from 2 to 1"
        assert explain(source, "first", after=True).message.startswith("is on n")
        assert explain(source, later, after=True).verdict == "pending"
        assert explain(source, objects[1], after=True).verdict == "placed"
    assert not any(each.spec.node_name for each in cluster.list("Pod"))


def test_a_pod_of_another_scheduler_is_known_to_a_simulation() -> None:
    simulation = Simulation([node("n"), pod("p", schedulerName="mine")])
    assert explain(simulation, "p").verdict == "ignored"
