"""The same workload with a large, a small and no equivalence cache; any difference is a mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pytest
from attrs import define, evolve, field

from schedframe import (
    Decision,
    Node,
    Pod,
    PodSpec,
    load_config,
)
from schedframe.cycle import Tuning
from schedframe.cycle.equivalence import policy
from schedframe.errors import CacheFault

from ..build import World
from .cached_plugins import PLUGINS, SIEVES
from .up_to_date import assert_up_to_date

MEMORIES = (0, 1, None)
"""How many classes to remember: none, one at a time, as many as there are."""

ALONE = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit")
"""Filters that can be cached whole, in the default order."""


def orders(plugins: Sequence[str], alone: bool) -> dict[str, list[str]]:
    """Which filters run in which order: out-of-tree ones in the middle. *alone*: few of the others."""
    profile = load_config(None).profiles[0]
    names = [name for name, _ in profile.plugins["filter"] if not alone or name in ALONE]
    ours = [name for name in plugins if name != "Peak"]
    middle = len(names) // 2
    found = {"filter": [*names[:middle], *ours, *names[middle:]]}
    if alone:
        fine = [name for name in plugins if name == "FineSieve"]
        found["preFilter"] = [*fine, "NodeAffinity", "NodePorts", "NodeResourcesFit"]
        groups = [name for name in plugins if name == "Groups"]
        found["preScore"] = [*groups, "TaintToleration", "NodeAffinity", "NodeResourcesFit"]
        scoring = [name for name in plugins if name not in SIEVES]
        found["score"] = [*scoring, "TaintToleration", "NodeAffinity", "NodeResourcesFit", "ImageLocality"]
        found |= {"postFilter": [], "reserve": [], "preBind": []}
    return found


@define(eq=False)
class Triplets:
    """Three worlds that differ in what their schedulers remember."""

    plugins: Sequence[str]
    alone: bool = False
    seed: int = 0
    worlds: list[World] = field(init=False)
    faulty: bool = False
    """Whether faults of the cache are expected."""
    numbers: Iterator[int] = field(factory=count)
    """For names of pods."""
    _specs: dict[tuple[int, int], tuple[PodSpec, PodSpec]] = field(factory=dict)
    """(index of a world, id of a spec) → the spec, which keeps its id, and its copy for that world."""

    def __attrs_post_init__(self) -> None:
        only = orders(self.plugins, self.alone)
        self.worlds = [
            World(
                {name: PLUGINS[name] for name in self.plugins},
                only=only,
                options={
                    "seed": self.seed,
                    # Without a cache no attempt is skipped: the worlds would not stay in step.
                    "tuning": Tuning(
                        remember=memory, verify=1.0 if memory == 1 else 0.0, wait_together=False
                    ),
                },
            )
            for memory in MEMORIES
        ]

    def put_node(self, node: Node) -> None:
        """Add or replace a node."""
        for world in self.worlds:
            world.cluster.apply(node)

    def drop_node(self, node: Node) -> None:
        """Remove a node if it is there."""
        for world in self.worlds:
            if world.find("Node", node.name) is not None:
                world.cluster.delete(node)

    def create(self, pod: Pod) -> None:
        """Create a pod unless its name is taken; pods that share a spec share it within each world."""
        for index, world in enumerate(self.worlds):
            if world.find("Pod", pod.key) is None:
                spec = self._specs.setdefault((index, id(pod.spec)), (pod.spec, evolve(pod.spec)))[1]
                world.cluster.create(Pod(pod.metadata, spec, pod.status))

    def delete(self, name: str) -> None:
        """Delete a pod if it is there."""
        for world in self.worlds:
            if world.find("Pod", f"default/{name}") is not None:
                world.delete(name)

    def relabel(self, name: str, labels: dict[str, str]) -> None:
        """Change the labels of a pod if it is there."""
        for world in self.worlds:
            if world.find("Pod", f"default/{name}") is not None:
                world.change_pod(name, labels=labels)

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        for world in self.worlds:
            world.clock.advance(seconds)

    def step(self) -> bool:
        """One cycle in each world; whether there was one. Raises ``AssertionError`` if they differ."""
        decisions = [world.scheduler.schedule_one() for world in self.worlds]
        if not self.faulty:
            faults = [status for world in self.worlds for status, _ in world.faults]
            assert not [status.message for status in faults if isinstance(status.error, CacheFault)]
        first, *others = [
            _outcome(world, decision) for world, decision in zip(self.worlds, decisions, strict=True)
        ]
        for memory, other in zip(MEMORIES[1:], others, strict=True):
            for name, wanted in first.items():
                if name == "calls" and memory == 1:
                    continue  # verify calls plugins twice
                if name in SIEVES:
                    assert wanted >= other[name], f"{name} with remember={memory} is called for other rows"
                    continue
                assert other[name] == wanted, f"{name} with remember={memory}: {other[name]} for {wanted}"
        return decisions[0] is not None

    def run(self, most: int = 30) -> None:
        """Cycles until nothing is ready, and then the comparison of what is cached with a new build."""
        for _ in range(most):
            if not self.step():
                break
        self.check()

    def check(self) -> None:
        """What is cached is what a new build gives."""
        for world in self.worlds:
            world.check()
            fast = world.scheduler.core.search.fast
            for eq_class in fast.cache.classes() if fast is not None else ():
                assert_up_to_date(eq_class)


def _outcome(world: World, decision: Decision | None) -> dict[str, Any]:
    """All of a cycle that a user can see."""
    core = world.scheduler.core
    found: dict[str, Any] = {
        "random state": core.rng.getstate(),
        "faults": [
            (status.plugin, status.message)
            for status, _ in world.faults
            if not isinstance(status.error, CacheFault)
        ],
        "queue": core.queue.pending(),
        "pods": [
            (pod.key, pod.spec.node_name, pod.status.nominated_node_name, pod.status.conditions)
            for pod in world.cluster.list("Pod")
        ],
    }
    middle = world.plugin("Middle")
    if middle is not None:
        found["calls"] = middle.calls[-200:]
    # Before the feasible rows are read, which calls lazy filters for the rest.
    for name in SIEVES:
        found[name] = set(sieve.calls) if (sieve := world.plugin(name)) is not None else set()
    if decision is not None:
        feasible, diagnosis = decision.feasible, decision.diagnosis
        found |= {
            "pod": decision.pod.key,
            "node": decision.node_name,
            "evaluated": decision.evaluated,
            "error": decision.error,
            "feasible": feasible.names() if feasible is not None and decision.error is None else None,
            "message": diagnosis.message() if diagnosis is not None else None,
            "statuses": dict(diagnosis) if diagnosis is not None else None,
            "rejectors": (diagnosis.unschedulable_plugins, diagnosis.pending_plugins)
            if diagnosis is not None
            else None,
        }
    return found


def lowered(patch: pytest.MonkeyPatch, **limits: Any) -> None:
    """Schedulers made from now on have other thresholds."""
    patch.setattr(policy, "DEFAULT", evolve(policy.DEFAULT, **limits))


def renamed(pod: Pod, name: str, **status: Any) -> Pod:
    """A pod of that name with the very same spec."""
    return Pod(
        evolve(pod.metadata, name=name, uid=""),
        pod.spec,
        evolve(pod.status, **status) if status else pod.status,
    )
