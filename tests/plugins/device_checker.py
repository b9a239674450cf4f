"""Rules of device allocation in terms of API objects alone: nothing of the plugin is used.

One node, whose pool has devices in one slice and perhaps counters in another. Selectors come as Python
predicates. Amounts are in billionths.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from schedframe.api import ALL_DEVICES, Device, DeviceRequest, ResourceClaim, ResourceSlice

Predicates = Mapping[str, Callable[[Device], bool]]
"""CEL expression → the same predicate in Python."""


class Given(NamedTuple):
    """One device for one request."""

    request: str
    alternative: str
    device: str


Answer = list[list[Given]]
"""The answers of each claim, in the order of the requests."""


class Checker:
    """The rules of allocation, given the devices that other claims have as a whole."""

    def __init__(
        self,
        slices: Sequence[ResourceSlice],
        claims: Sequence[ResourceClaim],
        predicates: Predicates,
        taken: Collection[str],
    ) -> None:
        self.devices = {device.name: device for part in slices for device in part.spec.devices}
        self.claims, self.predicates, self.taken = claims, predicates, set(taken)
        self.counters = {
            (shared.name, name): counter.value.nano
            for part in slices
            for shared in part.spec.shared_counters
            for name, counter in shared.counters.items()
        }

    # ---- one device --------------------------------------------------------------------------------------

    def amounts(self, wanted: Any, device: Device) -> dict[str, int] | None:
        """Return what a request consumes of the device, ``None`` if it has less."""
        asked = wanted.capacity.requests if wanted.capacity is not None else {}
        if set(asked) - set(device.capacity):
            return None
        amounts = {name: (asked.get(name) or there.value).nano for name, there in device.capacity.items()}
        enough = all(amount <= device.capacity[name].value.nano for name, amount in amounts.items())
        return amounts if enough else None

    def suits(self, wanted: Any, device: Device) -> bool:
        """Return whether the device matches the request."""
        expressions = [selector.cel.expression for selector in wanted.selectors if selector.cel is not None]
        return (
            all(self.predicates[text](device) for text in expressions)
            and self.amounts(wanted, device) is not None
        )

    def tolerated(self, wanted: Any, device: Device) -> bool:
        keeping = [taint for taint in device.taints if taint.effect in ("NoSchedule", "NoExecute")]
        return all(any(each.tolerates(taint) for each in wanted.tolerations) for taint in keeping)

    def needed(self, wanted: Any) -> int:
        """Number of devices of a request; 0 cannot be satisfied."""
        if wanted.allocation_mode == ALL_DEVICES:
            return sum(self.suits(wanted, device) for device in self.devices.values())
        return wanted.count or 1

    # ---- an answer ---------------------------------------------------------------------------------------

    def problem(self, answer: Answer) -> str | None:
        """Return what is wrong with *answer*, ``None`` if it is valid."""
        shared_amounts: Tally[tuple[str, str]] = Tally()
        holders: dict[str, set[int]] = {}
        for number, (claim, got) in enumerate(zip(self.claims, answer, strict=True)):
            served: list[str] = []
            for request in claim.spec.devices.requests:
                mine = [given for given in got if given.request == request.name]
                wanted = self.wanted(request, mine)
                if wanted is None or len(mine) != self.needed(wanted) or not mine:
                    return f"{claim.name}/{request.name} is not served: {mine}"
                if len({given.device for given in mine}) < len(mine):
                    return f"{claim.name}/{request.name} has a device twice"
                served += [given.device for given in mine]
                for given in mine:
                    device = self.devices[given.device]
                    if not self.suits(wanted, device) or not self.tolerated(wanted, device):
                        return f"{given} does not suit"
                    users = holders.setdefault(given.device, set())
                    admin = bool(getattr(wanted, "admin_access", False))
                    if given.device in self.taken and not admin:
                        return f"{given} belongs to another claim"
                    if device.allow_multiple_allocations:
                        for name, amount in (self.amounts(wanted, device) or {}).items():
                            shared_amounts[given.device, name] += amount
                    elif (number in users) if admin else users:
                        return f"{given} is given twice"
                    else:
                        users.add(number)
            if len(served) < len(got):
                return f"{claim.name} has more than it asks for"
            broken = self.broken_constraint(claim, got)
            if broken:
                return broken
        for (name, capacity), amount in shared_amounts.items():
            if amount > self.devices[name].capacity[capacity].value.nano:
                return f"{capacity} of {name} is exceeded"
        return self.exceeded_counter(answer)

    def wanted(self, request: DeviceRequest, mine: Sequence[Given]) -> Any | None:
        """Return the alternative that was served."""
        alternatives = {given.alternative for given in mine}
        if request.exactly is not None:
            return request.exactly if alternatives == {""} else None
        return next((part for part in request.first_available if {part.name} == alternatives), None)

    def broken_constraint(self, claim: ResourceClaim, got: Sequence[Given]) -> str | None:
        for constraint in claim.spec.devices.constraints:
            concerned = [g for g in got if not constraint.requests or g.request in constraint.requests]
            values = [self.devices[given.device].attributes.get("n") for given in concerned]
            if None in values:
                return "a device lacks the attribute of a constraint"
            if constraint.match_attribute is not None:
                if len(set(values)) > 1:
                    return "devices do not match"
                continue
            # The reference's limit: of several devices for a request the last one counts.
            last: dict[str, Any] = {}
            for given, value in zip(concerned, values, strict=True):
                if value in last.values():
                    return "devices are not distinct"
                last[given.request] = value
        return None

    def exceeded_counter(self, answer: Answer) -> str | None:
        left = dict(self.counters)
        picked = [given.device for got in answer for given in got]
        # Further claims on a shared device take nothing more from the counters.
        taking = [name for name in picked if not self.devices[name].allow_multiple_allocations]
        taking += {name for name in picked if self.devices[name].allow_multiple_allocations}
        if not any(self.devices[name].consumes_counters for name in taking):
            return None
        for name in [*taking, *self.taken]:
            for use in self.devices[name].consumes_counters:
                for counter, amount in use.counters.items():
                    left[use.counter_set, counter] -= amount.value.nano
        return "a counter is exceeded" if min(left.values()) < 0 else None

    # ---- every answer ------------------------------------------------------------------------------------

    def every_answer(self) -> Iterator[Answer]:
        """Yield all ways to give each request its number of matching devices, valid or not."""
        per_claim = [list(self._claim_answers(claim)) for claim in self.claims]
        for together in product(*per_claim):
            yield list(together)

    def _claim_answers(self, claim: ResourceClaim) -> Iterator[list[Given]]:
        ways = [list(self._request_answers(request)) for request in claim.spec.devices.requests]
        for together in product(*ways):
            yield [given for group in together for given in group]

    def _request_answers(self, request: DeviceRequest) -> Iterator[list[Given]]:
        choices: list[tuple[str, Any]] = [(part.name, part) for part in request.first_available]
        if request.exactly is not None:
            choices = [("", request.exactly)]
        for name, wanted in choices:
            able = [device.name for device in self.devices.values() if self.suits(wanted, device)]
            number = self.needed(wanted)
            if number:
                for group in combinations(able, number):
                    yield [Given(request.name, name, device) for device in group]
