"""Pods keep the order in which they fail, alone or as a cohort."""

from __future__ import annotations

from schedframe import QueuedPodInfo
from schedframe.queue.together.moments import Moments, common_order

from .support import EPOCH, pod


def failed(place: int) -> QueuedPodInfo:
    return QueuedPodInfo(pod(f"p{place}"), EPOCH, place=place)


def test_pods_in_order_keep_their_places() -> None:
    moments = Moments()
    assert [moments.of(failed(place), EPOCH).shift for place in (1, 2, 5)] == [0, 0, 0]


def test_a_pod_out_of_order_goes_behind_the_others() -> None:
    moments = Moments()
    first, second = moments.of(failed(5), EPOCH), moments.of(failed(3), EPOCH)
    assert first.number == second.number
    assert 3 + second.shift > 5


def test_pods_of_a_range_of_places_keep_them() -> None:
    """Between the pods that are tried, those that are passed over fail, at places that are not known."""
    moments, order = Moments(), common_order(failed(1))
    assert moments.of_range(order, 3, 6, EPOCH).shift == 0
    assert moments.of(failed(7), EPOCH).shift == 0
    assert moments.of_range(order, 8, 12, EPOCH).shift == 0
    assert moments.of_range(order, 5, 6, EPOCH).shift == 8
