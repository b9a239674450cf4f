"""What was found for claims that ask for the same, kept by state of the node.

Pods made from one template have claims that differ in their names only. The search on a node depends on
what the claims ask for, and on the node's state: what its pools offer and what of it is in use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import Quantity, ResourceClaim, Status
from schedframe.api import DeviceClaim, DeviceRequest

from .allocation_results import score_of
from .inventory.node_pools import NodePool
from .search.demand import Demand, Wanted
from .search.device_search import Pick, Picks

ERR_CANNOT_ALLOCATE: Final = "cannot allocate all claims"
ERR_INVALID_POOLS: Final = "invalid resource pools were encountered"
ERR_TIMED_OUT: Final = "timed out trying to allocate devices"

CANNOT_ALLOCATE: Final = Status.unresolvable(ERR_CANNOT_ALLOCATE)
INVALID_POOLS: Final = Status.unresolvable(ERR_INVALID_POOLS)
TIMED_OUT: Final = Status.unresolvable(ERR_TIMED_OUT)
STATUSES: Final = (CANNOT_ALLOCATE, INVALID_POOLS, TIMED_OUT)
"""What code *k* stands for is at *k* - 1; code 0 is success."""
UNKNOWN: Final = -1
"""The code of a state that was not searched yet."""

_TIMED_OUT_CODE: Final = STATUSES.index(TIMED_OUT) + 1
_KEPT: Final = 128
"""Sketches whose shapes are kept, the ones used last."""
_ALIKE: Final = 8
"""Shapes kept of one sketch."""


@frozen(eq=False)
class _Place:
    """A pick with everything told by its place: good for all nodes of the state, and all claims alike."""

    choice: int
    """Request of the claim."""
    alternative: int
    pool: int
    device: int
    consumed: Mapping[str, Quantity]


@frozen(eq=False)
class Found:
    """Where the devices are, claim by claim."""

    places: tuple[tuple[_Place, ...], ...]

    @classmethod
    def of(cls, demands: Sequence[Demand], picks: Picks, pools: Sequence[NodePool]) -> Found:
        """In the terms of *demands* and *pools*; O(pools + devices of those picked from)."""
        numbers = {pool.id: number for number, pool in enumerate(pools)}
        asked = [
            {
                wanted: (number, place)
                for number, choice in enumerate(demand.choices)
                for place, wanted in enumerate(choice.wanted)
            }
            for demand in demands
        ]

        def place_of(wanted: dict[Wanted, tuple[int, int]], pick: Pick) -> _Place:
            pool = numbers[pick.offered.id[:2]]
            return _Place(*wanted[pick.wanted], pool, pools[pool].devices.index(pick.offered), pick.consumed)

        pairs = zip(asked, picks, strict=True)
        return cls(tuple(tuple([place_of(wanted, pick) for pick in part]) for wanted, part in pairs))

    def picks(self, demands: Sequence[Demand], pools: Sequence[NodePool]) -> Picks:
        """The devices themselves, for claims of the same shape on a node of the same state."""
        return [
            [
                Pick(
                    demand.choices[place.choice].wanted[place.alternative],
                    pools[place.pool].devices[place.device],
                    place.consumed,
                )
                for place in part
            ]
            for demand, part in zip(demands, self.places, strict=True)
        ]

    def score(self, claims: Sequence[ResourceClaim]) -> int:
        """How early the alternatives stand that were chosen."""
        return sum(
            score_of(claim, {_name(claim.spec.devices.requests[p.choice], p.alternative) for p in part})
            for claim, part in zip(claims, self.places, strict=True)
        )


def _name(request: DeviceRequest, alternative: int) -> str:
    parts = request.first_available
    return f"{request.name}/{parts[alternative].name}" if parts else request.name


@define(eq=False)
class Shape:
    """Results for all claims that ask for the same, by number of the state; 12 bytes a state and more."""

    asked: tuple[DeviceClaim, ...]
    classes: int
    """Version of the device classes."""
    epoch: int = -1
    """Of the numbers of the states."""
    codes: npt.NDArray[np.int32] = field(factory=lambda: np.empty(0, np.int32))
    """By state: 0 for success, *k* for ``STATUSES[k - 1]``, or UNKNOWN."""
    scores: npt.NDArray[np.int64] = field(factory=lambda: np.empty(0, np.int64))
    """By state, how early the alternatives stand that were chosen."""
    found: dict[int, Found] = field(factory=dict)
    """By state, for successes."""
    _timed_out: bool = False

    def fit(self, epoch: int, states: int) -> None:
        """Make room for so many states, and forget everything if they are numbered anew."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.codes, self.scores = np.empty(0, np.int32), np.empty(0, np.int64)
            self.found.clear()
        if states > len(self.codes):
            size = states + states // 4 + 32
            codes, scores = np.full(size, UNKNOWN, np.int32), np.zeros(size, np.int64)
            codes[: len(self.codes)], scores[: len(self.scores)] = self.codes, self.scores
            self.codes, self.scores = codes, scores

    def keep(self, state: int, outcome: Status | Found, score: int) -> None:
        """Remember what was found."""
        if isinstance(outcome, Status):
            self.codes[state] = STATUSES.index(outcome) + 1
            self._timed_out = self._timed_out or outcome is TIMED_OUT
        else:
            self.codes[state] = 0
            self.scores[state] = score
            self.found[state] = outcome

    def try_again(self) -> None:
        """Another pod asks: what took too long the last time may not do so now."""
        if self._timed_out:
            self._timed_out = False
            self.codes[self.codes == _TIMED_OUT_CODE] = UNKNOWN


@define(eq=False)
class Shapes:
    """The shapes used last; looking one up is O(size of the claims)."""

    _shapes: OrderedDict[Hashable, list[Shape]] = field(factory=OrderedDict)

    def of(self, asked: tuple[DeviceClaim, ...], classes: int) -> Shape:
        """The shape of claims that ask for this, made if need be."""
        # Claims cannot be hashed, for what they say to drivers: what tells most of them apart must do.
        key = classes, tuple(_sketch(each) for each in asked)
        alike = self._shapes.setdefault(key, [])
        self._shapes.move_to_end(key)
        for shape in alike:
            if shape.asked == asked:
                return shape
        if len(alike) >= _ALIKE:
            del alike[0]
        elif len(self._shapes) > _KEPT:
            self._shapes.popitem(last=False)
        shape = Shape(asked, classes)
        alike.append(shape)
        return shape


def _sketch(asked: DeviceClaim) -> Hashable:
    return tuple(
        (request.name, part.device_class_name, part.count, part.selectors)
        for request in asked.requests
        for part in (request.exactly, *request.first_available)
        if part is not None
    )
