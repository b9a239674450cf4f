"""Plugins that skip are not called for equal pods, until what their Skip depends on changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import define, evolve, field

from schedframe import (
    CycleState,
    InMemoryCluster,
    Pod,
    PreFilterResult,
    Scheduler,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import Container, Namespace, ObjectMeta, PodSpec, PriorityClass
from schedframe.cycle import Tuning
from tests.configurations import configuration, enabling

from ..build import make_node, make_pod

NOTE: StateKey[str] = StateKey("Skipper/note")
CALLS = ("pre_filter", "pre_score", "reserve", "pre_bind")


@define(eq=False)
class Skipper:
    """Skips unless there is a namespace ``busy``; counts who calls."""

    reads: Sequence[str] | None = ("Namespace",)
    handle: Any = None
    calls: dict[str, int] = field(factory=lambda: dict.fromkeys(CALLS, 0))
    notes: list[str | None] = field(factory=list)
    fails: bool = False

    def answer(self, point: str) -> Status | None:
        self.calls[point] += 1
        return None if self.handle.objects.get("Namespace", "busy") else Status.skip()

    @hookimpl
    def skip_reads(self) -> Sequence[str] | None:
        if self.fails:
            raise LookupError("not known")
        return self.reads

    @hookimpl
    def pre_filter(self, state: CycleState) -> Status | None:
        state.write(NOTE, "seen")
        return self.answer("pre_filter")

    @hookimpl
    def filter(self) -> None:
        return None

    @hookimpl
    def pre_score(self) -> Status | None:
        return self.answer("pre_score")

    @hookimpl
    def score(self) -> int:
        return 0

    @hookimpl
    def reserve(self, state: CycleState) -> None:
        self.calls["reserve"] += 1
        self.notes.append(state.get(NOTE))

    @hookimpl
    def pre_bind_pre_flight(self) -> None:
        return None

    @hookimpl
    def pre_bind(self) -> None:
        self.calls["pre_bind"] += 1

    @hookimpl
    def permit(self, state: CycleState) -> None:
        self.notes.append(state.get(NOTE))


SPEC = PodSpec(containers=(Container(name="c"),))


class World:
    """Two nodes, and pods of one spec."""

    def __init__(self, plugin: Skipper) -> None:
        self.plugin = plugin
        self.cluster = InMemoryCluster([make_node("n0", cpu=64), make_node("n1", cpu=64)])

        def make(args: Any, handle: Any) -> Skipper:
            plugin.handle = handle
            return plugin

        self.scheduler = Scheduler(
            self.cluster,
            config("Skipper"),
            plugins={"Skipper": make},
            seed=0,
            tuning=Tuning(wait_together=False),
        )
        self.made = 0

    def schedule(self, count: int, spec: PodSpec = SPEC, **labels: str) -> dict[str, int]:
        """Place more pods; return how often each point of the plugin was called for them."""
        before = dict(self.plugin.calls)
        for _ in range(count):
            self.made += 1
            self.cluster.create(Pod(ObjectMeta(name=f"p{self.made}", labels=labels), spec))
            self.scheduler.run_until_idle()
        assert all(pod.spec.node_name for pod in self.cluster.list("Pod"))
        return {point: calls - before[point] for point, calls in self.plugin.calls.items()}


def config(name: str) -> dict[str, Any]:
    return configuration(enabling(name))


def every(point_calls: int) -> dict[str, int]:
    return dict.fromkeys(CALLS, point_calls)


def test_a_plugin_that_skips_is_called_once() -> None:
    world = World(Skipper())
    assert world.schedule(1) == every(1)
    assert world.schedule(5) == every(0)


def test_what_it_wrote_is_in_the_state_of_later_cycles() -> None:
    world = World(Skipper())
    world.schedule(3)
    assert world.plugin.notes == ["seen"] * 4, "reserve of the first pod, permit of all"


def test_it_is_called_again_when_something_it_reads_changes() -> None:
    world = World(Skipper())
    world.schedule(2)
    world.cluster.create(Namespace(ObjectMeta(name="quiet")))
    assert world.schedule(3) == every(1), "it skips still"
    world.cluster.create(Namespace(ObjectMeta(name="busy")))
    assert world.schedule(3) == every(3), "it has its say"
    world.cluster.delete("Namespace", "busy")
    assert world.schedule(3) == every(1), "and none again"


def test_changes_of_other_kinds_do_not_matter() -> None:
    world = World(Skipper())
    world.schedule(1)
    world.cluster.create(PriorityClass(ObjectMeta(name="high")))
    assert world.schedule(2) == every(0)


@pytest.mark.parametrize("plugin", [Skipper(reads=None), Skipper(fails=True)], ids=["anything", "failing"])
def test_one_without_skip_reads_is_called_for_every_pod(plugin: Skipper) -> None:
    assert World(plugin).schedule(3) == every(3)


def test_it_is_called_for_pods_that_differ() -> None:
    world = World(Skipper())
    world.schedule(1)
    assert world.schedule(1, app="web") == every(1), "other labels"
    assert world.schedule(1, app="web") == every(0)
    assert world.schedule(1, spec=evolve(SPEC, priority=7), app="web") == every(1), "another spec"


def test_pods_with_affinity_terms_end_the_skip_of_their_readers() -> None:
    world = World(Skipper(reads=("PodAffinity",)))
    world.schedule(1)
    assert world.schedule(2) == every(0)
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "none"}}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"containers": [{"name": "c"}], "affinity": anti, "nodeName": "n0"}
    world.cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shy"}, "spec": spec})
    assert world.schedule(2) == every(1)
    world.cluster.create(make_node("n2"))
    assert world.schedule(2) == every(1), "where there are such pods, their nodes matter"


def test_images_and_their_spread_end_the_skip_of_their_readers() -> None:
    def node(name: str, *images: str) -> dict[str, Any]:
        there = {"images": [{"names": [image], "sizeBytes": 10} for image in images]}
        status = {"allocatable": {"cpu": "64", "pods": "110"}, **there}
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}

    world = World(Skipper(reads=("Image",)))
    world.schedule(1)
    world.cluster.create(node("n7"))
    assert world.schedule(2) == every(0), "no node has any image"
    world.cluster.create(node("n8", "nginx"))
    assert world.schedule(2) == every(1)
    world.cluster.create(node("n9"))
    assert world.schedule(2) == every(1), "the same image is on a smaller share of the nodes"


def test_a_pod_without_feasible_node_is_rejected_without_another_call() -> None:
    world = World(Skipper())
    for name in ("big0", "big1", "big2"):
        world.cluster.create(make_pod(name, cpu=1000))
        world.scheduler.run_until_idle()
    assert world.plugin.calls == {"pre_filter": 3, "pre_score": 0, "reserve": 0, "pre_bind": 0}, "three specs"
    spec = make_pod(cpu=1000).spec
    before = world.plugin.calls["pre_filter"]
    for name in ("same0", "same1", "same2"):
        world.cluster.create(Pod(ObjectMeta(name=name), spec))
        world.scheduler.run_until_idle()
    assert world.plugin.calls["pre_filter"] == before + 1
    assert len(world.scheduler.pending()) == 6


def test_naming_nodes_is_not_skipping() -> None:
    @define(eq=False)
    class Namer(Skipper):
        @hookimpl
        def pre_filter(self) -> PreFilterResult:  # type: ignore[override]
            self.calls["pre_filter"] += 1
            return PreFilterResult(frozenset({"n1"}))

    world = World(Namer())
    assert world.schedule(3)["pre_filter"] == 3
    assert {pod.spec.node_name for pod in world.cluster.list("Pod")} == {"n1"}
