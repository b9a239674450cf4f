"""What claims ask for, in the one form that the search works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attrs import define, field, frozen

from schedframe import DeviceClass, PluginError, Quantity, ResourceClaim
from schedframe.api import (
    ALL_DEVICES,
    EXACT_COUNT,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
)

from ..cel.selector import CelError
from ..inventory.criteria import Terms, interned
from ..inventory.offered_devices import OfferedDevice

MOST_DEVICES: Final = 32
"""Devices of one claim at most; AllocationResultsMaxSize of the API."""

_UNLIMITED: Final[Mapping[str, Quantity]] = {}


class AllocationError(PluginError):
    """Something is wrong with a claim, a class or the slices: no node will do, and the cycle ends."""


@define(eq=False)
class Wanted:
    """One request, or one alternative of a request: so many devices like this."""

    request: str
    """Name of the request."""
    alternative: str
    """Name of the alternative; empty for a request that has none."""
    device_class: DeviceClass
    selectors: tuple[tuple[str, str], ...]
    """Whose it is, as in messages, and the expression; those of the class first."""
    count: int | None
    """``None``: all that there are."""
    admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: Mapping[str, Quantity]
    terms: Terms = field(init=False)

    def __attrs_post_init__(self) -> None:
        expressions = tuple(expression for _, expression in self.selectors)
        capacity = frozenset(self.capacity.items())
        self.terms = interned(Terms(expressions, self.tolerations, capacity, self.admin))

    @property
    def name(self) -> str:
        """As in allocations: with the request before the slash, if it is an alternative."""
        return f"{self.request}/{self.alternative}" if self.alternative else self.request

    @property
    def own_name(self) -> str:
        """As in messages."""
        return self.alternative or self.request

    def selects(self, offered: OfferedDevice) -> bool:
        """Whether all expressions hold for the device; :class:`AllocationError` if one fails."""
        for owner, expression in self.selectors:
            try:
                if not offered.matches(expression):
                    return False
            except CelError as error:
                raise AllocationError(f"{owner} on device {'/'.join(offered.id)}: {error}") from error
        return True

    def tolerates(self, offered: OfferedDevice) -> bool:
        """Whether no taint of the device keeps the claim away."""
        return all(self._tolerated(taint) for taint in offered.device.taints if taint.effect in _BLOCKING)

    def _tolerated(self, taint: DeviceTaint) -> bool:
        return any(toleration.tolerates(taint) for toleration in self.tolerations)


_BLOCKING: Final = ("NoSchedule", "NoExecute")


@frozen(eq=False)
class Choice:
    """One request of a claim: the first of these that can be had."""

    name: str
    wanted: tuple[Wanted, ...]
    is_choice: bool
    """Whether the claim gives alternatives."""


@define(eq=False)
class Demand:
    """A claim that is to be allocated."""

    claim: ResourceClaim
    choices: tuple[Choice, ...]
    constraints: tuple[DeviceConstraint, ...] = field(default=())

    @property
    def name(self) -> str:
        """``namespace/name``."""
        return self.claim.key


ClassOf = Callable[[str], DeviceClass | None]
"""The device class of that name."""


def demand_of(claim: ResourceClaim, class_of: ClassOf) -> Demand:
    """The demand of *claim*; :class:`AllocationError` for what nobody can allocate. O(requests)."""
    devices = claim.spec.devices
    for number, constraint in enumerate(devices.constraints):
        if constraint.match_attribute is None and constraint.distinct_attribute is None:
            raise AllocationError(f"claim {claim.key}, constraint #{number}: empty constraint")
    choices = tuple(_choice(claim, request, class_of) for request in devices.requests)
    return Demand(claim, choices, devices.constraints)


def _choice(claim: ResourceClaim, request: DeviceRequest, class_of: ClassOf) -> Choice:
    if request.first_available:
        wanted = tuple(_wanted(claim, request.name, part, class_of) for part in request.first_available)
        return Choice(request.name, wanted, True)
    if request.exactly is None:
        raise AllocationError(f"claim {claim.key}, request {request.name}: unknown request type")
    return Choice(request.name, (_wanted(claim, request.name, request.exactly, class_of),), False)


def _wanted(
    claim: ResourceClaim, request: str, asked: ExactDeviceRequest | DeviceSubRequest, class_of: ClassOf
) -> Wanted:
    alternative = asked.name if isinstance(asked, DeviceSubRequest) else ""
    where = f"claim {claim.key}, request {alternative or request}"
    device_class = class_of(asked.device_class_name)
    if device_class is None:
        raise AllocationError(
            f"{where}: could not retrieve device class {asked.device_class_name}: not found"
        )
    if asked.allocation_mode not in ("", EXACT_COUNT, ALL_DEVICES):
        raise AllocationError(f"{where}: unsupported count mode {asked.allocation_mode}")
    selectors = (
        *_selectors(f"class {device_class.name}", device_class.spec.selectors),
        *_selectors(f"claim {claim.key}", asked.selectors),
    )
    return Wanted(
        request,
        alternative,
        device_class,
        selectors,
        None if asked.allocation_mode == ALL_DEVICES else asked.count or 1,
        bool(getattr(asked, "admin_access", False)),
        asked.tolerations,
        asked.capacity.requests if asked.capacity is not None else _UNLIMITED,
    )


def _selectors(owner: str, selectors: tuple[DeviceSelector, ...]) -> list[tuple[str, str]]:
    found = []
    for number, selector in enumerate(selectors):
        where = f"{owner}: selector #{number}"
        if selector.cel is None:
            raise AllocationError(f"{where}: CEL expression empty (unsupported selector type?)")
        found.append((where, selector.cel.expression))
    return found
