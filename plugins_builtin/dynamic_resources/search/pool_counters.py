"""Counters that the devices of a pool share."""

from __future__ import annotations

from attrs import define, field

from ..inventory.device_content import CounterId
from ..inventory.device_usage import Usage
from ..inventory.node_pools import NodePool
from ..inventory.offered_devices import OfferedDevice


@define(eq=False)
class Counters:
    """What is left of a pool's counters while devices are picked; amounts in billionths.

    Devices that are allocated already may have taken more than there is; then no device that takes from any
    counter of the pool can be had.
    """

    _left: dict[CounterId, int] = field(factory=dict)
    _overdrawn: bool = False

    @classmethod
    def of(cls, pool: NodePool, usage: Usage) -> Counters:
        """What allocated devices leave; O(devices of the pool that take from counters)."""
        left = dict(pool.counters)
        for device in pool.counting:
            if usage.is_allocated(device.id):
                for counter, amount in device.consumes:
                    left[counter] -= amount
        return cls(left, any(amount < 0 for amount in left.values()))

    def suffice(self, offered: OfferedDevice) -> bool:
        """Whether there is as much as the device needs."""
        left = self._left
        return not self._overdrawn and all(left[counter] >= amount for counter, amount in offered.needs)

    def take(self, offered: OfferedDevice) -> bool:
        """Take what the device needs; ``False``, and nothing taken, if there is too little."""
        if not self.suffice(offered):
            return False
        for counter, amount in offered.needs:
            self._left[counter] -= amount
        return True

    def give_back(self, offered: OfferedDevice) -> None:
        """Undo :meth:`take`."""
        for counter, amount in offered.needs:
            self._left[counter] += amount
