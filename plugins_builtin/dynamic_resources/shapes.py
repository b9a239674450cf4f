"""What the search found on a node for claims like these, kept while nothing there changes.

Pods made from one template have claims that differ in their names only. The search on a node depends on
what the claims ask for, on the pools that concern the node and on what of these pools is in use; where all
that is as it was, so is the result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from attrs import define, field, frozen

from schedframe import DeviceClaim, Status

from .allocator import Picks
from .pools import NodePool
from .requests import Demand
from .usage import Usage

_KEPT: Final = 32
"""Shapes kept at most, the ones used last."""


@frozen(eq=False)
class _Found:
    pools: Sequence[NodePool]
    stamps: tuple[int, ...]
    outcome: Picks | Status


@define(eq=False)
class Shape:
    """Results for all claims that ask for the same; O(pools of the node) each."""

    asked: tuple[DeviceClaim, ...]
    classes: int
    """Version of the device classes."""
    _nodes: dict[str, _Found] = field(factory=dict)

    def recall(self, node_name: str, pools: Sequence[NodePool], usage: Usage) -> Picks | Status | None:
        """What was found on the node, ``None`` if that is not known or something changed."""
        found = self._nodes.get(node_name)
        if found is None or found.pools is not pools or found.stamps != _stamps(pools, usage):
            return None
        return found.outcome

    def keep(self, node_name: str, pools: Sequence[NodePool], usage: Usage, outcome: Picks | Status) -> None:
        """Remember what was found."""
        self._nodes[node_name] = _Found(pools, _stamps(pools, usage), outcome)


@define(eq=False)
class Shapes:
    """The shapes used last; looking one up is O(shapes x size of the claims)."""

    _shapes: deque[Shape] = field(factory=lambda: deque(maxlen=_KEPT))

    def of(self, demands: Sequence[Demand], classes: int) -> Shape:
        """The shape of these demands, made if need be."""
        asked = tuple(demand.claim.spec.devices for demand in demands)
        for shape in self._shapes:
            if shape.classes == classes and shape.asked == asked:
                self._shapes.remove(shape)
                self._shapes.appendleft(shape)
                return shape
        shape = Shape(asked, classes)
        self._shapes.appendleft(shape)
        return shape


def _stamps(pools: Sequence[NodePool], usage: Usage) -> tuple[int, ...]:
    changes = usage.changes
    return tuple([changes.get(pool.id, 0) for pool in pools])
