"""The measures of a run, as docs/reference/measures.md defines them. A test compares them with plain
loops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from ..traces.columns import NONE, Array, ColumnTable, Ints, ranks
from ..traces.figures import Named
from ..traces.times import SECOND, UNITS
from .fragmentation import shares
from .history import ENDED, REJECTED, RUNNING, History
from .owners import by_owner, capacity_time, jain, used_time
from .spans import RunEvent, sums_by

SHORTEST: Final = 10 * SECOND
"""Shorter work counts as this in slowdowns, since else the shortest pods decide all."""
RANKS: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


def measured(history: History, start: int, stop: int) -> Named:
    """Return all measures of a window by name, with their units. O(events log events)."""
    pods = history.pods
    counted = in_window(pods["submit"], start, stop, history.end)
    slowdown = slowdowns(history)
    figures: Named = dict(_counts(pods, counted))
    figures |= dict(_of_waits(pods, counted))
    figures |= dict(_of_slowdowns(slowdown[counted]))
    figures |= dict(_of_evictions(history, counted))
    figures |= dict(_over_time(history, start, stop))
    owners = by_owner(history, start, stop, counted, slowdown)
    if len(owners):
        figures["jain_share"] = (jain(owners["share"].tolist()), "")
        means = owners["slowdown"]
        figures["jain_slowdown"] = (jain(means[~np.isnan(means)].tolist()), "")
    return figures


def in_window(times: Ints, start: int, stop: int, end: int) -> Array:
    """Return which times are in a window; the last instant of the run belongs to one that reaches it."""
    return (times >= start) & ((times < stop) | (stop == end))


def slowdowns(history: History) -> Array:
    """Return the bounded slowdown of each pod, a lower bound for censored ones; NaN for those without one."""
    pods = history.pods
    work, state = pods["run"], pods["state"]
    so_far = history.end - pods["submit"]
    response = np.where(pods["start"] == NONE, so_far + work, np.maximum(so_far, pods["wait"] + work))
    response = np.where(state == RUNNING, np.maximum(so_far, pods["wait"] + work), response)
    response = np.where(state == ENDED, pods["end"] - pods["submit"], response)
    result: Array = np.maximum(response / np.maximum(work, SHORTEST), 1.0)
    result[(work == NONE) | (state == REJECTED)] = math.nan
    return result


def _counts(pods: ColumnTable, counted: Array) -> Iterator[tuple[str, tuple[float, str]]]:
    start, state = pods["start"][counted], pods["state"][counted]
    yield "pods", (len(start), "pods")
    yield "started", (int(np.count_nonzero(start != NONE)), "pods")
    yield "ended", (int(np.count_nonzero(state == ENDED)), "pods")
    yield "waiting", (int(np.count_nonzero((start == NONE) & (state != REJECTED))), "pods")
    yield "rejected", (int(np.count_nonzero(state == REJECTED)), "pods")


def _of_waits(pods: ColumnTable, counted: Array) -> Iterator[tuple[str, tuple[float, str]]]:
    waited = counted & (pods["state"] != REJECTED)
    wait = np.sort(pods["wait"][waited])
    if not len(wait):
        return
    total = sum(wait.tolist())
    yield "wait_mean", (total / len(wait) / SECOND, "s")
    for name, value in zip(RANKS, ranks(wait, *RANKS.values()), strict=True):
        yield f"wait_{name}", (value / SECOND, "s")
    plugins = pods.names["waited_for"]
    ids = pods["waited_for"][waited]
    blamed = ids != NONE
    sums = sums_by(ids[blamed], pods["wait"][waited][blamed], len(plugins))
    for plugin, time in sorted(zip(plugins, sums, strict=True)):
        yield f"wait_for[{plugin}]", (time / SECOND, "s")


def _of_slowdowns(slowdown: Array) -> Iterator[tuple[str, tuple[float, str]]]:
    values = np.sort(slowdown[~np.isnan(slowdown)]).tolist()
    if values:
        yield "slowdown_mean", (math.fsum(values) / len(values), "")
        for name in ("p50", "p99"):
            yield f"slowdown_{name}", (values[max(0, math.ceil(RANKS[name] * len(values)) - 1)], "")


def _of_evictions(history: History, counted: Array) -> Iterator[tuple[str, tuple[float, str]]]:
    is_counted = np.zeros(len(history.trace), bool)
    is_counted[history.pods["pod"][counted]] = True
    stints = history.stints
    closed = stints.closed[(stints.closed >= 0) & is_counted[stints.entity]]
    kinds = history.events["event"][closed]
    yield "evictions", (int(history.pods["evictions"][counted].sum()), "times")
    for kind in (RunEvent.PREEMPTED, RunEvent.LOST, RunEvent.DRAINED):
        yield kind.name.lower(), (int(np.count_nonzero(kinds == kind)), "times")
    yield "lost_work", (sum(history.pods["lost"][counted].tolist()) / SECOND, "s")


def _over_time(history: History, start: int, stop: int) -> Iterator[tuple[str, tuple[float, str]]]:
    trace, length = history.trace, max(stop - start, 1)
    there, used = capacity_time(history, start, stop), used_time(history, start, stop)
    for index, resource in enumerate(trace.resources):
        if there[index]:
            yield f"utilisation[{resource}]", (used[index] / there[index], "")
    for resource, (fragmented, stranded) in shares(history, start, stop).items():
        yield f"fragmentation[{resource}]", (fragmented, "")
        yield f"stranded[{resource}]", (stranded, "")
    for name, spans in (("running", history.stints), ("queue", history.waits)):
        yield f"{name}_mean", (sum(spans.within(start, stop).tolist()) / length, "pods")
        yield f"{name}_max", (spans.most(start, stop), "pods")
    ended = history.pods["end"][history.pods["state"] == ENDED]
    count = int(np.count_nonzero(in_window(ended, start, stop, history.end)))
    yield "throughput", (count * UNITS["h"] / length, "pods/h")
    template = trace.nodes["template"][history.ups.entity]
    up = sums_by(template, history.ups.within(start, stop), len(trace.node_templates))
    yield "node_hours", (sum(up) / UNITS["h"], "h")
    prices = [each.price for each in trace.node_templates]
    yield (
        "cost",
        (math.fsum(time / UNITS["h"] * price for time, price in zip(up, prices, strict=True)), "price"),
    )
    yield "makespan", (_makespan(history) / SECOND, "s")


def _makespan(history: History) -> int:
    pods = history.pods
    if not len(pods):
        return 0
    first = int(pods["submit"].min())
    is_over = np.isin(pods["state"], (ENDED, REJECTED)).all()
    return (int(pods["end"].max()) if is_over and (pods["end"] != NONE).any() else history.end) - first
