"""The object that an event about a refused configuration is about."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")

from schedframe import ClusterError, InMemoryCluster, Scheduler
from schedframe.api import ObjectMeta
from schedframe.cli.run.leadership import HeldLease, Leadership
from schedframe.cli.run.refusals import POD_NAME, POD_NAMESPACE, RefusalEvents
from schedframe.cluster.kubernetes.leader import ElectionSettings
from schedframe.testing import node, pod

PROBLEM = "config.yaml is refused"


class World:
    """A cluster in memory with the scheduler's own pod, and the replica of that pod."""

    def __init__(self, settings: ElectionSettings | None = None) -> None:
        self.cluster = InMemoryCluster([node("n"), pod("own").in_namespace("kube-system")])
        self.leadership = Leadership(self.cluster, settings)  # type: ignore[arg-type]  # no requests are made
        self.events = RefusalEvents(Scheduler(self.cluster), self.leadership)


@pytest.fixture(autouse=True)
def own_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(POD_NAME, "own")
    monkeypatch.setenv(POD_NAMESPACE, "kube-system")


def test_without_an_election_it_is_the_own_pod() -> None:
    world = World()
    assert world.events.record(PROBLEM)
    (event,) = world.cluster.events
    assert (event.kind, event.key, event.type) == ("Pod", "kube-system/own", "Warning")
    assert (event.reason, event.action, event.message) == ("ConfigurationRefused", "Reload", PROBLEM)


@pytest.mark.parametrize(("name", "value"), [(POD_NAME, None), (POD_NAMESPACE, ""), (POD_NAME, "other")])
def test_there_is_no_event_without_a_pod(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, value)
    world = World()
    assert not world.events.record(PROBLEM)
    assert not world.cluster.events


def test_a_leader_reports_about_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(ElectionSettings())
    lease = HeldLease(ObjectMeta("kube-scheduler", "kube-system", "u1"))
    monkeypatch.setattr(Leadership, "held_lease", lambda leadership: lease)
    assert world.events.record(PROBLEM)
    (event,) = world.cluster.events
    assert (event.kind, event.key, event.uid) == ("Lease", "kube-system/kube-scheduler", "u1")


def test_a_standby_reports_nothing() -> None:
    world = World(ElectionSettings())
    assert not world.events.record(PROBLEM)
    assert not world.cluster.events


def test_a_cluster_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    world = World()

    def fail(kind: str, key: str) -> Any:
        raise ClusterError("no route")

    world.cluster.get = fail  # type: ignore[method-assign]
    assert not world.events.record(PROBLEM)
    assert "no event about the refused configuration: no route" in caplog.text
