"""What the devices of a claim must have in common, or must not.

Both kinds are the reference's, with its limit: of several devices for one request, a distinct attribute is
compared with the one picked last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from attrs import define, field

from schedframe.api import DeviceConstraint

from ..inventory.device_content import TypedValue
from ..inventory.offered_devices import OfferedDevice
from .demand import Wanted


@define(eq=False)
class Constraint(ABC):
    """Watches over the devices picked for a claim. Every ``add`` that succeeds has its ``remove``."""

    attribute: str
    requests: frozenset[str]
    """Names of requests and alternatives; empty for all."""

    def concerns(self, wanted: Wanted) -> bool:
        """Whether devices for that request count."""
        requests = self.requests
        return not requests or wanted.request in requests or wanted.name in requests

    def demands(self, wanted: Wanted) -> TypedValue | None:
        """The only value that a device for that request may have now, ``None`` if there are several."""
        return None

    @abstractmethod
    def allows(self, wanted: Wanted, offered: OfferedDevice) -> bool:
        """Whether the device goes with the others."""

    @abstractmethod
    def add(self, wanted: Wanted, offered: OfferedDevice) -> bool:
        """Count the device in, if it goes with the others."""

    @abstractmethod
    def remove(self, wanted: Wanted) -> None:
        """Count out the device that was picked last for the request."""


@define(eq=False)
class MatchAttribute(Constraint):
    """All have the same value of the same type."""

    _value: TypedValue | None = None
    _devices: int = 0

    def demands(self, wanted: Wanted) -> TypedValue | None:
        """See :class:`Constraint`."""
        return self._value if self._devices and self.concerns(wanted) else None

    def allows(self, wanted: Wanted, offered: OfferedDevice) -> bool:
        """See :class:`Constraint`."""
        if not self.concerns(wanted):
            return True
        value = offered.content.typed(self.attribute)
        return value is not None and (not self._devices or value == self._value)

    def add(self, wanted: Wanted, offered: OfferedDevice) -> bool:
        """See :class:`Constraint`."""
        if not self.allows(wanted, offered):
            return False
        if self.concerns(wanted):
            self._value = offered.content.typed(self.attribute)
            self._devices += 1
        return True

    def remove(self, wanted: Wanted) -> None:
        """See :class:`Constraint`."""
        if self.concerns(wanted):
            self._devices -= 1


@define(eq=False)
class DistinctAttribute(Constraint):
    """No two have the same value of the same type."""

    _values: dict[str, list[TypedValue]] = field(factory=dict)
    """Request → the values of its devices, as picked."""

    def allows(self, wanted: Wanted, offered: OfferedDevice) -> bool:
        """See :class:`Constraint`."""
        if not self.concerns(wanted):
            return True
        value = offered.content.typed(self.attribute)
        return value is not None and not any(
            values and values[-1] == value for values in self._values.values()
        )

    def add(self, wanted: Wanted, offered: OfferedDevice) -> bool:
        """See :class:`Constraint`."""
        if not self.allows(wanted, offered):
            return False
        value = offered.content.typed(self.attribute)
        if value is not None and self.concerns(wanted):
            self._values.setdefault(wanted.request, []).append(value)
        return True

    def remove(self, wanted: Wanted) -> None:
        """See :class:`Constraint`."""
        if self.concerns(wanted):
            self._values[wanted.request].pop()


def constraints_of(wanted: Iterable[DeviceConstraint]) -> tuple[Constraint, ...]:
    """Fresh watchers."""
    return tuple(
        MatchAttribute(constraint.match_attribute, frozenset(constraint.requests))
        if constraint.match_attribute is not None
        else DistinctAttribute(constraint.distinct_attribute or "", frozenset(constraint.requests))
        for constraint in wanted
    )
