"""Several extenders with random answers, against a model of what kube-scheduler makes of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest
from attrs import define, field

from schedframe import InMemoryCluster, Pod, Scheduler
from schedframe.cycle import Tuning
from schedframe.framework import (
    BaseExtender,
    ExtenderError,
    ExtenderFilterResult,
    ExtenderVerb,
    HostPriority,
    OfferedNodes,
)
from schedframe.framework.extender import in_call_order
from tests.configurations import configuration
from tests.cycle.build import make_node, make_pod

NODES = [f"node-{i}" for i in range(5)]
CONFIG = configuration({"plugins": {"score": {"disabled": [{"name": "*"}]}}})
"""Without score plugins the totals are those of the extenders."""


@define(eq=False)
class Scripted(BaseExtender):
    """Gives answers that were drawn before. ``seen``: the names of each request to filter."""

    verbs: frozenset[ExtenderVerb] = frozenset({ExtenderVerb.FILTER, ExtenderVerb.PRIORITIZE})
    interested: bool = True
    keeps: Sequence[str] = ()
    """Those of them that it is offered, in this order; a name may be there twice."""
    failed: dict[str, str] = field(factory=dict)
    unresolvable: dict[str, str] = field(factory=dict)
    scores: Sequence[HostPriority] = ()
    fails: frozenset[str] = frozenset()
    """The calls that end with an error."""
    seen: list[list[str]] = field(factory=list)

    def is_interested(self, pod: Pod) -> bool:
        return self.interested

    def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
        self.seen.append(list(nodes.names))
        if "filter" in self.fails:
            raise ExtenderError(f"{self.name} is broken")
        return ExtenderFilterResult(self.kept(nodes.names), None, self.failed, self.unresolvable)

    def kept(self, names: Sequence[str]) -> list[str]:
        return [name for name in self.keeps if name in names]

    def prioritize(self, pod: Pod, nodes: OfferedNodes) -> Iterable[HostPriority]:
        if "prioritize" in self.fails:
            raise ExtenderError(f"{self.name} is broken")
        return self.scores


def drawn(rng: Random, name: str) -> Scripted:
    keeps = rng.choices(NODES, k=rng.randrange(2, 8)) if rng.random() < 0.8 else list(NODES)
    every = [*NODES, "ghost"]
    verbs = {verb for verb in (ExtenderVerb.FILTER, ExtenderVerb.PRIORITIZE) if rng.random() < 0.8}
    return Scripted(
        name,
        verbs=frozenset(verbs),
        is_ignorable=rng.random() < 0.5,
        weight=rng.randrange(1, 4),
        interested=rng.random() < 0.8,
        keeps=keeps,
        failed={node: f"{name} fails {node}" for node in every if rng.random() < 0.3},
        unresolvable={node: f"{name} never {node}" for node in every if rng.random() < 0.2},
        scores=[HostPriority(rng.choice(every), rng.randrange(-3, 12)) for _ in range(4)],
        fails=frozenset(call for call in ("filter", "prioritize") if rng.random() < 0.2),
    )


@define
class Expected:
    """What is left of the nodes, why others are not, and the totals."""

    nodes: list[str]
    seen: dict[str, list[list[str]]] = field(factory=dict)
    statuses: dict[str, tuple[str, str]] = field(factory=dict)
    error: str = ""
    totals: dict[str, int] = field(factory=dict)


def model(extenders: Sequence[Scripted]) -> Expected:
    """Return the outcome for *extenders*, which are in the order of their calls."""
    expected = Expected(list(NODES), {each.name: [] for each in extenders})
    for each in extenders:
        if not expected.nodes:
            break
        if not each.interested or ExtenderVerb.FILTER not in each.verbs:
            continue
        expected.seen[each.name].append(expected.nodes)
        if "filter" in each.fails:
            if each.is_ignorable:
                continue
            expected.error = f"{each.name} is broken"
            return expected
        for node, why in each.unresolvable.items():
            expected.statuses[node] = "UnschedulableAndUnresolvable", why
        for node, why in each.failed.items():
            if node not in each.unresolvable:
                expected.statuses[node] = "Unschedulable", why
        expected.nodes = each.kept(expected.nodes)
    if len(expected.nodes) > 1 and any(each.interested and each.verbs for each in extenders):
        expected.totals = dict.fromkeys(expected.nodes, 0)
        for each in extenders:
            asked = each.interested and ExtenderVerb.PRIORITIZE in each.verbs
            for host, score in each.scores if asked and "prioritize" not in each.fails else ():
                if host in expected.totals:
                    expected.totals[host] += score * each.weight * 10
    return expected


def decided(extenders: Sequence[Scripted], **options: Any) -> Expected:
    cluster = InMemoryCluster()
    for name in NODES:
        cluster.apply(make_node(name, cpu=8))
    with Scheduler(cluster, CONFIG, extenders=extenders, seed=1, **options) as scheduler:
        cluster.create(make_pod())
        decision = scheduler.schedule_one()
    assert decision is not None
    seen = {each.name: list(each.seen) for each in extenders}
    if decision.error is not None:
        return Expected([], seen, error=decision.error.message)
    found = Expected(decision.feasible.names() if decision.feasible is not None else [], seen)
    found.statuses = {name: (s.code.label, s.message) for name, s in decision.named.items()}
    scores = decision.scores
    if scores is not None and decision.extenders:
        found.totals = dict(zip(scores.rows.names(), scores.total.tolist(), strict=True))
        best = max(found.totals.values())
        assert decision.node_name is not None
        assert found.totals[decision.node_name] == best
    return found


@pytest.mark.parametrize("classes", [None, 0])
def test_several_extenders_decide_as_in_kube_scheduler(classes: int | None) -> None:
    for seed in range(60):
        rng = Random(seed)
        extenders = [drawn(rng, f"extender-{i}") for i in range(rng.randrange(1, 4))]
        expected = model(in_call_order(extenders))
        found = decided(extenders, tuning=Tuning(remember=classes))
        if expected.error:
            assert expected.error in found.error, seed
            assert found.seen == expected.seen, seed
        else:
            assert found == expected, seed
