"""Preemption against a model that tries every set of victims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st

from schedframe.framework import PreemptionEvaluator

from ...cycle.build import make_node
from .support import Arena, budget, running, waiting

PRIORITY = 5
"""Of the preemptor."""


@frozen
class Runs:
    """A pod that runs."""

    cpu: int
    priority: int
    start: int
    app: str
    name: str = ""


@frozen
class Machine:
    """A node, what runs there, and how much is kept for pods of higher priority."""

    cpu: int
    pods: tuple[Runs, ...]
    expected: int = 0


@frozen
class Cluster:
    """What is made up for one example."""

    nodes: Mapping[str, Machine]
    budgets: Mapping[str, int]
    need: int


@frozen
class Choice:
    """The victims of one node; ordered as nodes are preferred."""

    violations: int
    victims: tuple[Runs, ...] = field(eq=False)

    def key(self) -> tuple[float, ...]:
        highest = max(pod.priority for pod in self.victims)
        return (
            self.violations,
            highest,
            sum(pod.priority + 2**31 for pod in self.victims),
            len(self.victims),
            -min(pod.start for pod in self.victims if pod.priority == highest),
        )


def best_victims(node: Machine, budgets: Mapping[str, int], need: int) -> Choice | None:
    """Of all sets of pods that may stay, the one that keeps those first that matter most."""
    lower = sorted((p for p in node.pods if p.priority < PRIORITY), key=lambda p: (-p.priority, p.start))
    violating = [
        pod
        for place, pod in enumerate(lower)
        if pod.app in budgets and sum(p.app == pod.app for p in lower[: place + 1]) > max(0, budgets[pod.app])
    ]
    order = violating + [pod for pod in lower if pod not in violating]
    others = sum(pod.cpu for pod in node.pods if pod.priority >= PRIORITY)
    room = node.cpu - others - node.expected - need
    sets = product((True, False), repeat=len(order))
    fitting = (
        kept for kept in sets if sum(p.cpu for p, stays in zip(order, kept, strict=True) if stays) <= room
    )
    kept = max(fitting, default=None)
    if kept is None or not order:
        return None
    victims = tuple(pod for pod, stays in zip(order, kept, strict=True) if not stays)
    return Choice(sum(pod in violating for pod in victims), victims)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Full nodes; no two pods of a node started at the same time."""
    need = draw(st.integers(1, 3))
    nodes = {}
    for n in range(draw(st.integers(1, 4))):
        shapes = draw(
            st.lists(
                st.tuples(
                    st.integers(0, 2), st.sampled_from([-3, 0, 1, 4, 5]), st.sampled_from(["", "a", "b"])
                ),
                min_size=1,
                max_size=5,
            )
        )
        starts = draw(st.permutations(range(len(shapes))))
        pods = tuple(
            Runs(cpu, priority, start, app, f"on{n}-{i}")
            for i, ((cpu, priority, app), start) in enumerate(zip(shapes, starts, strict=True))
        )
        # Not enough room as it is, and yet not too small.
        free = draw(st.integers(0, need - 1))
        total = sum(pod.cpu for pod in pods) + free
        if total < need:
            pods = (*pods, Runs(need - total, 0, len(pods), "", f"on{n}-filler"))
            total = need
        nodes[f"n{n}"] = Machine(total, pods, draw(st.sampled_from([0, 0, 1])))
    return Cluster(nodes, draw(st.dictionaries(st.sampled_from("ab"), st.integers(-1, 2))), need)


arena = Arena(nodes={})


def put_up(cluster: Cluster) -> None:
    """Put *cluster* in the place of the one before."""
    world = arena.world
    for kind in ("Pod", "Node", "PodDisruptionBudget"):
        for obj in world.cluster.list(kind):
            world.cluster.delete(obj)
    for name, node in cluster.nodes.items():
        world.create(make_node(name, cpu=node.cpu))
        for pod in node.pods:
            labels = {"app": pod.app} if pod.app else {}
            world.create(running(pod.name, name, pod.cpu, pod.priority, start=pod.start, labels=labels))
        if node.expected:
            world.create(waiting(f"expected-{name}", node.expected, PRIORITY, nominated=name))
    for app, allowed in cluster.budgets.items():
        world.create(budget(app, allowed, {"app": app}))
    arena.evaluator = PreemptionEvaluator(arena.handle, "Test")


def names(pods: Sequence[Runs]) -> set[str]:
    return {pod.name for pod in pods}


@given(clusters())
def test_candidates_and_choice_are_those_of_trying_everything(cluster: Cluster) -> None:
    put_up(cluster)
    pod = waiting(cpu=cluster.need, priority=PRIORITY)
    expected = {
        name: choice
        for name, node in cluster.nodes.items()
        if (choice := best_victims(node, cluster.budgets, cluster.need)) is not None
    }
    for _ in range(2):  # the second time from memory
        found, _ = arena.find(pod)
        assert {name: {v.name for v in one.victims} for name, one in found.items()} == {
            name: names(choice.victims) for name, choice in expected.items()
        }
        assert {name: one.pdb_violations for name, one in found.items()} == {
            name: choice.violations for name, choice in expected.items()
        }
    result, status = arena.preempt(pod)
    if not expected:
        assert not status.is_success
        return
    assert result is not None
    assert result.nominating_info is not None
    chosen = result.nominating_info.node_name or ""
    assert expected[chosen].key() == min(choice.key() for choice in expected.values())
    gone = {pod.name for node in cluster.nodes.values() for pod in node.pods} - arena.names()
    assert gone == names(expected[chosen].victims)
