"""Random worlds in which events interrupt the passes over pods that wait together."""

from __future__ import annotations

from random import Random

import pytest
from attrs import evolve

from schedframe.api import Pod
from tests.profiles import scaled

from .build import make_node, make_pod
from .waiting_worlds import Pair

STEPS = 30
FORMER_FAULTS = (18, 85, 120, 168, 219, 224, 229)
"""Worlds in which a later pod took the place of an earlier one, or pods counted as attempted too early."""


class World:
    """Plain pods of a few classes and priorities, nodes that come and go; each step may end within a pass."""

    def __init__(self, seed: int) -> None:
        self.rng, self.pair, self.count = Random(seed), Pair(), 0
        self.templates = [self._template() for _ in range(self.rng.choice((2, 4, 8)))]
        self.steps = (
            self._create,
            self._create,
            self._set_node,
            self._end,
            self._delete,
            self._wait,
            self._wait,
        )

    def run(self) -> None:
        for _ in range(STEPS):
            self.rng.choice(self.steps)()
            self.pair.run(self.rng.choice((None, None, 0, 1, 2, 3)))
        self.pair.run()
        self.pair.close()

    def _template(self) -> Pod:
        rng = self.rng
        selector = {"disk": "ssd"} if rng.random() < 0.2 else {}
        cpu, app = rng.choice((1, 2, 3, 9)), rng.choice("ab")
        return make_pod(
            "t", cpu=cpu, labels={"app": app}, node_selector=selector, priority=rng.choice((0, 0, 0, 5))
        )

    def _create(self) -> None:
        chosen = self.rng.choices(self.templates, k=self.rng.choice((1, 2, 3)))
        for number in range(self.rng.randint(1, 8)):
            self.count += 1
            template = chosen[number % len(chosen)]
            name = f"p{self.count}"
            self.pair.create(
                [evolve(template, metadata=evolve(template.metadata, name=name, uid=f"uid-{name}"))]
            )

    def _set_node(self) -> None:
        name = f"n{self.rng.randint(0, 6)}"
        if self.pair.together.cluster.get("Node", name) is not None and self.rng.random() < 0.2:
            self.pair.apply(lambda cluster: cluster.delete("Node", name))
            return
        node = make_node(name, cpu=self.rng.randint(1, 4), labels={"disk": self.rng.choice(("ssd", "hdd"))})
        self.pair.apply(lambda cluster: cluster.apply(node))

    def _end(self) -> None:
        placed = [pod.key for pod in self.pair.pods() if pod.node_name]
        for key in self.rng.sample(placed, min(len(placed), self.rng.randint(1, 3))):
            self._remove(key)

    def _delete(self) -> None:
        if pods := self.pair.pods():
            self._remove(self.rng.choice(pods).key)

    def _remove(self, key: str) -> None:
        self.pair.apply(lambda cluster: cluster.delete("Pod", key))

    def _wait(self) -> None:
        self.pair.advance(self.rng.choice((0.3, 1.0, 2.0, 11.0, 65.0, 301.0)))


@pytest.mark.parametrize("seed", FORMER_FAULTS)
def test_worlds_that_went_wrong(seed: int) -> None:
    World(seed).run()


def test_random_worlds() -> None:
    for seed in range(scaled(10)):
        World(seed).run()
