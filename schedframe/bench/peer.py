"""What kube-scheduler does on the same templates, to stand beside our figures.

Pods per second, lowest and highest run: kube-scheduler v1.36.2, its core without an API server and with a
bind that does nothing, two cores of the machine of docs/performance-history.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Final

Rates = Mapping[int, tuple[float, float]]
"""Number of nodes → lowest and highest run."""

SAMPLING: Final[Mapping[str, Rates]] = {
    "basic": {500: (875, 1710), 5000: (890, 1020), 50_000: (170, 214)},
    "mixed-sizes": {500: (590, 1650), 5000: (740, 990)},
    "node-affinity": {500: (900, 1400), 5000: (730, 790)},
    "spread-preferred": {500: (1110, 1110), 5000: (360, 480)},
    "spread-required": {500: (1200, 1200), 5000: (360, 430)},
    "anti-affinity": {500: (790, 790), 5000: (190, 230)},
    "anti-affinity-preferred": {500: (730, 730), 5000: (260, 350)},
    "pod-affinity": {500: (510, 575), 5000: (250, 320)},
    "pod-affinity-preferred": {500: (800, 890), 5000: (430, 490)},
    "taints": {500: (1400, 1600), 5000: (690, 890)},
    "unschedulable-attempts": {500: (2050, 2050), 5000: (210, 260)},
    "preemption": {500: (350, 350), 5000: (55, 62)},
}
"""With its default sampling: from 5,000 nodes on, 10 % of them or less are scored."""

ALL_NODES: Final[Mapping[str, Rates]] = {
    "basic": {5000: (106, 106), 50_000: (10, 12)},
    "mixed-sizes": {5000: (125, 125)},
    "node-affinity": {5000: (110, 110)},
    "spread-preferred": {5000: (98, 98)},
    "spread-required": {5000: (107, 107)},
    "anti-affinity": {5000: (80, 99)},
    "anti-affinity-preferred": {5000: (92, 92)},
    "pod-affinity": {5000: (88, 88)},
    "pod-affinity-preferred": {5000: (80, 100)},
    "taints": {5000: (125, 125)},
    "unschedulable-attempts": {5000: (117, 240)},
    "preemption": {5000: (28, 61)},
}
"""All nodes scored, as we do."""


def typical(rates: tuple[float, float]) -> float:
    """The geometric mean of the lowest and the highest run."""
    return sqrt(rates[0] * rates[1])


def shown(rates: tuple[float, float] | None) -> str:
    """``890–1,020``, or one number where the runs agree; empty if nobody measured."""
    if rates is None:
        return ""
    low, high = rates
    return f"{low:,.0f}" if low == high else f"{low:,.0f}–{high:,.0f}"
