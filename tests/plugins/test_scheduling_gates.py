"""SchedulingGates: pods with gates stay out of the queue."""

from __future__ import annotations

from plugins_builtin.scheduling_gates import REASON_PREFIX, SchedulingGates
from schedframe.api import ObjectMeta, Pod, PodSpec
from schedframe.framework import Status
from schedframe.queue import Action, ClusterEvent, EventResource
from tests.plugins.events import hint_of

PLUGIN = SchedulingGates()
GATES_GONE = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)


def pod(*gates: str, uid: str = "u") -> Pod:
    return Pod(ObjectMeta(name=uid, uid=uid), PodSpec(scheduling_gates=gates))


def test_a_pod_without_gates_may_enter() -> None:
    assert PLUGIN.pre_enqueue(pod()) is None


def test_the_reason_lists_the_gates_in_order() -> None:
    expected = Status.unresolvable(f"{REASON_PREFIX}[b example.com/quota a]")
    assert PLUGIN.pre_enqueue(pod("b", "example.com/quota", "a")) == expected


def test_removing_its_last_gate_queues_the_pod() -> None:
    assert hint_of(PLUGIN, GATES_GONE, pod("a"), pod("a"), pod())


def test_removing_gates_of_another_pod_does_not() -> None:
    assert not hint_of(PLUGIN, GATES_GONE, pod("a"), pod("a", uid="other"), pod(uid="other"))
