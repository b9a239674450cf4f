"""Generated traces: their distributions, that they stay the same, and that their parameters can be found."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from schedframe import InputError
from schedframe.traces import Kind, NodeTemplate, PodTemplate, RunTimes, Trace, Workload, fit, generate

HOUR = 3_600_000_000
SMALL = Kind(PodTemplate({"cpu": 1000}), weight=3.0)
GANG = Kind(PodTemplate({"cpu": 4000, "gpu": 1}), size=4, min_count=3, run=RunTimes(3600.0, 0.5, 1.5))
RHYTHM = tuple(4.0 if 8 <= hour < 20 else 1.0 for hour in range(24))
WORKLOAD = Workload((SMALL, GANG), rate=200.0, burst=2.5, rhythm=RHYTHM, owners=12, skew=1.2)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return generate(WORKLOAD, "20d", seed=3, nodes=[(3, NodeTemplate({"cpu": 8000}))])


def test_the_same_trace_in_each_version(trace: Trace) -> None:
    """The digest changes only if the generator is changed on purpose."""
    assert generate(WORKLOAD, "20d", seed=3).pods["submit"].tolist() == trace.pods["submit"].tolist()
    assert generate(Workload((SMALL,), owners=2), "1h", seed=1).digest() == DIGEST


DIGEST = "b486b508fa25c4b5a94c9b577cb96feeb454f81e60c2fa8a90ee6ee648b25107"


def test_arrivals_have_rate_and_rhythm(trace: Trace) -> None:
    jobs = np.unique(
        np.where(trace.pods["group"] < 0, -1 - np.arange(len(trace)), trace.pods["group"]), return_index=True
    )[1]
    submit = trace.pods["submit"][jobs]
    assert abs(len(submit) / (20 * 24) / 200 - 1) < 0.05
    by_day = Counter((submit // HOUR % 24).tolist())
    day = sum(by_day[hour] for hour in range(8, 20))
    assert abs(day / (len(submit) - day) / 4 - 1) < 0.1
    assert (np.diff(trace.pods["submit"]) >= 0).all()
    assert trace.capacity() == {"cpu": 24_000, "gpu": 0}


def test_groups_and_owners(trace: Trace) -> None:
    groups = trace.pods["group"][trace.pods["group"] >= 0]
    assert set(np.bincount(groups).tolist()) == {4}
    assert set(trace.min_count.tolist()) == {3}
    counts = [count for _, count in Counter(trace.pods.decoded("owner")).most_common()]
    assert len(counts) == 12
    assert counts[0] > 4 * counts[-1]


def test_parameters_are_found_again(trace: Trace) -> None:
    found = fit(trace)
    assert abs(found.rate / 200 - 1) < 0.05
    assert abs(found.burst / 2.5 - 1) < 0.1
    assert abs(found.skew / 1.2 - 1) < 0.1
    assert found.owners == 12
    assert [(kind.size, kind.min_count) for kind in found.kinds] == [(1, 1), (4, 3)]
    assert abs(found.kinds[0].weight / found.kinds[1].weight / 3 - 1) < 0.1
    for before, after in zip(WORKLOAD.kinds, found.kinds, strict=True):
        assert before.run is not None and after.run is not None  # noqa: PT018
        assert abs(after.run.median / before.run.median - 1) < 0.1
        assert abs(after.run.sigma / before.run.sigma - 1) < 0.1
        assert abs(after.run.tail / before.run.tail - 1) < 0.3
    day, night = sum(found.rhythm[8:20]), sum(found.rhythm[:8]) + sum(found.rhythm[20:])
    assert abs(day / night / 4 - 1) < 0.1
    generate(found, "1d", seed=1)


def test_run_times_join_their_tail() -> None:
    times = RunTimes(100.0, 1.0, 1.5, 10_000.0)
    ranks = [0.001, 0.5, 0.9499, 0.95, 0.9501, 0.999, 0.999999]
    values = [times.at(rank) for rank in ranks]
    assert values == sorted(values)
    assert values[1] == pytest.approx(100_000_000)
    assert values[4] / values[2] < 1.01
    assert values[-1] == 10_000_000_000
    assert RunTimes(5.0, 0.0).at(0.99) == 5_000_000


def test_endless_pods_stay_endless() -> None:
    trace = generate(Workload((Kind(PodTemplate(), run=None),)), "1d")
    assert set(trace.pods["run"].tolist()) == {-1}
    assert fit(trace).kinds[0].run is None


def test_wrong_parameters_are_refused() -> None:
    for call, message in (
        (lambda: Workload(()), "kinds: there is none"),
        (lambda: Workload((SMALL,), rate=0.0), "rate: 0.0 is not above 0"),
        (lambda: Workload((SMALL,), burst=0.5), "burst: 0.5 is below 1"),
        (lambda: Workload((SMALL,), rhythm=(1.0,)), "rhythm: 1 weights; give 24"),
        (lambda: generate(WORKLOAD, "later"), "length: 'later' is not a span of time"),
        (lambda: fit(generate(WORKLOAD, "0s")), "trace: it has 0 jobs"),
        (lambda: RunTimes(math.nan), "median: nan is not a finite number"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_a_trace_takes_the_nodes_of_another_one(trace: Trace, tmp_path: Path) -> None:
    other = generate(Workload((SMALL,)), "1h").with_nodes(trace)
    assert other.capacity() == {"cpu": 24_000}
    assert len(other.nodes) == 3
