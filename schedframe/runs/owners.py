"""Shares, waiting times and slowdowns by owner."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..traces.columns import NONE, Array, ColumnTable, Ints, read_only
from ..traces.times import SECOND
from .history import REJECTED, History
from .spans import sums_by


def capacity_time(history: History, start: int, stop: int) -> list[int]:
    """Return by resource the integral over a window of what the nodes that are up have. Exact."""
    trace, ups = history.trace, history.ups
    count = len(trace.node_templates)
    up = sums_by(trace.nodes["template"][ups.entity], ups.within(start, stop), count)
    return _weighted(up, trace.allocatable)


def used_time(history: History, start: int, stop: int) -> list[int]:
    """Return by resource the integral over a window of what the pods on nodes request. Exact."""
    trace = history.trace
    busy = sums_by(history.stint_templates, history.stints.within(start, stop), len(trace.templates))
    return _weighted(busy, trace.requests)


def _weighted(times: Sequence[int], amounts: Ints) -> list[int]:
    return [
        sum(time * amount for time, amount in zip(times, amounts[:, index].tolist(), strict=True) if time)
        for index in range(amounts.shape[1])
    ]


def by_owner(history: History, start: int, stop: int, counted: Array, slowdown: Array) -> ColumnTable:
    """Return a row for each owner of *counted* pods; *slowdown* is NaN for pods without one."""
    pods = history.pods
    owner = pods["owner"][counted]
    ids = np.unique(owner[owner != NONE])
    waits, slow = pods["wait"][counted], slowdown[counted]
    waited = pods["state"][counted] != REJECTED
    rows = []
    share = _dominant(history, start, stop)
    for each in ids.tolist():
        mine = owner == each
        wait, slowed = waits[mine & waited].tolist(), slow[mine & ~np.isnan(slow)].tolist()
        mean = math.fsum(wait) / len(wait) / SECOND if wait else math.nan
        rows.append((int(mine.sum()), share.get(each, 0.0), mean, _mean(slowed)))
    columns = np.array(rows, np.float64).reshape(-1, 4)
    table: dict[str, Array] = {
        "owner": ids.astype(np.int32),
        "pods": columns[:, 0].astype(np.int64),
        "share": columns[:, 1].copy(),
        "wait": columns[:, 2].copy(),
        "slowdown": columns[:, 3].copy(),
    }
    return ColumnTable(read_only(table), {"owner": history.trace.pods.names.get("owner", ())})


def _dominant(history: History, start: int, stop: int) -> dict[int, float]:
    """Return owner → the largest of its shares of the resources of the cluster."""
    trace, stints = history.trace, history.stints
    owner = trace.pods["owner"][stints.entity].astype(np.int64)
    count = len(trace.templates)
    keys, inverse = np.unique(owner * count + history.stint_templates, return_inverse=True)
    times = sums_by(inverse, stints.within(start, stop), len(keys))
    used: dict[int, list[int]] = {}
    for key, time in zip(keys.tolist(), times, strict=True):
        amounts = used.setdefault(key // count, [0] * len(trace.resources))
        for index, amount in enumerate(trace.requests[key % count].tolist()):
            amounts[index] += amount * time
    there = capacity_time(history, start, stop)
    return {
        owner: max((amount / all_ for amount, all_ in zip(amounts, there, strict=True) if all_), default=0.0)
        for owner, amounts in used.items()
    }


def jain(values: Sequence[float]) -> float:
    """Return Jain's index: 1 if all *values* are equal, 1/n if one is all; 1 without any above 0."""
    squares = math.fsum(each * each for each in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares else 1.0


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
