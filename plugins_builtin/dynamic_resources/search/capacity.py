"""The share of a device's capacity that a request consumes.

Source of the rules: consumable_capacity.go of k8s.io/dynamic-resource-allocation. Of a capacity that a
request does not name it gets the default of the policy, or all of it. A requested amount is rounded up to one
that the policy allows.
"""

from __future__ import annotations

from collections.abc import Mapping

from schedframe import Quantity
from schedframe.api import BINARY_SI, CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity

Amounts = Mapping[str, Quantity]


def consumption(requests: Amounts, capacity: Mapping[str, DeviceCapacity]) -> dict[str, Quantity] | None:
    """Return the amount of each capacity that a request consumes, ``None`` if the device never fits.

    O(capacities).
    """
    if any(name not in capacity for name in requests):
        return None
    taken = {}
    for name, offered in capacity.items():
        amount = taken[name] = _amount(requests.get(name), offered)
        policy = offered.request_policy
        if policy is not None and not _allowed(amount, policy):
            return None
    return taken


def fits(
    taken: Amounts,
    capacity: Mapping[str, DeviceCapacity],
    allocated: Mapping[str, int],
    allocating: Mapping[str, int],
) -> bool:
    """Return whether enough is left beside what is allocated and what this search picked (in billionths)."""
    return all(
        amount.nano + allocated.get(name, 0) + allocating.get(name, 0) <= capacity[name].value.nano
        for name, amount in taken.items()
    )


def _amount(requested: Quantity | None, offered: DeviceCapacity) -> Quantity:
    policy = offered.request_policy
    if requested is None:
        return policy.default if policy is not None and policy.default is not None else offered.value
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _stepped(requested, policy.valid_range, policy.valid_range.min)
    return next((value for value in policy.valid_values if requested <= value), requested)


def _stepped(requested: Quantity, allowed: CapacityRequestPolicyRange, lowest: Quantity) -> Quantity:
    if requested < lowest:
        return lowest
    if allowed.step is None:
        return requested
    start, step = lowest.value(), allowed.step.value()
    return Quantity.of(start + -(-(requested.value() - start) // step) * step, BINARY_SI)


def _allowed(amount: Quantity, policy: CapacityRequestPolicy) -> bool:
    if policy.default is not None and amount == policy.default:
        return True
    allowed = policy.valid_range
    if allowed is not None:
        if allowed.max is not None and amount > allowed.max:
            return False
        if allowed.step is not None:
            start = allowed.min.value() if allowed.min is not None else 0
            return (amount.value() - start) % allowed.step.value() == 0
        return True
    return not policy.valid_values or amount in policy.valid_values
