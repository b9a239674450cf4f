"""On either side of each limit of what is known of rejected pods, the same pods are placed."""

from __future__ import annotations

from random import Random

import pytest
from attrs import evolve

from schedframe import Pod
from tests.profiles import scaled

from .build import make_node, make_pod
from .waiting_worlds import Pair

FULL = 16
"""Pods of one CPU that have room on the nodes together."""


def _pods(name: str, number: int, cpu: int, **spec: object) -> list[Pod]:
    template = make_pod("template", cpu=cpu, **spec)  # type: ignore[arg-type]  # a field of the spec
    names = [f"{name}-{each}" for each in range(number)]
    return [evolve(template, metadata=evolve(template.metadata, name=n, uid=n)) for n in names]


def _attempts(pair: Pair, random: Random, kinds: int) -> int:
    """Let pods of several kinds wait, and end several at a time; return how many attempts were made."""
    made = 0
    pair.create(make_node(f"n{number}", cpu=4) for number in range(FULL // 4))
    for step in range(scaled(10)):
        for cpu in (1, 2, 4):
            for kind in range(kinds):
                # Equal signatures, but unequal specs: plugins do not read the host name.
                spec = {"hostname": f"h{kind}"} if kind else {}
                pair.create(_pods(f"p{step}-{cpu}-{kind}", random.randint(1, 2), cpu, **spec))
        pair.run()
        made += len(pair.together.tried)
        placed = sorted(pair.together.placed())
        for key in random.sample(placed, min(len(placed), random.choice([1, 1, 4]))):
            pair.apply(lambda cluster, key=key: cluster.delete("Pod", key))  # type: ignore[misc]
        pair.advance(random.choice([0.5, 20.0]))
        pair.run()
        made += len(pair.together.tried)
    return made


@pytest.mark.parametrize(
    ("low", "kinds"),
    [({"max_specs": 1}, 3), ({"max_classes": 1}, 1), ({"most_rows": 1}, 1)],
    ids=["specs of a class", "classes", "changed rows"],
)
def test_a_limit_costs_attempts_and_changes_nothing_else(low: dict[str, int], kinds: int) -> None:
    made = []
    for limits in ({}, low):
        pair = Pair()
        rejections = pair.together.scheduler.rejections
        assert rejections is not None
        for name, value in limits.items():
            setattr(rejections._rejected if name == "most_rows" else rejections, name, value)
        made.append(_attempts(pair, Random(5), kinds))
        pair.close()
    assert made[0] < made[1], "the limit was not reached"


def test_classes_whose_pods_are_gone_cost_nothing_more() -> None:
    pair = Pair()
    rejections = pair.together.scheduler.rejections
    assert rejections is not None
    rejected = rejections._rejected
    pair.create([make_node("n", cpu=1), *_pods("stays", 3, 2)])
    most = 0
    for step in range(100):
        pods = _pods(f"p{step}", 2, 2 + step)
        pair.create(pods)
        pair.run()
        for pod in pods:
            pair.apply(lambda cluster, key=pod.key: cluster.delete("Pod", key))  # type: ignore[misc]
        most = max(most, len(rejected._owners))
    pair.run()
    assert most <= 2 * 2 + rejected.spare + 1, "one class waits, and another one at times"
    pair.together.tried.clear()
    pair.create(_pods("small", 1, 1))
    pair.run()
    assert [key for key, _ in pair.together.tried] == ["default/small-0"], "the class that stays is known"
    pair.close()
