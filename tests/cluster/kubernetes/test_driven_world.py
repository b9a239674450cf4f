"""The world in virtual time itself: equal seeds take equal courses, and the audit finds what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.testing import node, pod
from schedframe.testing.api_server import ApiServer, RandomFaults

from .driven_world import Audit, DrivenWorld


def course(seed: int) -> list[tuple[str, str, str, int | None]]:
    """Return the requests of a scheduler under random faults."""
    world = DrivenWorld()
    for name in ("n1", "n2"):
        world.server.create(node(name).allocatable(cpu="4"))
    for number in range(12):
        world.server.create(pod(f"p{number}").requests(cpu="1"))
    world.server.faults.random = RandomFaults(seed, share=0.3)
    world.scheduler.start()
    world.drive(60)
    world.server.faults.clear()
    world.drive(100)
    world.check_history()
    world.check_quiet()
    # Names of events have the time of the machine in them.
    asked = [each for each in world.server.requests if each.resource != "events"]
    requests = [(each.verb, each.resource, each.key, each.status) for each in asked]
    world.close()
    return requests


def test_equal_seeds_take_equal_courses() -> None:
    first = course(1)
    assert len(first) > 100
    assert course(1) == first
    assert course(2) != first


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"spec": {"nodeName": "n2", "containers": []}}, "moves from n1 to n2"),
        ({"spec": {"containers": []}}, "moves from n1 to "),
    ],
)
def test_the_audit_finds_a_pod_that_moves(change: dict[str, Any], problem: str) -> None:
    server, audit = ApiServer(), Audit()
    server.create(pod("a").on_node("n1"))
    server.apply({**pod("a"), **change})
    with pytest.raises(AssertionError, match=problem):
        audit.check(server.objects.store.since(0))


def test_the_audit_finds_a_node_that_holds_too_much() -> None:
    server, audit = ApiServer(), Audit()
    server.create(node("n1").allocatable(cpu="1"))
    for name in "ab":
        server.create(pod(name).requests(cpu="600m").on_node("n1"))
    with pytest.raises(AssertionError, match="n1 holds"):
        audit.check(server.objects.store.since(0))
