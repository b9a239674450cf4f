"""Pods whose attempt takes long rest, wherever the queue has them when that turns out."""

from __future__ import annotations

import pytest

from schedframe.queue import PriorityQueue

from .support import EPOCH, NODE_ADD, ManualClock, fail, node, on, pod, queue

REST = 40


def rejected(clock: ManualClock) -> PriorityQueue:
    """A queue with a pod that waits for a node."""
    found = queue(clock, {"A": (on(NODE_ADD),)})
    found.add(pod())
    fail(found, "A")
    return found


def failed(clock: ManualClock) -> PriorityQueue:
    """A queue with a pod that backs off after an error."""
    found = queue(clock)
    found.add(pod())
    fail(found)
    return found


def active(clock: ManualClock) -> PriorityQueue:
    """A queue with a pod that is ready again."""
    found = failed(clock)
    found.activate([pod()])
    assert found.has_active()
    return found


def in_flight(clock: ManualClock) -> PriorityQueue:
    """A queue whose pod is being tried."""
    found = queue(clock)
    found.add(pod())
    assert found.pop() is not None
    return found


@pytest.mark.parametrize("made", [rejected, failed, active, in_flight])
def test_a_pod_rests_wherever_it_is(clock: ManualClock, made: object) -> None:
    assert callable(made)
    found = made(clock)
    until = int(EPOCH) + REST
    found.rest(pod(), until)
    if made is in_flight:
        (info,) = found.in_flight.infos()
        found.add_unschedulable(info, pod())
    found.check_invariants()
    found.move_all(NODE_ADD, None, node())
    clock.go_to(until)
    found.flush()
    assert found.pop() is None
    clock.go_to(until + 1)
    found.flush()
    assert found.pop() is not None
    found.check_invariants()


def test_pods_that_are_gone_do_not_rest(clock: ManualClock) -> None:
    found = failed(clock)
    found.rest(pod(uid="another"), int(EPOCH) + REST)
    found.rest(pod("another"), int(EPOCH) + REST)
    clock.advance(REST / 2)
    found.flush()
    assert found.pop() is not None
