"""A fault in what is known of rejected pods is reported, and each pod is tried: nothing else changes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from attrs import evolve

from schedframe import Pod, Status
from schedframe.cycle.equivalence.cache import EquivalenceCache
from schedframe.cycle.rejected_classes import RejectedClasses
from schedframe.cycle.rejections import KnownRejections
from schedframe.errors import CacheFault
from tests.profiles import scaled

from .build import make_node, make_pod
from .waiting_worlds import Pair

REPORTING = {"rejected", "refresh_reports", "known_rejections"}
"""They write conditions by functions that have guards of their own."""
GUARDS = {"record", "class_if_rejected", "class_of", "look"}
"""What the queue and the scheduler call: everything else fails inside of these."""
UNREACHED = {
    "_after_fault",
    "changes_of_rejectors",
    "check_invariants",
    "clear",
    "few_to_try",
    "is_known",
    "must_try",
    "renew",
    "skip",
    "stamp",
    "suits_none",
}
"""One expression each, what runs after a fault, only in tests, or for groups."""


def _methods(owner: Any) -> list[Any]:
    return [
        pytest.param(owner, name, id=f"{owner.__name__}.{name}")
        for name, value in vars(owner).items()
        if inspect.isfunction(value)
        and not name.startswith("__")
        and name not in REPORTING | GUARDS | UNREACHED
    ]


PLACES = [
    *_methods(KnownRejections),
    *_methods(RejectedClasses),
    pytest.param(EquivalenceCache, "is_shared_outcome", id="EquivalenceCache.is_shared_outcome"),
]


def _failing(function: Callable[..., Any], raised: list[int]) -> Callable[..., Any]:
    calls = 0

    def broken(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls in (1, 3, 9, 20):
            raised.append(calls)
            raise IndexError("out of step")
        return function(*args, **kwargs)

    return broken


def _backlog(pair: Pair, random: Random, steps: int) -> None:
    """Pods of three sizes wait; room appears and disappears. Some may evict others, if these are small."""
    pair.create([make_node("n0", cpu=4)])
    for step in range(steps):
        size = random.randint(1, 3)
        template = make_pod("template", cpu=size, priority=10 if size == 3 and step % 3 == 2 else None)
        names = [f"p{step}-{number}" for number in range(random.randint(1, 4))]
        pair.create(evolve(template, metadata=evolve(template.metadata, name=n, uid=n)) for n in names)
        pair.run()
        placed = sorted(pair.together.placed())
        for key in placed[: random.randint(0, 2)]:
            pair.apply(lambda cluster, key=key: cluster.delete("Pod", key))  # type: ignore[misc]
            pair.run()
        pair.advance(random.choice([0.5, 2.0, 20.0]))
        pair.run()


@pytest.mark.parametrize(("owner", "name"), PLACES)
def test_a_fault_changes_no_decision(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[int] = []
    monkeypatch.setattr(owner, name, _failing(getattr(owner, name), raised))
    pair = Pair()
    faults: list[Status] = []

    def note(status: Status, pod: Pod | None) -> None:
        faults.append(status)

    pair.together.scheduler.core.observers.faulted = note
    assert pair.together.scheduler.rejections is not None
    pair.together.scheduler.rejections._rejected.spare = 0
    pair.together.scheduler.rejections.spare_classes = 0
    _backlog(pair, Random(len(name)), scaled(12))
    assert raised
    assert len(faults) == len(raised)
    assert all(isinstance(status.error, CacheFault) for status in faults)
    pair.close()
