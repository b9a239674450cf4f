"""Histograms of durations: percentiles, buckets with bounds, and threads."""

from __future__ import annotations

import math
import random
import sys
import threading
from bisect import bisect_left

import pytest

from schedframe.cycle.latency import BATCH, Distribution, Histogram, Histograms


@pytest.mark.parametrize("seed", range(5))
def test_percentiles_are_at_most_three_percent_off(seed: int) -> None:
    rng = random.Random(seed)
    durations = sorted(rng.lognormvariate(-8, 2) for _ in range(rng.choice([1, 2, 10, 999])))
    histogram = Histogram()
    for seconds in durations:
        histogram.add(seconds)
    latency = histogram.latency()
    assert latency.count == len(durations)
    assert latency.mean == pytest.approx(sum(durations) / len(durations))
    assert latency.max == durations[-1]
    for share, found in ((0.5, latency.p50), (0.9, latency.p90), (0.99, latency.p99)):
        expected = durations[-int(-share * len(durations) // 1) - 1]
        assert found == pytest.approx(expected, rel=0.03)


def test_threads_that_add_under_new_labels_lose_nothing() -> None:
    histograms, labels, threads = Histograms(), range(300), 4
    together = threading.Barrier(threads)

    def add() -> None:
        together.wait()
        for label in labels:
            histograms[label].add(1.0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        running = [threading.Thread(target=add) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert {histograms[label].latency().count for label in labels} == {threads}


def test_no_time_at_all_is_a_duration_too() -> None:
    histogram = Histogram()
    histogram.add(0.0)
    assert histogram.latency().p99 == 0.0


def test_a_bound_belongs_to_its_bucket() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 3.0):
        histogram.add(value)
    assert histogram.distribution() == Distribution((1.0, 2.0), (2, 2, 1), 8.0)
    assert histogram.distribution().cumulative() == [("1", 2), ("2", 4), ("+Inf", 5)]


@pytest.mark.parametrize("seed", range(5))
def test_durations_near_bounds_count_as_if_each_were_compared_with_all_bounds(seed: int) -> None:
    rng = random.Random(seed)
    bounds = tuple(sorted({rng.lognormvariate(-6, 3) for _ in range(rng.randint(1, 20))}))
    near = [math.nextafter(bound, towards) for bound in bounds for towards in (0.0, bound, math.inf)]
    others = [rng.lognormvariate(-6, 3) for _ in range(1000)]
    durations = [0.0, 1e-12, 1e9, *near, *others]
    rng.shuffle(durations)
    histogram = Histogram(bounds)
    for each in durations[:700]:
        histogram.append(each)
    for seconds in durations[700:]:
        histogram.add(seconds)
    expected = [0] * (len(bounds) + 1)
    for seconds in durations:
        expected[bisect_left(bounds, seconds)] += 1
    assert list(histogram.distribution().counts) == expected


def test_a_histogram_is_empty_until_a_duration_comes() -> None:
    """Whether it was counted already or not."""
    assert not Histogram()
    one, many = Histogram(), Histogram()
    one.add(0.5)
    many.append(0.5)
    assert one
    assert many
    assert one.latency().count == 1
    assert one, "all durations are counted now"


def test_a_total_has_the_durations_of_all_histograms() -> None:
    both = Histogram((0.1, 0.6))
    for seconds in (0.05, 0.5, 0.7, 0.1):
        both.add(seconds)
    assert both.distribution() == Distribution((0.1, 0.6), (2, 1, 1), pytest.approx(1.35))  # type: ignore[arg-type]  # it is only compared
    total = Histogram.total([both, both])
    assert (total.latency().count, total.latency().max) == (8, 0.7)


def test_durations_taken_later_count_when_there_are_many_or_somebody_reads() -> None:
    histogram = Histogram((1.0,))
    assert not histogram
    for seconds in (0.5, 2.0):
        histogram.append(seconds)
    assert histogram
    assert histogram.distribution() == Distribution((1.0,), (1, 1), 2.5)
    for _ in range(BATCH - 1):
        histogram.append(3.0)
    histogram.fold_if_full()
    assert len(histogram._new) == BATCH - 1
    histogram.append(3.0)
    histogram.fold_if_full()
    assert not histogram._new
    assert histogram.distribution().counts == (1, BATCH + 1)
