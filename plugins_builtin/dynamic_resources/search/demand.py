"""Requests of claims in the form that the search works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attrs import define, field, frozen

from schedframe import PluginError, Quantity
from schedframe.api import (
    ALL_DEVICES,
    EXACT_COUNT,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)

from ..cel.selector import CelError
from ..inventory.criteria import DeviceCriteria, interned
from ..inventory.offered_devices import OfferedDevice

MAX_DEVICES_PER_CLAIM: Final = 32
"""Most devices that a claim can have; AllocationResultsMaxSize of the API."""

_UNLIMITED: Final[Mapping[str, Quantity]] = {}


class AllocationError(PluginError):
    """A claim, a class or a slice is invalid: the scheduling cycle ends with an error."""


@define(eq=False)
class DeviceQuery:
    """One request, or one alternative of a request: a number of devices that match."""

    request: str
    """Name of the request."""
    alternative: str
    """Name of the alternative; empty for a request that has none."""
    device_class: DeviceClass
    selectors: tuple[tuple[str, str], ...]
    """Owner (as messages name it) and expression; those of the class come first."""
    count: int | None
    """``None`` for all devices."""
    admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: Mapping[str, Quantity]
    criteria: DeviceCriteria = field(init=False)

    def __attrs_post_init__(self) -> None:
        expressions = tuple(expression for _, expression in self.selectors)
        capacity = frozenset(self.capacity.items())
        self.criteria = interned(DeviceCriteria(expressions, self.tolerations, capacity, self.admin))

    @property
    def name(self) -> str:
        """The name in allocations: ``request``, or ``request/alternative``."""
        return f"{self.request}/{self.alternative}" if self.alternative else self.request

    @property
    def own_name(self) -> str:
        """The name in messages."""
        return self.alternative or self.request

    def selects(self, offered: OfferedDevice) -> bool:
        """Return whether all expressions hold for the device; :class:`AllocationError` if one fails."""
        for owner, expression in self.selectors:
            try:
                if not offered.matches(expression):
                    return False
            except CelError as error:
                raise AllocationError(f"{owner} on device {'/'.join(offered.id)}: {error}") from error
        return True

    def tolerates(self, offered: OfferedDevice) -> bool:
        """Return whether the request tolerates all taints that forbid scheduling."""
        return all(self._tolerated(taint) for taint in offered.device.taints if taint.effect in _BLOCKING)

    def _tolerated(self, taint: DeviceTaint) -> bool:
        return any(toleration.tolerates(taint) for toleration in self.tolerations)


_BLOCKING: Final = ("NoSchedule", "NoExecute")


@frozen(eq=False)
class Choice:
    """One request of a claim: the first of the queries that has a solution."""

    name: str
    queries: tuple[DeviceQuery, ...]


@define(eq=False)
class Demand:
    """A claim to allocate."""

    claim: ResourceClaim
    choices: tuple[Choice, ...]
    constraints: tuple[DeviceConstraint, ...] = field(default=())

    @property
    def name(self) -> str:
        """``namespace/name``."""
        return self.claim.key


ClassOf = Callable[[str], DeviceClass | None]
"""Returns the device class of that name."""


def demand_of(claim: ResourceClaim, class_of: ClassOf) -> Demand:
    """Return the demand of *claim*; :class:`AllocationError` if it is invalid. O(requests)."""
    devices = claim.spec.devices
    for number, constraint in enumerate(devices.constraints):
        if constraint.match_attribute is None and constraint.distinct_attribute is None:
            raise AllocationError(f"claim {claim.key}, constraint #{number}: empty constraint")
    choices = tuple(_choice(claim, request, class_of) for request in devices.requests)
    return Demand(claim, choices, devices.constraints)


def _choice(claim: ResourceClaim, request: DeviceRequest, class_of: ClassOf) -> Choice:
    if request.first_available:
        parts = request.first_available
        return Choice(request.name, tuple(_query(claim, request.name, part, class_of) for part in parts))
    if request.exactly is None:
        raise AllocationError(f"claim {claim.key}, request {request.name}: unknown request type")
    return Choice(request.name, (_query(claim, request.name, request.exactly, class_of),))


def _query(
    claim: ResourceClaim, request: str, part: ExactDeviceRequest | DeviceSubRequest, class_of: ClassOf
) -> DeviceQuery:
    alternative = part.name if isinstance(part, DeviceSubRequest) else ""
    where = f"claim {claim.key}, request {alternative or request}"
    device_class = class_of(part.device_class_name)
    if device_class is None:
        raise AllocationError(f"{where}: could not retrieve device class {part.device_class_name}: not found")
    if part.allocation_mode not in ("", EXACT_COUNT, ALL_DEVICES):
        raise AllocationError(f"{where}: unsupported count mode {part.allocation_mode}")
    selectors = (
        *_selectors(f"class {device_class.name}", device_class.spec.selectors),
        *_selectors(f"claim {claim.key}", part.selectors),
    )
    return DeviceQuery(
        request,
        alternative,
        device_class,
        selectors,
        None if part.allocation_mode == ALL_DEVICES else part.count or 1,
        bool(getattr(part, "admin_access", False)),
        part.tolerations,
        part.capacity.requests if part.capacity is not None else _UNLIMITED,
    )


def _selectors(owner: str, selectors: tuple[DeviceSelector, ...]) -> list[tuple[str, str]]:
    found = []
    for number, selector in enumerate(selectors):
        where = f"{owner}: selector #{number}"
        if selector.cel is None:
            raise AllocationError(f"{where}: CEL expression empty (unsupported selector type?)")
        found.append((where, selector.cel.expression))
    return found
