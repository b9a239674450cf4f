"""Parameters of a trace, for traces like it of any length and rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from .._base.checked import checked
from ..errors import InputError
from .columns import NONE, Array, Ints, ranks
from .generate import HOURS, TAIL, Kind, RunTimes, Workload
from .times import SECOND, UNITS
from .trace import Trace

MOST_KINDS: Final = 1_000
"""Kinds of job that are kept, the most common ones."""
ENOUGH: Final = 100
"""Jobs of a kind from which its run times are its own, and not those of all."""
_QUARTILE: Final = 0.6744897501960817
"""Deviations from the median of a normal distribution to its quartiles."""
_SHORTEST: Final = 1_000
"""Microseconds that a run time of 0 counts as in logarithms."""


@checked
def fit(trace: Trace) -> Workload:
    """Return the parameters with which :func:`generate` makes traces like this one.

    A job is a group of pods, or a pod without one; its kind is its template and its size. Jobs that arrive
    within a second of the one before are of its burst. The rhythm is that of the hours of arrival if the
    trace has two days or more. Run times are fitted by their quartiles, and the longest twentieth by Hill's
    estimator. Raises :class:`InputError` for fewer than two jobs.
    """
    first, size = _jobs(trace)
    if len(first) < 2:
        raise InputError("trace", f"it has {len(first)} jobs", "give a trace with at least two")
    submit, run = trace.pods["submit"][first], trace.pods["run"][first]
    owner = trace.pods["owner"][first]
    span = int(submit[-1] - submit[0])
    counts = np.sort(np.unique(owner[owner != NONE], return_counts=True)[1])[::-1]
    return Workload(
        kinds=_kinds(trace, first, size, run),
        rate=len(first) * UNITS["h"] / max(span, 1),
        burst=_burst(submit),
        rhythm=_rhythm(submit) if span >= 2 * UNITS["d"] else (),
        owners=max(1, len(counts)),
        skew=_skew(counts.tolist()),
    )


def run_times(runs: Ints) -> RunTimes | None:
    """Return the distribution of run times in microseconds; ``None`` if most of them never end."""
    ends = np.sort(runs[runs != NONE])
    if 2 * len(ends) < len(runs) or not len(ends):
        return None
    low, median, high, bound = (max(each, _SHORTEST) for each in ranks(ends, 0.25, 0.5, 0.75, TAIL))
    sigma = math.log(high / low) / (2 * _QUARTILE)
    above = [math.log(each / bound) for each in ends[ends > bound].tolist()]
    mean = math.fsum(above) / len(above) if above else 0.0
    longest = max(int(ends[-1]), _SHORTEST) / SECOND
    return RunTimes(median / SECOND, sigma, min(1 / mean, 100.0) if mean else 100.0, longest)


def _jobs(trace: Trace) -> tuple[Ints, Ints]:
    """Return the first row of each job, and the number of its pods."""
    group = trace.pods["group"].astype(np.int64)
    key = np.where(group == NONE, -1 - np.arange(len(group)), group)
    _, first, size = np.unique(key, return_index=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    return first[order].astype(np.int64), size[order].astype(np.int64)


def _kinds(trace: Trace, first: Ints, size: Ints, run: Ints) -> tuple[Kind, ...]:
    template = trace.pods["template"][first].astype(np.int64)
    group = trace.pods["group"][first]
    least = np.where(group == NONE, 1, trace.min_count[group] if len(trace.min_count) else 1)
    keys, kind, count = np.unique(
        np.stack([template, size, least], 1), axis=0, return_inverse=True, return_counts=True
    )
    kind = kind.reshape(-1)
    every = run_times(run)
    chosen = np.argsort(-count, kind="stable")[:MOST_KINDS]
    return tuple(
        Kind(
            trace.templates[int(keys[index, 0])],
            weight=float(count[index]),
            size=int(keys[index, 1]),
            min_count=int(keys[index, 2]),
            run=run_times(run[kind == index]) if count[index] >= ENOUGH else every,
        )
        for index in chosen.tolist()
    )


def _burst(submit: Array) -> float:
    """Return the mean size of the bursts: jobs divided by those that do not follow at once."""
    alone = 1 + int(np.count_nonzero(np.diff(submit) > SECOND))
    return len(submit) / alone


def _rhythm(submit: Array) -> tuple[float, ...]:
    """Return the share of the arrivals in each hour of the day, for whole days."""
    days = int(submit[-1]) // UNITS["d"]
    hours = submit[submit < days * UNITS["d"]] // UNITS["h"] % HOURS
    return tuple(map(float, np.bincount(hours, minlength=HOURS).tolist()))


def _skew(counts: Sequence[int]) -> float:
    """Return the exponent of ranks and *counts*, by least squares of logarithms that *counts* weigh."""
    if len(counts) < 2:
        return 0.0
    x = [math.log(rank + 1) for rank in range(len(counts))]
    y = [math.log(each) for each in counts]
    total = math.fsum(counts)
    mean_x = math.fsum(n * each for n, each in zip(counts, x, strict=True)) / total
    mean_y = math.fsum(n * each for n, each in zip(counts, y, strict=True)) / total
    above = math.fsum(n * (a - mean_x) * (b - mean_y) for n, a, b in zip(counts, x, y, strict=True))
    below = math.fsum(n * (a - mean_x) ** 2 for n, a in zip(counts, x, strict=True))
    return max(0.0, -above / below)
