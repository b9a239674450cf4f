"""How much of a device's capacity a request takes.

Source of the rules: consumable_capacity.go of k8s.io/dynamic-resource-allocation. What a request leaves open
is the policy's default, or all there is; what it asks for is rounded up to what the policy allows.
"""

from __future__ import annotations

from collections.abc import Mapping

from schedframe import Quantity
from schedframe.api import BINARY_SI, CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity

Amounts = Mapping[str, Quantity]


def consumption(requests: Amounts, capacity: Mapping[str, DeviceCapacity]) -> dict[str, Quantity] | None:
    """What a request takes of each capacity, ``None`` if the device cannot give it at all.

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
    """Whether there is as much left, given what (in billionths) others have and what is being allocated."""
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
