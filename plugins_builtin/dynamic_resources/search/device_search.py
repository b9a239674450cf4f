"""The search for devices on one node: the first solution in a defined order, with backtracking.

Claims in the order of the pod, requests in the order of the claim, alternatives in their order, devices in
the order of the pools. Within one request the order of devices plays no role, so only combinations are tried.
Source of the behaviour: k8s.io/dynamic-resource-allocation/structured (v1.36).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final, TypeAlias

from attrs import define, field, frozen

from schedframe import Node, Quantity

from ..inventory.device_content import TypedValue
from ..inventory.device_usage import Usage
from ..inventory.node_pools import NodePool
from ..inventory.offered_devices import DeviceId, OfferedDevice, PoolId
from .candidates import candidates
from .capacity import consumption, fits
from .constraints import Constraint, constraints_of
from .demand import MOST_DEVICES, AllocationError, Demand, Wanted
from .pool_counters import Counters

_STEPS_BETWEEN_LOOKS: Final = 64
_NOTHING: Final[Mapping[str, int]] = {}


class InvalidPools(Exception):
    """Nothing was found, and some pool contradicts itself."""


class OutOfTime(Exception):
    """The search took too long."""


@frozen(eq=False)
class Pick:
    """One device for one request."""

    wanted: Wanted
    offered: OfferedDevice
    consumed: Mapping[str, Quantity]
    """Of a shared device, what the request takes of each capacity."""


@define(eq=False)
class _Plan:
    """What is known of a request before the search."""

    number: int
    """Devices to pick."""
    offers: list[OfferedDevice]
    """Devices from which to pick."""
    takes_all: bool = False
    """Whether the request is for all of them."""
    doubtful: bool = False
    """Whether a selector fails for one of them."""
    selected: dict[int, bool] = field(factory=dict)
    """Place of a device among them → whether it will do."""
    _places: dict[str, dict[TypedValue | None, list[int]]] = field(factory=dict)

    def having(self, attribute: str, value: TypedValue, start: int) -> Sequence[int]:
        """Places from *start* on of the offers whose attribute has that value."""
        places = self._places.get(attribute)
        if places is None:
            places = self._places[attribute] = {}
            for place, offered in enumerate(self.offers):
                places.setdefault(offered.content.typed(attribute), []).append(place)
        found = places.get(value, [])
        return found[bisect_left(found, start) :]


Picks = list[list[Pick]]
"""Claim by claim."""


_Search: TypeAlias = Generator["_Search | None", bool, bool]
"""Part of a search, see :meth:`Search._solve`; returns whether it failed because of the limit of devices."""


@define(eq=False)
class Search:
    """Looks for devices on one node; good for one run.

    Exponential in the number of devices at worst, as the reference's: *out_of_time* may end it.
    """

    demands: Sequence[Demand]
    node: Node
    pools: Sequence[NodePool]
    usage: Usage
    out_of_time: Callable[[], bool]
    picks: Picks = field(init=False)
    _pools: dict[PoolId, NodePool] = field(init=False)
    _plans: dict[Wanted, _Plan] = field(factory=dict)
    _constraints: list[tuple[Constraint, ...]] = field(init=False)
    _counters: dict[PoolId, Counters] = field(factory=dict)
    _picked: dict[DeviceId, set[int]] = field(factory=dict)
    """Device → claims (by index) that pick it as a whole."""
    _shares: dict[DeviceId, int] = field(factory=dict)
    _capacity: dict[DeviceId, dict[str, int]] = field(factory=dict)
    _steps: int = 0

    def __attrs_post_init__(self) -> None:
        self.picks = [[] for _ in self.demands]
        self._pools = {pool.id: pool for pool in self.pools}
        self._constraints = [constraints_of(demand.constraints) for demand in self.demands]

    def run(self) -> Picks | None:
        """The devices for each claim, ``None`` if there are not enough.

        Raises :class:`AllocationError`, :class:`InvalidPools` and :class:`OutOfTime`.
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
        least = 0
        for choice in demand.choices:
            for wanted in choice.wanted:
                self._plans[wanted] = self._plan(demand, wanted)
            least += min(self._plans[wanted].number for wanted in choice.wanted)
        if least > MOST_DEVICES:
            raise AllocationError(
                f"claim {demand.name}: number of requested devices {least} exceeds the claim limit of "
                f"{MOST_DEVICES}"
            )

    def _plan(self, demand: Demand, wanted: Wanted) -> _Plan:
        if wanted.count is not None:
            there = [candidates(pool, wanted, self.usage) for pool in self.pools if pool.usable]
            offers = [device for each in there for device in each.devices]
            return _Plan(wanted.count, offers, doubtful=any(each.doubtful for each in there))
        devices: list[OfferedDevice] = []
        for pool in self.pools:
            if not pool.usable:
                problem = "being updated" if pool.incomplete else "invalid"
                raise AllocationError(
                    f"claim {demand.name}, request {wanted.own_name}: asks for all devices, but resource "
                    f"pool {pool.name} is currently {problem}"
                )
            devices += [offered for offered in pool.devices if self._will_do(wanted, offered)]
        return _Plan(len(devices), devices, takes_all=True)

    def _will_do(self, wanted: Wanted, offered: OfferedDevice) -> bool:
        return (
            wanted.selects(offered)
            and offered.is_for(self.node)
            and self._consumption(wanted, offered) is not None
        )

    # ---- the search --------------------------------------------------------------------------------------

    def _solve(self) -> bool:
        """Search depth first and return whether there is a solution, which is in ``picks`` then.

        The stack is a list because a pod may ask for more devices than Python functions can nest. A part of
        the search is a generator: it yields the part that comes next (``None`` if all devices are found) and
        is resumed when that part has failed, with whether the limit of devices was the cause.
        """
        waiting: list[_Search] = []
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

    def _find_request(self, claim: int, request: int) -> _Search:
        """Find devices for that request and for all that follow."""
        choices = self.demands[claim].choices
        if request == len(choices):
            yield self._find_request(claim + 1, 0) if claim + 1 < len(self.demands) else None
            # The limit holds for each claim: fewer devices for this claim do not help the next one.
            return False
        too_many = True
        for wanted in choices[request].wanted:
            too_many &= yield self._pick_devices((claim, request), wanted, 0, 0)
        return too_many

    def _pick_devices(self, place: tuple[int, int], wanted: Wanted, picked: int, start: int) -> _Search:
        """Pick what is missing beyond the first *picked* devices, from the offer *start* on; then go on."""
        self._check_deadline()
        claim, request = place
        plan = self._plans[wanted]
        if plan.takes_all and not plan.offers:
            # All devices where there are none is no success.
            return False
        if len(self.picks[claim]) + plan.number - picked > MOST_DEVICES:
            return True
        must = plan.takes_all
        is_last = picked + 1 == plan.number
        for index in self._candidate_indices(claim, wanted, plan, picked, start):
            offered = plan.offers[index]
            if not must and (
                self._in_use(claim, wanted, offered) or not self._is_selected(plan, wanted, index)
            ):
                continue
            if self._take(claim, wanted, offered, must=must):
                too_many = yield (
                    self._find_request(claim, request + 1)
                    if is_last
                    else self._pick_devices(place, wanted, picked + 1, index + 1)
                )
                self._put_back(claim)
                if too_many:
                    return True
        return False

    def _candidate_indices(
        self, claim: int, wanted: Wanted, plan: _Plan, picked: int, start: int
    ) -> Sequence[int]:
        """Return the offers to try, by index; those that a constraint rules out may be missing."""
        if plan.takes_all:
            return (picked,)
        if not plan.doubtful:
            for constraint in self._constraints[claim]:
                value = constraint.demands(wanted)
                if value is not None:
                    return plan.having(constraint.attribute, value, start)
        return range(start, len(plan.offers))

    def _is_selected(self, plan: _Plan, wanted: Wanted, index: int) -> bool:
        selected = plan.selected.get(index)
        if selected is None:
            offered = plan.offers[index]
            selected = plan.selected[index] = wanted.selects(offered) and offered.is_for(self.node)
        return selected

    def _check_deadline(self) -> None:
        self._steps += 1
        if self._steps % _STEPS_BETWEEN_LOOKS == 0 and self.out_of_time():
            raise OutOfTime

    # ---- one device --------------------------------------------------------------------------------------

    def _in_use(self, claim: int, wanted: Wanted, offered: OfferedDevice) -> bool:
        picked = self._picked.get(offered.id)
        if wanted.admin:
            return picked is not None and claim in picked
        return bool(picked) or offered.id in self.usage.whole

    def _consumption(self, wanted: Wanted, offered: OfferedDevice) -> dict[str, Quantity] | None:
        """What the request takes of the device's capacities, ``None`` if there is too little."""
        id, capacity = offered.id, offered.device.capacity
        taken = consumption(wanted.capacity, capacity)
        if taken is None or not fits(
            taken, capacity, self.usage.consumed(id), self._capacity.get(id, _NOTHING)
        ):
            return None
        return taken

    def _take(self, claim: int, wanted: Wanted, offered: OfferedDevice, *, must: bool = False) -> bool:
        """Pick the device if it can be had; *must* if nothing else will do."""
        if self._in_use(claim, wanted, offered):
            return False
        constraints = self._constraints[claim]
        if not must and not all(constraint.allows(wanted, offered) for constraint in constraints):
            # Most devices fail here, if any do; the rest costs more.
            return False
        taken = self._consumption(wanted, offered)
        if taken is None or not wanted.tolerates(offered) or not self._take_counters(offered):
            return False
        for number, constraint in enumerate(constraints):
            if not constraint.add(wanted, offered):
                for earlier in constraints[:number]:
                    earlier.remove(wanted)
                self._give_counters_back(offered)
                if must:
                    raise AllocationError(
                        f"claim {self.demands[claim].name}, request {wanted.own_name}: cannot add device "
                        f"{'/'.join(offered.id)} because a claim constraint would not be satisfied"
                    )
                return False
        if offered.shared:
            self._share(offered, taken, 1)
        else:
            self._picked.setdefault(offered.id, set()).add(claim)
        self.picks[claim].append(Pick(wanted, offered, taken if offered.shared else {}))
        return True

    def _put_back(self, claim: int) -> None:
        """Undo the last pick of the claim."""
        pick = self.picks[claim].pop()
        offered = pick.offered
        for constraint in self._constraints[claim]:
            constraint.remove(pick.wanted)
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
        if not offered.consumes or self._is_shared_out(offered):
            return True
        pool = offered.id[0], offered.id[1]
        counters = self._counters.get(pool)
        if counters is None:
            counters = self._counters[pool] = Counters.of(self._pools[pool], self.usage)
        return counters.take(offered)

    def _give_counters_back(self, offered: OfferedDevice) -> None:
        if offered.consumes and not self._is_shared_out(offered):
            self._counters[offered.id[0], offered.id[1]].give_back(offered)

    def _is_shared_out(self, offered: OfferedDevice) -> bool:
        """Whether others have shares of the device, and so it has taken from the counters already."""
        id = offered.id
        return offered.shared and (id in self.usage.shares or self._shares.get(id, 0) > 0)
