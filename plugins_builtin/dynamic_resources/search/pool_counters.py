"""Counters that the devices of a pool share."""

from __future__ import annotations

from attrs import define, field

from ..inventory.device_content import CounterId
from ..inventory.device_usage import DeviceUsage
from ..inventory.node_pools import NodePool
from ..inventory.offered_devices import OfferedDevice


@define(eq=False)
class PoolCounters:
    """The remaining amounts of a pool's counters during a search, in billionths.

    Allocated devices may consume more than there is. Then no device that consumes counters is available.
    """

    _left: dict[CounterId, int] = field(factory=dict)
    _is_overdrawn: bool = False

    @classmethod
    def of(cls, pool: NodePool, usage: DeviceUsage) -> PoolCounters:
        """Return what allocated devices leave; O(devices of the pool that consume counters)."""
        left = dict(pool.counters)
        for device in pool.counting:
            if usage.is_allocated(device.id):
                for counter, amount in device.consumes:
                    left[counter] -= amount
        return cls(left, any(amount < 0 for amount in left.values()))

    def suffice(self, offered: OfferedDevice) -> bool:
        """Return whether enough is left for the device."""
        left = self._left
        return not self._is_overdrawn and all(left[counter] >= amount for counter, amount in offered.needs)

    def take(self, offered: OfferedDevice) -> bool:
        """Subtract what the device consumes; ``False``, and no change, if there is too little."""
        if not self.suffice(offered):
            return False
        for counter, amount in offered.needs:
            self._left[counter] -= amount
        return True

    def give_back(self, offered: OfferedDevice) -> None:
        """Undo :meth:`take`."""
        for counter, amount in offered.needs:
            self._left[counter] += amount
