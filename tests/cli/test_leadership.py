"""``schedframe run`` with a leader election: what the flags choose, and who schedules when."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any

import pytest

from schedframe import InMemoryCluster, Scheduler
from schedframe.cli.run.field_flags import with_flags
from schedframe.cli.run.leadership import (
    Leadership,
    LeaseFilter,
    election_settings,
    is_for_want_of_the_lease,
)
from schedframe.cli.run.options import RunOptions
from schedframe.cli.run.status import StatusDisplay
from schedframe.cluster import BindRefused
from schedframe.cluster.kubernetes.errors import NotLeading
from schedframe.cluster.kubernetes.leader import ElectionSettings, LeaseName
from schedframe.config import load_config
from schedframe.errors import InputError
from schedframe.framework import Status


def settings(**flags: str) -> ElectionSettings:
    return election_settings(with_flags(load_config(None).config, RunOptions(**flags)).leader_election)


def test_the_defaults_are_those_of_kube_scheduler() -> None:
    assert with_flags(load_config(None).config, RunOptions()).leader_election.leader_elect is True
    assert settings() == ElectionSettings(15.0, 10.0, 2.0, LeaseName("kube-system", "kube-scheduler"))


def test_flags_replace_single_fields() -> None:
    assert settings(
        leader_elect_lease_duration="1m",
        leader_elect_renew_deadline="4s",
        leader_elect_retry_period="500ms",
        leader_elect_resource_name="mine",
        leader_elect_resource_namespace="own",
    ) == ElectionSettings(60.0, 4.0, 0.5, LeaseName("own", "mine"))
    chosen = with_flags(load_config(None).config, RunOptions(leader_elect="false"))
    assert chosen.leader_election.leader_elect is False


@pytest.mark.parametrize("text", ["soon", "0s", "-1s"])
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--leader-elect-retry-period"):
        settings(leader_elect_retry_period=text)


def test_a_word_that_is_no_boolean_is_refused() -> None:
    with pytest.raises(InputError, match="--leader-elect: 'maybe' is neither true nor false"):
        settings(leader_elect="maybe")


def pod(name: str) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}}


def placed(cluster: InMemoryCluster) -> set[str]:
    return {each.name for each in cluster.list("Pod") if each.spec.node_name}


def test_a_standby_follows_and_a_leader_schedules() -> None:
    cluster = InMemoryCluster()
    room = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    cluster.create({"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": room}})
    leadership = Leadership(None, ElectionSettings())  # type: ignore[arg-type]  # no election is joined
    bound, followed = threading.Event(), threading.Event()

    def on_event(event: Any) -> None:
        if event.kind == "Pod" and event.new is not None and event.new.spec.node_name:
            bound.set()

    cluster.watch(on_event, ("Pod",))
    with Scheduler(cluster) as scheduler:
        sync = scheduler.sync

        def noted() -> None:
            sync()
            followed.set()

        scheduler.sync = noted  # type: ignore[method-assign]
        thread = threading.Thread(target=leadership.drive, args=(scheduler,))
        thread.start()
        assert followed.wait(5)
        for name in "abc":
            followed.clear()
            cluster.create(pod(name))
            assert followed.wait(5)  # a standby takes in what happened at once
        assert placed(cluster) == set()
        leadership._changed(True)
        assert bound.wait(5)
        leadership._changed(False)
        followed.clear()
        cluster.create(pod("d"))
        assert followed.wait(5)
        leadership.end()
        thread.join(5)
        assert not thread.is_alive()
    assert placed(cluster) <= {"a", "b", "c"}


def test_without_an_election_it_schedules_until_it_is_ended() -> None:
    leadership = Leadership(None)  # type: ignore[arg-type]  # no election is joined
    assert leadership.wait_until_it_leads()
    cluster = InMemoryCluster()
    with Scheduler(cluster) as scheduler:
        thread = threading.Thread(target=leadership.drive, args=(scheduler,))
        thread.start()
        leadership.end()
        thread.join(5)
        assert not thread.is_alive()


def test_writes_without_the_lease_are_no_faults() -> None:
    refused = BindRefused("a was not bound")
    refused.__cause__ = NotLeading("no lease")
    assert is_for_want_of_the_lease(refused)
    assert is_for_want_of_the_lease(NotLeading("no lease"))
    assert not is_for_want_of_the_lease(BindRefused("a is gone"))
    assert not is_for_want_of_the_lease(None)
    cluster: Any = None  # it is not read here
    display = StatusDisplay(cluster, on_terminal=False)
    display.faulted(Status.from_error(refused), None)
    display.faulted(Status.from_error(BindRefused("b is gone")), None)
    assert display.faults == 1


def test_the_log_leaves_them_out() -> None:
    def record(error: Exception | None) -> logging.LogRecord:
        try:
            if error is not None:
                raise error
        except (NotLeading, BindRefused):
            return logging.LogRecord("x", logging.WARNING, "", 0, "m", (), sys.exc_info())
        return logging.LogRecord("x", logging.WARNING, "", 0, "m", (), None)

    shown = LeaseFilter().filter
    assert not shown(record(NotLeading("no lease")))
    assert shown(record(BindRefused("b is gone")))
    assert shown(record(None))
