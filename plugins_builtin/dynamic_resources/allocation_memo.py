"""Memo of searches: results for claims with equal requests, by device state of the node.

Pods made from one template have claims that differ in their names only. The search on a node depends on
the requests of the claims and on the node's state: what its pools offer, and which devices are in use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import Quantity, Status
from schedframe.api import DeviceClaim, DeviceRequest, ResourceClaim

from .allocation_results import score_of
from .inventory.node_pools import NodePool
from .search.demand import Demand, DeviceQuery
from .search.device_search import Pick, Picks

ERR_CANNOT_ALLOCATE: Final = "cannot allocate all claims"
ERR_INVALID_POOLS: Final = "invalid resource pools were encountered"
ERR_TIMED_OUT: Final = "timed out trying to allocate devices"

CANNOT_ALLOCATE: Final = Status.unresolvable(ERR_CANNOT_ALLOCATE)
INVALID_POOLS: Final = Status.unresolvable(ERR_INVALID_POOLS)
TIMED_OUT: Final = Status.unresolvable(ERR_TIMED_OUT)
STATUSES: Final = (CANNOT_ALLOCATE, INVALID_POOLS, TIMED_OUT)
"""Statuses of codes: code *k* stands for ``STATUSES[k - 1]``, code 0 for success."""
UNKNOWN: Final = -1
"""Code of a state that has not been searched yet."""

_TIMED_OUT_CODE: Final = STATUSES.index(TIMED_OUT) + 1
_MAX_KEYS: Final = 128
"""Keys with memos, those used last. A pod whose memo was dropped searches each state again."""
_MAX_MEMOS_PER_KEY: Final = 8
"""Memos of one key, which differ only in what a key leaves out; the oldest is dropped."""


@frozen(eq=False)
class _PickIndices:
    """A pick in index numbers, which hold on all nodes of a state and for all claims with equal requests."""

    request: int
    alternative: int
    pool: int
    device: int
    consumed: Mapping[str, Quantity]


@frozen(eq=False)
class MemoizedPicks:
    """The picks for each claim, in index numbers."""

    claims: tuple[tuple[_PickIndices, ...], ...]

    @classmethod
    def of(cls, demands: Sequence[Demand], picks: Picks, pools: Sequence[NodePool]) -> MemoizedPicks:
        """Return *picks* as indices into *demands* and *pools*; O(pools + their devices)."""
        pool_indices = {pool.id: index for index, pool in enumerate(pools)}

        def indices_of(queries: dict[DeviceQuery, tuple[int, int]], pick: Pick) -> _PickIndices:
            pool = pool_indices[pick.offered.id[:2]]
            device = pools[pool].devices.index(pick.offered)
            return _PickIndices(*queries[pick.query], pool, device, pick.consumed)

        return cls(
            tuple(
                tuple(indices_of(queries, pick) for pick in part)
                for queries, part in zip(map(_query_indices, demands), picks, strict=True)
            )
        )

    def picks(self, demands: Sequence[Demand], pools: Sequence[NodePool]) -> Picks:
        """Return the devices for claims with the same requests, on a node of the same state."""
        return [
            [
                Pick(
                    demand.choices[pick.request].queries[pick.alternative],
                    pools[pick.pool].devices[pick.device],
                    pick.consumed,
                )
                for pick in part
            ]
            for demand, part in zip(demands, self.claims, strict=True)
        ]

    def score(self, claims: Sequence[ResourceClaim]) -> int:
        """Return the score of the alternatives that were chosen."""
        return sum(
            score_of(claim, {_name(claim.spec.devices.requests[p.request], p.alternative) for p in part})
            for claim, part in zip(claims, self.claims, strict=True)
        )


def _query_indices(demand: Demand) -> dict[DeviceQuery, tuple[int, int]]:
    """Query → indices of its request and of its alternative."""
    return {
        query: (request, alternative)
        for request, choice in enumerate(demand.choices)
        for alternative, query in enumerate(choice.queries)
    }


def _name(request: DeviceRequest, alternative: int) -> str:
    parts = request.first_available
    return f"{request.name}/{parts[alternative].name}" if parts else request.name


@define(eq=False)
class AllocationMemo:
    """Results for all claims with equal requests, by state number; at least 12 bytes for each state."""

    device_claims: tuple[DeviceClaim, ...]
    classes_version: int
    """Version of the device classes."""
    epoch: int = -1
    """Epoch of the state numbers."""
    codes: npt.NDArray[np.int32] = field(factory=lambda: np.empty(0, np.int32))
    """State → 0 for success, *k* for ``STATUSES[k - 1]``, or UNKNOWN."""
    scores: npt.NDArray[np.int64] = field(factory=lambda: np.empty(0, np.int64))
    """State → score of the alternatives that were chosen."""
    picks: dict[int, MemoizedPicks] = field(factory=dict)
    """State → picks, of successes."""
    _has_timeouts: bool = False

    def fit(self, epoch: int, states: int) -> None:
        """Make room for *states* states; drop everything if they were renumbered."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.codes, self.scores = np.empty(0, np.int32), np.empty(0, np.int64)
            self.picks.clear()
        if states > len(self.codes):
            size = states + states // 4 + 32
            codes, scores = np.full(size, UNKNOWN, np.int32), np.zeros(size, np.int64)
            codes[: len(self.codes)], scores[: len(self.scores)] = self.codes, self.scores
            self.codes, self.scores = codes, scores

    def record(self, state: int, outcome: Status | MemoizedPicks, score: int) -> None:
        """Keep the result of a search."""
        if isinstance(outcome, Status):
            self.codes[state] = STATUSES.index(outcome) + 1
            self._has_timeouts = self._has_timeouts or outcome is TIMED_OUT
        else:
            self.codes[state] = 0
            self.scores[state] = score
            self.picks[state] = outcome

    def forget_timeouts(self) -> None:
        """Drop the searches that took too long: they may be fast enough for the next pod."""
        if self._has_timeouts:
            self._has_timeouts = False
            self.codes[self.codes == _TIMED_OUT_CODE] = UNKNOWN


@define(eq=False)
class AllocationMemos:
    """The memos used last; a look-up is O(size of the claims)."""

    _memos: OrderedDict[Hashable, list[AllocationMemo]] = field(factory=OrderedDict)

    def of(self, device_claims: tuple[DeviceClaim, ...], classes_version: int) -> AllocationMemo:
        """Return the memo of claims with these requests; it is made if there is none."""
        # Claims cannot be hashed because of their parameters for drivers; the key has what tells most apart.
        key = classes_version, tuple(_key_of(each) for each in device_claims)
        memos = self._memos.setdefault(key, [])
        self._memos.move_to_end(key)
        for memo in memos:
            if memo.device_claims == device_claims:
                return memo
        if len(memos) >= _MAX_MEMOS_PER_KEY:
            del memos[0]
        elif len(self._memos) > _MAX_KEYS:
            self._memos.popitem(last=False)
        memo = AllocationMemo(device_claims, classes_version)
        memos.append(memo)
        return memo


def _key_of(device_claim: DeviceClaim) -> Hashable:
    return tuple(
        (request.name, part.device_class_name, part.count, part.selectors)
        for request in device_claim.requests
        for part in (request.exactly, *request.first_available)
        if part is not None
    )
