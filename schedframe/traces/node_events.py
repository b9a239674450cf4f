"""Events of nodes, and failures drawn for each node."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from .columns import Array, Ids, Ints
from .draws import Draws, exponential


class NodeEvent(IntEnum):
    """Event of a node."""

    JOIN = 0
    """The node takes pods from now on."""
    DRAIN = 1
    """Its pods are evicted, and it leaves."""
    FAIL = 2
    """It is lost with the work of its pods."""
    REPAIRED = 3
    """It is back, empty."""


def failures(joined: Ints, nodes: Ids, spans: tuple[int, int, int], draws: Draws) -> dict[str, Array]:
    """Return failures and repairs of nodes from when they joined on, until an end."""
    mean, mend, end = spans
    found: list[tuple[int, int, int]] = []
    for time, node in zip(joined.tolist(), nodes.tolist(), strict=True):
        number, now = 0, time
        while (now := now + _drawn(draws, node, "failure", number, mean)) < end:
            found.append((now, node, NodeEvent.FAIL))
            now += _drawn(draws, node, "repair", number, mend)
            found.append((now, node, NodeEvent.REPAIRED))
            number += 1
    table = np.array(found, np.int64).reshape(-1, 3)
    kinds = {"time": np.int64, "node": np.int32, "event": np.int8}
    return {name: table[:, place].astype(kind) for place, (name, kind) in enumerate(kinds.items())}


def _drawn(draws: Draws, node: int, purpose: str, number: int, mean: int) -> int:
    """Return a time of the exponential distribution, at least a microsecond."""
    return max(1, round(exponential(draws.uniform_of(node, purpose, number)) * mean))
