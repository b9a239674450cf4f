"""Conditions of pods that wait together are brought up to date a bounded number at a time."""

from __future__ import annotations

import pytest

from schedframe import InMemoryCluster, Scheduler, VirtualClock
from schedframe.api import POD_SCHEDULED
from schedframe.cycle.search.search import Search

from .build import make_node, make_pod

CLASSES = 150
FULL = "Too many pods"


def full(cluster: InMemoryCluster) -> int:
    """Return the number of pods that are said not to fit because of the number of pods."""
    conditions = [pod.status.condition(POD_SCHEDULED) for pod in cluster.list("Pod")]
    return sum(condition is not None and FULL in condition.message for condition in conditions)


@pytest.fixture
def changed() -> tuple[InMemoryCluster, Scheduler, VirtualClock]:
    """A scheduler with pods of many classes that are too large, for a node that is no longer full."""
    clock = VirtualClock()
    running = make_pod("running", uid="running", node_name="n0")
    cluster = InMemoryCluster([make_node("n0", cpu=1, pods=1), running], clock=clock)
    for i in range(CLASSES):
        for copy in ("a", "b"):
            cluster.create(make_pod(f"p{i}-{copy}", uid=f"uid-{i}-{copy}", cpu=2 + i))
    scheduler = Scheduler(cluster, clock=clock, seed=1)
    scheduler.run_until_idle()
    assert full(cluster) == 2 * CLASSES
    clock.advance(1000.0)
    cluster.delete("Pod", running.key)
    while scheduler.schedule_one() is not None:
        pass
    return cluster, scheduler, clock


def test_a_step_renews_some_conditions(
    changed: tuple[InMemoryCluster, Scheduler, VirtualClock], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, scheduler, clock = changed
    decide, decisions = Search.decide, 0

    def counted(*given: object) -> object:
        nonlocal decisions
        decisions += 1
        return decide(*given)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(Search, "decide", counted)
    seen = full(cluster)
    for _ in range(CLASSES // 64 + 1):
        before = decisions
        scheduler.step()
        scheduler.step()
        assert 0 < decisions - before <= 64
        assert full(cluster) < seen
        seen = full(cluster)
        clock.advance(1.0)
    assert not full(cluster)
    before = decisions
    scheduler.step()
    assert decisions == before


def test_a_look_at_the_queue_renews_all(changed: tuple[InMemoryCluster, Scheduler, VirtualClock]) -> None:
    cluster, scheduler, _ = changed
    assert len(scheduler.pending()) == 2 * CLASSES
    assert not full(cluster)
