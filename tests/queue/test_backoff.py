from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import QueuedPodInfo
from schedframe.queue import Pool
from schedframe.queue.backoff import BackoffQueues, micros

from .support import EPOCH, pod


def info(name: str = "p", at: float = EPOCH, *, rejections: int = 1, errors: int = 0) -> QueuedPodInfo:
    failed = QueuedPodInfo(pod(name), at)
    failed.attempts = rejections + errors
    failed.unschedulable_count, failed.error_count = rejections, errors
    failed.unschedulable_plugins = frozenset({"P"}) if not errors else frozenset()
    return failed


@given(st.integers(0, 10**9), st.integers(0, 10**10))
def test_time_is_exact_to_the_millisecond(milliseconds: int, wait: int) -> None:
    moment = EPOCH + milliseconds / 1000
    assert micros(moment) == int(EPOCH) * 10**6 + milliseconds * 1000
    assert micros(moment + wait / 1000) - micros(moment) == wait * 1000


@pytest.mark.parametrize(
    ("rejections", "errors", "seconds"),
    [
        (1, 0, 1),
        (2, 0, 2),
        (3, 0, 4),
        (4, 0, 8),
        (5, 0, 10),
        (5000, 0, 10),
        (5, 1, 1),
        (1, 3, 4),
        (0, 0, 0),
    ],
)
def test_doubles_with_each_failure_of_the_kind_up_to_the_maximum(
    rejections: int, errors: int, seconds: int
) -> None:
    backoff = BackoffQueues(1, 10)
    assert backoff.duration(info(rejections=rejections, errors=errors)) == seconds * 10**6


@pytest.mark.parametrize(
    ("after", "backing_off"), [(0.0, True), (3.999, True), (4.0, True), (4.999, True), (5.0, False)]
)
def test_a_pod_backs_off_to_the_end_of_the_second_of_its_expiry(after: float, backing_off: bool) -> None:
    backoff = BackoffQueues(1, 10)
    failed = info(at=EPOCH + 0.75, rejections=3)
    assert backoff.expiry(failed) == EPOCH + 4
    assert backoff.is_backing_off(failed, EPOCH + after) is backing_off
    assert backoff.wake_at(failed) == EPOCH + 5


def test_pods_that_never_failed_and_a_maximum_of_zero_mean_no_backoff() -> None:
    fresh = info(rejections=0)
    assert not BackoffQueues(1, 10).is_backing_off(fresh, EPOCH)
    assert not BackoffQueues(1, 0).is_backing_off(info(), EPOCH)


def test_pods_of_one_second_leave_in_the_order_of_the_queue() -> None:
    backoff = BackoffQueues(1, 10, sort_key=lambda i: (-i.pod.priority, i.timestamp))
    early, late = info("early", EPOCH + 0.1), info("late", EPOCH + 0.2)
    late.pod = pod("late", priority=5)
    other = info("other", EPOCH + 1.1)
    other.pod = pod("other", priority=9)
    for failed in (early, late, other):
        failed.pool = backoff.add(failed)
    assert [i.pod.name for i in backoff.rejected.sorted()] == ["late", "early", "other"]
    backoff.check_invariants()
    assert backoff.deadline() == EPOCH + 2
    assert list(backoff.pop_completed(EPOCH + 1.999)) == []
    assert [i.pod.name for i in backoff.pop_completed(EPOCH + 2)] == ["late", "early"]
    assert len(backoff) == 1


def test_the_same_by_less() -> None:
    backoff = BackoffQueues(1, 10, less=lambda one, other: one.pod.priority > other.pod.priority)
    for name, at, priority in (("a", 0.1, 0), ("b", 0.2, 5), ("c", 1.0, 9)):
        failed = info(name, EPOCH + at)
        failed.pod = pod(name, priority=priority)
        backoff.add(failed)
    assert [i.pod.name for i in backoff.rejected.sorted()] == ["b", "a", "c"]


def test_errors_wait_apart() -> None:
    backoff = BackoffQueues(1, 10)
    assert backoff.add(info("a", EPOCH + 1)) is Pool.BACKOFF
    assert backoff.add(info("b", errors=1)) is Pool.ERROR_BACKOFF
    assert [i.pod.name for i in backoff.members(Pool.ERROR_BACKOFF)] == ["b"]
    assert backoff.deadline() == EPOCH + 2
    assert [i.pod.name for i in backoff.pop_completed(EPOCH + 9)] == ["a", "b"]
    assert backoff.deadline() is None
