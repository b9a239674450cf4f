"""Equal pods that wait together leave the queue as they would if each one were tried."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from schedframe.api import (
    Affinity,
    LabelSelector,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    Taint,
)
from schedframe.cycle.rejected_classes import RejectedClass

from .build import make_node, make_pod
from .waiting_worlds import Pair

HOST = "kubernetes.io/hostname"
ZONE = "zone"


def _near(app: str) -> Affinity:
    term = PodAffinityTerm(LabelSelector({"app": app}), topology_key=ZONE)
    return Affinity(pod_affinity=PodAffinity(required=(term,)))


def _apart(app: str) -> Affinity:
    term = PodAffinityTerm(LabelSelector({"app": app}), topology_key=HOST)
    return Affinity(pod_anti_affinity=PodAntiAffinity(required=(term,)))


TEMPLATES: dict[str, dict[str, Any]] = {
    "small": {"cpu": 1},
    "large": {"cpu": 3},
    "huge": {"cpu": 9},
    "urgent": {"cpu": 2, "priority": 10},
    "picky": {"cpu": 1, "node_selector": {"disk": "ssd"}},
    "near": {"cpu": 1, "affinity": _near("a"), "labels": {"app": "b"}},
    "apart": {"cpu": 1, "affinity": _apart("c"), "labels": {"app": "c"}},
    "a": {"cpu": 1, "labels": {"app": "a"}},
    "port": {"cpu": 1, "host_port": 80},
    "gated": {"cpu": 1, "gates": ("hold",)},
    "other": {"cpu": 2, "scheduler": "other"},
    "nominated": {"cpu": 1, "nominated": "n0"},
}
NODES = ("n0", "n1", "n2")
kinds = st.sampled_from(tuple(TEMPLATES))
places = st.integers(0, 30)
steps = st.sampled_from((None, None, 0, 1, 1, 2, 3))


class WaitingMachine(RuleBasedStateMachine):
    """Pods of a few templates come and go, nodes change, time passes; attempts stop anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()
        self.count = 0
        self.pair.create([make_node("n0", cpu=2, labels={ZONE: "z"}), make_node("n1", cpu=1)])

    @rule(kind=kinds, number=st.integers(1, 5), go=steps)
    def create(self, kind: str, number: int, go: int | None) -> None:
        template = make_pod("template", **TEMPLATES[kind])
        for _ in range(number):
            self.count += 1
            name = f"{kind}-{self.count}"
            pod = evolve(template, metadata=evolve(template.metadata, name=name, uid=f"uid-{name}"))
            self.pair.create([pod])
        self.pair.run(go)

    @rule(first=kinds, second=kinds, number=st.integers(1, 4), go=steps)
    def create_in_turn(self, first: str, second: str, number: int, go: int | None) -> None:
        for _ in range(number):
            self.create(first, 1, 0)
            self.create(second, 1, 0)
        self.pair.run(go)

    @rule(place=places, go=steps)
    def delete(self, place: int, go: int | None) -> None:
        pods = self.pair.pods()
        if pods:
            key = pods[place % len(pods)].key
            self.pair.apply(lambda cluster: cluster.delete("Pod", key))
        self.pair.run(go)

    @rule(place=places, go=steps)
    def end_placed(self, place: int, go: int | None) -> None:
        pods = [pod for pod in self.pair.pods() if pod.node_name]
        if pods:
            key = pods[place % len(pods)].key
            self.pair.apply(lambda cluster: cluster.delete("Pod", key))
        self.pair.run(go)

    @rule(place=places, what=st.sampled_from(("label", "ungate", "shrink", "nominate")), go=steps)
    def change_pod(self, place: int, what: str, go: int | None) -> None:
        pods = self.pair.pods()
        if pods:
            key = pods[place % len(pods)].key
            self.pair.apply(lambda cluster: cluster.update(_changed(cluster.get("Pod", key), what)))
        self.pair.run(go)

    @rule(
        name=st.sampled_from(NODES), cpu=st.integers(1, 4), ssd=st.booleans(), taint=st.booleans(), go=steps
    )
    def set_node(self, name: str, cpu: int, ssd: bool, taint: bool, go: int | None) -> None:
        labels = {ZONE: "z" if cpu > 2 else "y", "disk": "ssd" if ssd else "hdd"}
        node = make_node(
            name, cpu=cpu, labels=labels, taints=(Taint("t", effect="NoSchedule"),) if taint else ()
        )
        there = self.pair.together.cluster.get("Node", name)
        self.pair.apply(lambda cluster: cluster.create(node) if there is None else cluster.update(node))
        self.pair.run(go)

    @rule(name=st.sampled_from(NODES), go=steps)
    def remove_node(self, name: str, go: int | None) -> None:
        if self.pair.together.cluster.get("Node", name) is not None:
            self.pair.apply(lambda cluster: cluster.delete("Node", name))
        self.pair.run(go)

    @rule(seconds=st.sampled_from((0.3, 1.0, 2.0, 11.0, 301.0)), go=steps)
    def advance(self, seconds: float, go: int | None) -> None:
        self.pair.advance(seconds)
        self.pair.run(go)

    def teardown(self) -> None:
        self.pair.run()
        self.pair.close()


def _changed(pod: Pod, what: str) -> Pod:
    if what == "label":
        return evolve(pod, metadata=evolve(pod.metadata, labels={**pod.metadata.labels, "new": "x"}))
    if what == "ungate":
        return evolve(pod, spec=evolve(pod.spec, scheduling_gates=()))
    if what == "nominate":
        return pod if pod.node_name else evolve(pod, status=evolve(pod.status, nominated_node_name="n0"))
    return evolve(pod, spec=evolve(pod.spec, containers=make_pod(cpu=1).spec.containers))


def test_equal_pods_are_tried_once() -> None:
    pair = Pair()
    pair.create([make_node("n0", cpu=2)])
    pair.create([make_pod(f"large-{i}", uid=f"uid-{i}", cpu=3) for i in range(5)])
    pair.run()
    assert (len(pair.together.tried), len(pair.alone.tried)) == (1, 5)
    (cohort,) = pair.together.scheduler.core.queue.cohorts()
    assert cohort.size == 5
    pair.apply(lambda cluster: cluster.create(make_node("n1", cpu=3)))
    pair.run()
    assert len(pair.together.tried) == 2
    assert sorted(pair.together.placed().values()) == ["n1"]
    pair.close()


def test_one_row_that_suits_a_waiting_pod_is_taken_without_a_search() -> None:
    pair = Pair()
    pair.create([make_node(f"n{i}", cpu=2) for i in range(3)])
    pair.create([make_pod(f"first-{i}", uid=f"first-{i}", cpu=2) for i in range(3)])
    pair.create([make_pod(f"p{i}-{cpu}", uid=f"uid-{i}-{cpu}", cpu=cpu) for i in range(3) for cpu in (1, 2)])
    pair.run()
    pair.apply(lambda cluster: cluster.delete("Pod", "default/first-1"))
    pair.run(1)
    decision = pair.together.last
    assert decision is not None
    assert isinstance(decision.by_groups, RejectedClass)
    assert (decision.pod.name, decision.feasible and decision.feasible.names()) == ("p0-1", ["n1"])
    pair.run()
    pair.close()


TestWaitingMachine = WaitingMachine.TestCase
