"""The search for devices on one node: depth first, with backtracking, in a defined order.

The order is that of the claims in the pod, requests in the claim, alternatives in the request, and devices in
the pools. Within one request combinations of devices are tried, not permutations.
Source of the behaviour: k8s.io/dynamic-resource-allocation/structured (v1.36).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final, TypeAlias

from attrs import define, field, frozen

from schedframe import Node, Quantity

from ..inventory.device_content import TypedValue
from ..inventory.device_usage import DeviceUsage
from ..inventory.node_pools import NodePool
from ..inventory.offered_devices import DeviceId, OfferedDevice, PoolId
from .candidates import candidates
from .capacity import consumption, fits
from .constraints import Constraint, constraint_checks
from .demand import MAX_DEVICES_PER_CLAIM, AllocationError, Demand, DeviceQuery
from .pool_counters import PoolCounters

_STEPS_PER_CLOCK_CHECK: Final = 64
"""Devices to pick between two looks at the clock."""
_NOTHING: Final[Mapping[str, int]] = {}


class InvalidPools(Exception):
    """There is no solution, and some pool is invalid."""


class SearchTimeout(Exception):
    """The search exceeded its time limit."""


@frozen(eq=False)
class Pick:
    """One device for one request."""

    query: DeviceQuery
    offered: OfferedDevice
    consumed: Mapping[str, Quantity]
    """Of a shared device: the amount of each capacity that the request consumes."""


@define(eq=False)
class _RequestPlan:
    """A query before the search: how many devices, and from which to pick them."""

    count: int
    offers: list[OfferedDevice]
    takes_all: bool = False
    """Whether the query is for all offers."""
    selector_fails: bool = False
    """Whether a selector fails on one of the offers, which is an error if the search gets there."""
    selected: dict[int, bool] = field(factory=dict)
    """Index of an offer → whether the query selects it."""
    _indices: dict[str, dict[TypedValue | None, list[int]]] = field(factory=dict)

    def having(self, attribute: str, value: TypedValue, start: int) -> Sequence[int]:
        """Return the offers, by index from *start* on, whose attribute has that value."""
        by_value = self._indices.get(attribute)
        if by_value is None:
            by_value = self._indices[attribute] = {}
            for index, offered in enumerate(self.offers):
                by_value.setdefault(offered.content.typed(attribute), []).append(index)
        indices = by_value.get(value, [])
        return indices[bisect_left(indices, start) :]


Picks = list[list[Pick]]
"""The picks of each claim."""


_Part: TypeAlias = Generator["_Part | None", bool, bool]
"""One part of a search, see ``DeviceSearch._solve``; returns whether the limit of devices made it fail."""


@define(eq=False)
class DeviceSearch:
    """One search for devices on one node; ``run`` is called once.

    Exponential in the number of devices at worst, as in the reference, until *is_out_of_time* returns True.
    """

    demands: Sequence[Demand]
    node: Node
    pools: Sequence[NodePool]
    usage: DeviceUsage
    is_out_of_time: Callable[[], bool]
    picks: Picks = field(init=False)
    _pools: dict[PoolId, NodePool] = field(init=False)
    _plans: dict[DeviceQuery, _RequestPlan] = field(factory=dict)
    _constraints: list[tuple[Constraint, ...]] = field(init=False)
    _counters: dict[PoolId, PoolCounters] = field(factory=dict)
    _picked: dict[DeviceId, set[int]] = field(factory=dict)
    """Device → claims (by index) that picked it as a whole."""
    _shares: dict[DeviceId, int] = field(factory=dict)
    """Device → number of its shares that were picked."""
    _capacity: dict[DeviceId, dict[str, int]] = field(factory=dict)
    """Device → capacity → amount that its picked shares consume, in billionths."""
    _steps: int = 0

    def __attrs_post_init__(self) -> None:
        self.picks = [[] for _ in self.demands]
        self._pools = {pool.id: pool for pool in self.pools}
        self._constraints = [constraint_checks(demand.constraints) for demand in self.demands]

    def run(self) -> Picks | None:
        """Return the devices for each claim, ``None`` if there is no solution.

        Raises :class:`AllocationError`, :class:`InvalidPools` and :class:`SearchTimeout`.
        """
        for demand in self.demands:
            self._prepare(demand)
        if not self.demands or self._solve():
            return self.picks
        if any(pool.invalid for pool in self.pools):
            raise InvalidPools
        return None

    # ---- before the search -------------------------------------------------------------------------------

    def _prepare(self, demand: Demand) -> None:
        fewest = 0
        for choice in demand.choices:
            for query in choice.queries:
                self._plans[query] = self._plan(demand, query)
            fewest += min(self._plans[query].count for query in choice.queries)
        if fewest > MAX_DEVICES_PER_CLAIM:
            raise AllocationError(
                f"claim {demand.name}: number of requested devices {fewest} exceeds the claim limit of "
                f"{MAX_DEVICES_PER_CLAIM}"
            )

    def _plan(self, demand: Demand, query: DeviceQuery) -> _RequestPlan:
        if query.count is not None:
            available = [candidates(pool, query, self.usage) for pool in self.pools if pool.usable]
            offers = [device for each in available for device in each.devices]
            return _RequestPlan(
                query.count, offers, selector_fails=any(each.selector_fails for each in available)
            )
        devices: list[OfferedDevice] = []
        for pool in self.pools:
            if not pool.usable:
                problem = "being updated" if pool.incomplete else "invalid"
                raise AllocationError(
                    f"claim {demand.name}, request {query.own_name}: asks for all devices, but resource "
                    f"pool {pool.name} is currently {problem}"
                )
            devices += [offered for offered in pool.devices if self._is_allocatable(query, offered)]
        return _RequestPlan(len(devices), devices, takes_all=True)

    def _is_allocatable(self, query: DeviceQuery, offered: OfferedDevice) -> bool:
        return (
            query.selects(offered)
            and offered.is_for(self.node)
            and self._consumption(query, offered) is not None
        )

    # ---- the search --------------------------------------------------------------------------------------

    def _solve(self) -> bool:
        """Search depth first and return whether there is a solution, which is in ``picks`` then.

        The stack is a list because a pod may ask for more devices than Python functions can nest. A part of
        the search is a generator: it yields the part that comes next (``None`` if all devices are found) and
        is resumed when that part has failed, with whether the limit of devices was the cause.
        """
        waiting: list[_Part] = []
        current = self._find_request(0, 0)
        too_many: bool | None = None  # starts a generator
        while True:
            try:
                deeper = current.send(too_many)  # type: ignore[arg-type]  # declared for resuming only
            except StopIteration as end:
                if not waiting:
                    return False
                current, too_many = waiting.pop(), end.value
            else:
                if deeper is None:
                    return True
                waiting.append(current)
                current, too_many = deeper, None

    def _find_request(self, claim: int, request: int) -> _Part:
        """Find devices for that request and for all that follow."""
        choices = self.demands[claim].choices
        if request == len(choices):
            yield self._find_request(claim + 1, 0) if claim + 1 < len(self.demands) else None
            # The limit holds for each claim: fewer devices for this claim do not help the next one.
            return False
        too_many = True
        for query in choices[request].queries:
            too_many &= yield self._pick_devices((claim, request), query, 0, 0)
        return too_many

    def _pick_devices(self, place: tuple[int, int], query: DeviceQuery, picked: int, start: int) -> _Part:
        """Pick the devices after the first *picked* ones, from offer *start* on; then find what follows."""
        self._check_deadline()
        claim, request = place
        plan = self._plans[query]
        if plan.takes_all and not plan.offers:
            # A request for all devices fails where there are none.
            return False
        if len(self.picks[claim]) + plan.count - picked > MAX_DEVICES_PER_CLAIM:
            return True
        must = plan.takes_all
        is_last = picked + 1 == plan.count
        for index in self._candidate_indices(claim, query, plan, picked, start):
            offered = plan.offers[index]
            if not must and (
                self._in_use(claim, query, offered) or not self._is_selected(plan, query, index)
            ):
                continue
            if self._take(claim, query, offered, must=must):
                too_many = yield (
                    self._find_request(claim, request + 1)
                    if is_last
                    else self._pick_devices(place, query, picked + 1, index + 1)
                )
                self._put_back(claim)
                if too_many:
                    return True
        return False

    def _candidate_indices(
        self, claim: int, query: DeviceQuery, plan: _RequestPlan, picked: int, start: int
    ) -> Sequence[int]:
        """Return the offers to try, by index; those that a constraint rules out may be missing."""
        if plan.takes_all:
            return (picked,)
        if not plan.selector_fails:
            for constraint in self._constraints[claim]:
                value = constraint.required_value(query)
                if value is not None:
                    return plan.having(constraint.attribute, value, start)
        return range(start, len(plan.offers))

    def _is_selected(self, plan: _RequestPlan, query: DeviceQuery, index: int) -> bool:
        selected = plan.selected.get(index)
        if selected is None:
            offered = plan.offers[index]
            selected = plan.selected[index] = query.selects(offered) and offered.is_for(self.node)
        return selected

    def _check_deadline(self) -> None:
        self._steps += 1
        if self._steps % _STEPS_PER_CLOCK_CHECK == 0 and self.is_out_of_time():
            raise SearchTimeout

    # ---- one device --------------------------------------------------------------------------------------

    def _in_use(self, claim: int, query: DeviceQuery, offered: OfferedDevice) -> bool:
        picked = self._picked.get(offered.id)
        if query.admin:
            return picked is not None and claim in picked
        return bool(picked) or offered.id in self.usage.whole

    def _consumption(self, query: DeviceQuery, offered: OfferedDevice) -> dict[str, Quantity] | None:
        """Return what the query consumes of the device's capacities, ``None`` if too little is left."""
        id, capacity = offered.id, offered.device.capacity
        taken = consumption(query.capacity, capacity)
        if taken is None or not fits(
            taken, capacity, self.usage.consumed(id), self._capacity.get(id, _NOTHING)
        ):
            return None
        return taken

    def _take(self, claim: int, query: DeviceQuery, offered: OfferedDevice, *, must: bool = False) -> bool:
        """Pick the device if it is available; *must*: if it breaks a constraint, that is an error."""
        if self._in_use(claim, query, offered):
            return False
        constraints = self._constraints[claim]
        if not must and not all(constraint.allows(query, offered) for constraint in constraints):
            # Most devices that fail at all fail here, and the other checks cost more.
            return False
        taken = self._consumption(query, offered)
        if taken is None or not query.tolerates(offered) or not self._take_counters(offered):
            return False
        for number, constraint in enumerate(constraints):
            if not constraint.add(query, offered):
                for earlier in constraints[:number]:
                    earlier.remove(query)
                self._give_counters_back(offered)
                if must:
                    raise AllocationError(
                        f"claim {self.demands[claim].name}, request {query.own_name}: cannot add device "
                        f"{'/'.join(offered.id)} because a claim constraint would not be satisfied"
                    )
                return False
        if offered.shared:
            self._share(offered, taken, 1)
        else:
            self._picked.setdefault(offered.id, set()).add(claim)
        self.picks[claim].append(Pick(query, offered, taken if offered.shared else {}))
        return True

    def _put_back(self, claim: int) -> None:
        """Undo the last pick of the claim."""
        pick = self.picks[claim].pop()
        offered = pick.offered
        for constraint in self._constraints[claim]:
            constraint.remove(pick.query)
        if offered.shared:
            self._share(offered, pick.consumed, -1)
        else:
            self._picked[offered.id].discard(claim)
        self._give_counters_back(offered)

    def _share(self, offered: OfferedDevice, taken: Mapping[str, Quantity], step: int) -> None:
        self._shares[offered.id] = self._shares.get(offered.id, 0) + step
        sums = self._capacity.setdefault(offered.id, {})
        for name, amount in taken.items():
            sums[name] = sums.get(name, 0) + step * amount.nano

    def _take_counters(self, offered: OfferedDevice) -> bool:
        if not offered.consumes or self._has_shares(offered):
            return True
        pool = offered.id[0], offered.id[1]
        counters = self._counters.get(pool)
        if counters is None:
            counters = self._counters[pool] = PoolCounters.of(self._pools[pool], self.usage)
        return counters.take(offered)

    def _give_counters_back(self, offered: OfferedDevice) -> None:
        if offered.consumes and not self._has_shares(offered):
            self._counters[offered.id[0], offered.id[1]].give_back(offered)

    def _has_shares(self, offered: OfferedDevice) -> bool:
        """Return whether some claim has a share of the device, so that its counters are consumed already."""
        id = offered.id
        return offered.shared and (id in self.usage.shares or self._shares.get(id, 0) > 0)
