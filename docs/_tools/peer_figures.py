"""Figures of kube-scheduler on the same templates, for the tables and the plot of docs/performance.md.

Pods per second, lowest and highest run: the core of kube-scheduler v1.36.2 without an API server, two threads
on both cores of the machine of docs/performance-history.md. That page describes the measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Final

Rates = Mapping[int, tuple[float, float]]
"""Number of nodes → lowest and highest run."""

SAMPLING: Final[Mapping[str, Rates]] = {
    "basic": {500: (1647, 1650), 5000: (861, 934), 50_000: (215, 219)},
    "mixed-sizes": {500: (1658, 1893), 5000: (900, 933)},
    "node-affinity": {500: (1570, 1591), 5000: (742, 800)},
    "spread-preferred": {500: (1115, 1259), 5000: (498, 523)},
    "spread-required": {500: (1048, 1158), 5000: (424, 440)},
    "anti-affinity": {500: (681, 885), 5000: (263, 285)},
    "anti-affinity-preferred": {5000: (193, 201)},
    "pod-affinity": {500: (563, 648), 5000: (173, 177)},
    "pod-affinity-preferred": {5000: (193, 199)},
    "taints": {500: (1337, 1587), 5000: (692, 754)},
    "unschedulable-attempts": {500: (1447, 1709), 5000: (215, 237)},
    "preemption": {500: (234, 269), 5000: (70, 75)},
}
"""kube-scheduler with its default sampling: from 5,000 nodes on, at most 10 % of them are scored."""

ALL_NODES: Final[Mapping[str, Rates]] = {
    "basic": {500: (896, 1031), 5000: (120, 140), 50_000: (13, 13)},
    "mixed-sizes": {5000: (134, 135)},
    "node-affinity": {5000: (112, 118)},
    "spread-preferred": {5000: (107, 112)},
    "spread-required": {5000: (113, 121)},
    "anti-affinity": {5000: (109, 121)},
    "anti-affinity-preferred": {5000: (83, 87)},
    "pod-affinity": {5000: (76, 81)},
    "pod-affinity-preferred": {5000: (79, 88)},
    "taints": {5000: (122, 139)},
    "unschedulable-attempts": {5000: (212, 225)},
    "preemption": {5000: (72, 78)},
}
"""kube-scheduler with all nodes scored, as schedframe does."""


def typical(rates: tuple[float, float]) -> float:
    """Return the geometric mean of the lowest and the highest run."""
    return sqrt(rates[0] * rates[1])


def shown(rates: tuple[float, float] | None) -> str:
    """Return ``890–1,020``, one number if the runs agree, and an empty text for ``None``."""
    if rates is None:
        return ""
    low, high = rates
    return f"{low:,.0f}" if low == high else f"{low:,.0f}–{high:,.0f}"
