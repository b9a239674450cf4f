"""DefaultBinder: calls to the cluster, and errors that reach the binding cycle."""

from __future__ import annotations

from typing import Any, cast

import pytest
from attrs import define, field

from plugins_builtin.default_binder import DefaultBinder
from schedframe import BindRefused, Handle
from schedframe.api import ObjectMeta, Pod

POD = Pod(ObjectMeta(name="p", uid="p"))


@define(eq=False)
class StandInCluster:
    problem: Exception | None = None
    bound: list[tuple[str, str]] = field(factory=list)

    def bind(self, pod: Pod, node_name: str) -> None:
        if self.problem is not None:
            raise self.problem
        self.bound.append((pod.key, node_name))


@define(eq=False)
class StandInHandle:
    cluster: StandInCluster


def binder(cluster: StandInCluster) -> DefaultBinder:
    return DefaultBinder(cast("Handle", cast("Any", StandInHandle(cluster))))


def test_it_binds_through_the_cluster() -> None:
    cluster = StandInCluster()
    binder(cluster).bind(POD, "n")
    assert cluster.bound == [("default/p", "n")]


def test_exceptions_of_the_cluster_reach_the_binding_cycle() -> None:
    refusal = BindRefused("bound elsewhere")
    with pytest.raises(BindRefused) as raised:
        binder(StandInCluster(refusal)).bind(POD, "n")
    assert raised.value is refusal


def test_no_event_is_registered() -> None:
    assert binder(StandInCluster()).events_to_register() == ()
