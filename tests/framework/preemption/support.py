"""A scheduler that is asked about preemption, with an evaluator of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from attrs import define, evolve, field

from schedframe import Decision, Handle, Pod, PostFilterResult, Status
from schedframe.api import (
    DISRUPTION_TARGET,
    LabelSelector,
    PodCondition,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from schedframe.cycle.search.search import Search
from schedframe.framework import Candidate, Diagnosis, Framework, Preemption, PreemptionEvaluator
from schedframe.framework.preemption.evaluator import Tally

from ...cycle.build import PROFILE, World, make_node, make_pod

FIRST = 1_000_000.0
"""Start of the first pod, in seconds of some epoch."""


def running(
    name: str,
    node: str = "n",
    cpu: int = 1,
    priority: int = 0,
    *,
    start: float | None = None,
    deleted_at: float | None = None,
    preempted: bool = False,
    **details: Any,
) -> Pod:
    """A pod on its node; *start* in seconds after ``FIRST``."""
    pod = make_pod(name, cpu=cpu, priority=priority, node_name=node, uid=f"uid-{name}", **details)
    condition = PodCondition(type=DISRUPTION_TARGET, status="True", reason="PreemptionByScheduler")
    status = evolve(
        pod.status,
        start_time=None if start is None else FIRST + start,
        conditions=(condition,) if preempted else (),
    )
    return evolve(pod, metadata=evolve(pod.metadata, deletion_timestamp=deleted_at), status=status)


def waiting(name: str = "p", cpu: int = 2, priority: int = 10, **details: Any) -> Pod:
    """A pod that looks for a node."""
    return make_pod(name, cpu=cpu, priority=priority, uid=f"uid-{name}", **details)


def budget(
    name: str = "budget",
    allowed: int = 0,
    labels: Mapping[str, str] | None = None,
    *,
    selector: LabelSelector | None = None,
    disrupted: tuple[str, ...] = (),
    namespace: str = "default",
) -> PodDisruptionBudget:
    """A budget for pods with these labels."""
    if labels is not None:
        selector = LabelSelector(match_labels=dict(labels))
    return PodDisruptionBudget(
        make_pod(name, namespace=namespace).metadata,
        PodDisruptionBudgetSpec(selector=selector),
        PodDisruptionBudgetStatus(
            disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, FIRST)
        ),
    )


@define(eq=False)
class Arena:
    """A cluster and a scheduler that follows it; ``preempt`` is what its plugin would do in post_filter."""

    nodes: int | Mapping[str, int] = field(factory=lambda: {"n": 4})
    """Node → cpus; or how many of 4 cpus, called n00, n01, …"""
    world: World = field(factory=World)
    percentage: int = 10
    absolute: int = 100
    kind: type[PreemptionEvaluator] = PreemptionEvaluator
    evaluator: PreemptionEvaluator = field(init=False)

    def __attrs_post_init__(self) -> None:
        nodes = self.nodes
        if isinstance(nodes, int):
            nodes = {f"n{i:02d}": 4 for i in range(nodes)}
        self.world.create(*(make_node(name, cpu=cpu) for name, cpu in nodes.items()))
        self.evaluator = self.kind(self.handle, "Test", self.percentage, self.absolute)

    @property
    def framework(self) -> Framework:
        return self.world.scheduler.core.frameworks[PROFILE]

    @property
    def handle(self) -> Handle:
        return self.framework.handle

    def create(self, *objects: Any) -> None:
        """Create objects; nothing is scheduled."""
        self.world.create(*objects)

    def decide(self, pod: Pod) -> Decision:
        """The search for a node that has to fail before a pod is preempted."""
        self.world.scheduler.sync()
        return Search(self.world.scheduler.core.cache, Random(0)).decide(self.framework, pod)

    def diagnosis(self, pod: Pod) -> tuple[Decision, Diagnosis]:
        """Why no node has room for *pod*."""
        decision = self.decide(pod)
        assert decision.diagnosis is not None, f"{pod.name} needs no preemption: {decision}"
        return decision, decision.diagnosis

    def find(self, pod: Pod) -> tuple[dict[str, Candidate], Tally]:
        """Candidates by node in the order found, and what became of the others."""
        decision, diagnosis = self.diagnosis(pod)
        found, tally = self.evaluator.find_candidates(decision.state, pod, diagnosis)
        return {candidate.node_name: candidate for candidate in found}, tally

    def victims(self, pod: Pod) -> dict[str, list[str]]:
        """Node → names of victims, most important first."""
        return {name: [victim.name for victim in found.victims] for name, found in self.find(pod)[0].items()}

    def preempt(self, pod: Pod) -> tuple[PostFilterResult | None, Status]:
        """Choose, and make the victims go."""
        decision, diagnosis = self.diagnosis(pod)
        return self.evaluator.preempt(decision.state, pod, diagnosis)

    def preemption(self, pod: Pod) -> Preemption:
        """As :meth:`preempt`, which must work."""
        result, status = self.preempt(pod)
        assert status.is_success, status
        assert result is not None
        details = result.details
        assert isinstance(details, Preemption)
        return details

    def names(self) -> set[str]:
        """Pods that the cluster has and that are not being deleted."""
        return {pod.name for pod in self.world.cluster.list("Pod") if not pod.is_terminating}
