"""Free amounts that pods of the trace cannot use: fragmentation after Weng et al., and stranded amounts.

Nodes with equal free amounts and labels are evaluated once. Everything is integers, so the order does not
matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..traces import Trace
from ..traces.columns import Array, Ids, Ints
from .history import History

INSTANTS: Final = 50
"""Moments of a window at which the measures are taken."""
MOST_TYPES: Final = 256
"""Templates that count as types of pod, the most common ones."""
_STATES: Final = 4_096
"""States of nodes that are compared with the types at once."""
_FITS: Final = 2**62


def shares(history: History, start: int, stop: int) -> dict[str, tuple[float, float]]:
    """Return resource → means of fragmentation and stranded share over instants of the window.

    A resource of which nothing is free at any instant is left out.
    """
    types = _Types(history.trace)
    found: dict[int, list[tuple[float, float]]] = {}
    for index in range(INSTANTS):
        moment = start + (2 * index + 1) * (stop - start) // (2 * INSTANTS)
        for resource, pair in types.shares(*_free(history, moment)).items():
            found.setdefault(resource, []).append(pair)
    names = history.trace.resources
    return {names[resource]: (_mean(pairs, 0), _mean(pairs, 1)) for resource, pairs in sorted(found.items())}


def _mean(pairs: Sequence[tuple[float, float]], place: int) -> float:
    return math.fsum(pair[place] for pair in pairs) / len(pairs)


def _free(history: History, moment: int) -> tuple[Ints, Ids]:
    """Return the free amounts of the nodes that are up at a moment, and their templates."""
    trace, stints, ups = history.trace, history.stints, history.ups
    nodes = ups.entity[(ups.start <= moment) & (ups.stop > moment)]
    there = (stints.start <= moment) & (stints.stop > moment)
    used = np.zeros((len(trace.nodes), len(trace.resources)), np.int64)
    np.add.at(used, history.stint_nodes[there], trace.requests[history.stint_templates[there]])
    template = trace.nodes["template"][nodes]
    return np.maximum(trace.allocatable[template] - used[nodes], 0), template


class _Types:
    """The types of pod: requests, weights, and node templates that their labels allow."""

    def __init__(self, trace: Trace) -> None:
        template, count = np.unique(trace.pods["template"], return_counts=True)
        chosen = np.argsort(-count, kind="stable")[:MOST_TYPES]
        self._weight: Ints = count[chosen].astype(np.int64)
        self._requests: Ints = trace.requests[template[chosen]]
        self._total = int(self._weight.sum())
        labels = [each.labels for each in trace.node_templates]
        self._allowed = np.array(
            [
                [all(node.get(k) in v for k, v in trace.templates[index].only_on.items()) for node in labels]
                for index in template[chosen].tolist()
            ],
            bool,
        ).reshape(len(chosen), len(labels))

    def shares(self, free: Ints, template: Ids) -> dict[int, tuple[float, float]]:
        """Return fragmentation and stranded share by resource, of nodes with these free amounts."""
        states, count = np.unique(np.column_stack([free, template]), axis=0, return_counts=True)
        amounts, of = states[:, :-1], states[:, -1]
        wasted, stranded = self._wasted(amounts, of)
        found = {}
        for resource in range(amounts.shape[1]):
            total = _dot(count, amounts[:, resource])
            if total and self._total:
                bad = _dot(count * amounts[:, resource], wasted[:, resource])
                lost = _dot(count, np.where(stranded[:, resource], amounts[:, resource], 0))
                found[resource] = (bad / (total * self._total), lost / total)
        return found

    def _wasted(self, amounts: Ints, template: Array) -> tuple[Ints, Array]:
        """Return by state and resource: weight of the types that cannot use it, and whether that is all that
        ask."""
        asks = self._requests > 0
        wasted = np.zeros(amounts.shape, np.int64)
        stranded = np.zeros(amounts.shape, bool)
        for first in range(0, len(amounts), _STATES):
            part = slice(first, first + _STATES)
            fits = self._allowed[:, template[part]].T.copy()
            for resource in range(amounts.shape[1]):
                fits &= amounts[part, resource, None] >= self._requests[:, resource]
            for resource in range(amounts.shape[1]):
                uses = fits & asks[:, resource]
                wasted[part, resource] = self._total - uses @ self._weight
                stranded[part, resource] = ~uses.any(1)
        return wasted, stranded


def _dot(left: Ints, right: Ints) -> int:
    """Return the exact sum of products."""
    if len(left) and int(left.max()) * int(right.max()) * len(left) < _FITS:
        return int(left @ right)
    return sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))
