"""Constraints on the devices of a claim: attributes that must be equal, or must differ.

Both kinds are those of the reference, with its limit: of several devices for one request, a distinct
attribute is compared with the device that was picked last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from attrs import define, field

from schedframe.api import DeviceConstraint

from ..inventory.device_content import TypedValue
from ..inventory.offered_devices import OfferedDevice
from .demand import DeviceQuery


@define(eq=False)
class Constraint(ABC):
    """One constraint and the devices picked so far. ``remove`` undoes an ``add`` that returned True."""

    attribute: str
    requests: frozenset[str]
    """Names of requests and alternatives that it applies to; empty for all."""

    def applies_to(self, query: DeviceQuery) -> bool:
        """Return whether devices for that request count."""
        requests = self.requests
        return not requests or query.request in requests or query.name in requests

    def required_value(self, query: DeviceQuery) -> TypedValue | None:
        """Return the only value that the next device may have, ``None`` if several are possible."""
        return None

    @abstractmethod
    def allows(self, query: DeviceQuery, offered: OfferedDevice) -> bool:
        """Return whether the device can join those picked so far."""

    @abstractmethod
    def add(self, query: DeviceQuery, offered: OfferedDevice) -> bool:
        """Add the device if it can join; return whether it did."""

    @abstractmethod
    def remove(self, query: DeviceQuery) -> None:
        """Remove the device that was picked last for the request."""


@define(eq=False)
class MatchAttribute(Constraint):
    """All devices have the same value of the same type."""

    _value: TypedValue | None = None
    _devices: int = 0

    def required_value(self, query: DeviceQuery) -> TypedValue | None:
        """See :class:`Constraint`."""
        return self._value if self._devices and self.applies_to(query) else None

    def allows(self, query: DeviceQuery, offered: OfferedDevice) -> bool:
        """See :class:`Constraint`."""
        if not self.applies_to(query):
            return True
        value = offered.content.typed(self.attribute)
        return value is not None and (not self._devices or value == self._value)

    def add(self, query: DeviceQuery, offered: OfferedDevice) -> bool:
        """See :class:`Constraint`."""
        if not self.allows(query, offered):
            return False
        if self.applies_to(query):
            self._value = offered.content.typed(self.attribute)
            self._devices += 1
        return True

    def remove(self, query: DeviceQuery) -> None:
        """See :class:`Constraint`."""
        if self.applies_to(query):
            self._devices -= 1


@define(eq=False)
class DistinctAttribute(Constraint):
    """No two devices have the same value of the same type."""

    _values: dict[str, list[TypedValue]] = field(factory=dict)
    """Request → values of its devices, in the order of the picks."""

    def allows(self, query: DeviceQuery, offered: OfferedDevice) -> bool:
        """See :class:`Constraint`."""
        if not self.applies_to(query):
            return True
        value = offered.content.typed(self.attribute)
        return value is not None and not any(
            values and values[-1] == value for values in self._values.values()
        )

    def add(self, query: DeviceQuery, offered: OfferedDevice) -> bool:
        """See :class:`Constraint`."""
        if not self.allows(query, offered):
            return False
        value = offered.content.typed(self.attribute)
        if value is not None and self.applies_to(query):
            self._values.setdefault(query.request, []).append(value)
        return True

    def remove(self, query: DeviceQuery) -> None:
        """See :class:`Constraint`."""
        if self.applies_to(query):
            self._values[query.request].pop()


def constraint_checks(constraints: Iterable[DeviceConstraint]) -> tuple[Constraint, ...]:
    """Return a check of each constraint, with no devices yet."""
    return tuple(
        MatchAttribute(constraint.match_attribute, frozenset(constraint.requests))
        if constraint.match_attribute is not None
        else DistinctAttribute(constraint.distinct_attribute or "", frozenset(constraint.requests))
        for constraint in constraints
    )
