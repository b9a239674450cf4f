"""Amounts and counts at moments of a run, and the tables of nodes and samples."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..traces.columns import NONE, Array, ColumnTable, Ints, read_only
from ..traces.times import SECOND
from .history import History
from .spans import Spans

SAMPLES: Final = 1_000
"""Samples of a run if no distance is given."""


def default_distance(history: History) -> int:
    """Return the distance of :data:`SAMPLES` samples, in whole seconds."""
    return max(1, -(-history.end // (SAMPLES * SECOND))) * SECOND


def sampled(history: History, distance: int) -> ColumnTable:
    """Return the run at equal distances of time, after all events of each instant."""
    times = np.arange(0, history.end + 1, distance, dtype=np.int64)
    table: dict[str, Array] = {
        "time": times,
        "waiting": history.waits.open_at(times),
        "running": history.stints.open_at(times),
        "nodes": history.ups.open_at(times),
    }
    for index, resource in enumerate(history.trace.resources):
        table[f"allocated[{resource}]"] = allocated_at(history, index, times)
        table[f"allocatable[{resource}]"] = allocatable_at(history, index, times)
    return ColumnTable(read_only(table))


def allocated_at(history: History, resource: int, times: Ints) -> Ints:
    """Return what pods on nodes request of a resource at the end of each instant."""
    return _level_at(history.stints, history.trace.requests[history.stint_templates, resource], times)


def allocatable_at(history: History, resource: int, times: Ints) -> Ints:
    """Return what the nodes that are up have of a resource at the end of each instant."""
    template = history.trace.nodes["template"][history.ups.entity]
    return _level_at(history.ups, history.trace.allocatable[template, resource], times)


def _level_at(spans: Spans, amounts: Ints, times: Ints) -> Ints:
    """Return the sum of the amounts of spans that are open at the end of each instant."""
    total = np.zeros(len(times), np.int64)
    for moments, sign in ((spans.start, 1), (spans.stops(), -1)):
        order = np.argsort(moments, kind="stable")
        summed = np.concatenate([[0], np.cumsum(amounts[order])])
        total += sign * summed[np.searchsorted(moments[order], times, "right")]
    return total


def node_table(history: History) -> ColumnTable:
    """Return a row for each node."""
    count, ups = len(history.trace.nodes), history.ups
    first = np.unique(ups.entity, return_index=True)[1]
    joined, left = np.full(count, NONE, np.int64), np.full(count, NONE, np.int64)
    joined[ups.entity[first]] = ups.start[first]
    left[ups.entity] = np.where(ups.closed >= 0, ups.stop, NONE)  # the last span is written last
    up = np.zeros(count, np.int64)
    np.add.at(up, ups.entity, ups.stop - ups.start)
    table: dict[str, Array] = {
        "node": np.arange(count, dtype=np.int32),
        "name": history.trace.nodes["name"],
        "template": history.trace.nodes["template"],
        "joined": joined,
        "left": left,
        "up": up,
        "busy": busy(history, count),
        "pods": np.bincount(history.stint_nodes, minlength=count),
    }
    return ColumnTable(read_only(table), {}, frozenset({"joined", "left"}))


def busy(history: History, count: int) -> Ints:
    """Return for how long each node had at least one pod. O(stints log stints)."""
    stints, node = history.stints, history.stint_nodes
    nodes = np.concatenate([node, node])
    moments = np.concatenate([stints.start, stints.stop])
    steps = np.concatenate([np.ones(len(node), np.int64), -np.ones(len(node), np.int64)])
    order = np.lexsort((moments, nodes))
    nodes, moments = nodes[order], moments[order]
    level = np.cumsum(steps[order])[:-1]  # it is 0 behind the last moment of a node
    length = np.where((level > 0) & (nodes[1:] == nodes[:-1]), np.diff(moments), 0)
    result = np.zeros(count, np.int64)
    np.add.at(result, nodes[:-1], length)
    return result
