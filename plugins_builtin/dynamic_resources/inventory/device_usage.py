"""Devices in use, and the shares of shared ones, updated claim by claim."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from attrs import define, field, frozen

from schedframe import InvariantError
from schedframe.api import AllocationResult

from .change_log import ChangeLog
from .offered_devices import DeviceId, OfferedDevice, PoolId


@frozen
class Holding:
    """One device of a claim, or a share of one."""

    device: DeviceId
    share: str | None = None
    capacity: tuple[tuple[str, int], ...] = ()
    """Capacities and the consumed amounts, in billionths; of shares only."""


def holdings_of(allocation: AllocationResult | None) -> tuple[Holding, ...]:
    """Return the devices that *allocation* uses; admin access does not count."""
    if allocation is None:
        return ()
    return tuple(
        Holding(
            (result.driver, result.pool, result.device),
            result.share_id,
            tuple((name, amount.nano) for name, amount in result.consumed_capacity.items())
            if result.share_id is not None
            else (),
        )
        for result in allocation.devices.results
        if not result.admin_access
    )


@define(eq=False)
class DeviceUsage:
    """Devices in use, by claim. ``hold`` and ``release`` are O(devices of the claim).

    Caches compare what ``changes`` has of a pool to detect that they are stale.
    """

    whole: dict[DeviceId, int] = field(factory=dict)
    """Device → number of claims that have it as a whole; more than one is an error of another writer."""
    shares: dict[DeviceId, int] = field(factory=dict)
    """Device → number of its allocated shares."""
    capacity: dict[DeviceId, dict[str, int]] = field(factory=dict)
    """Device → capacity → amount that its shares consume, in billionths."""
    changes: dict[PoolId, int] = field(factory=dict)
    """Pool → number of the last change there, of the changes of all pools; only of pools in use."""
    change_log: ChangeLog[PoolId] = field(factory=ChangeLog)
    """The changed pools in order."""
    _holdings: dict[PoolId, int] = field(factory=dict)
    """Pool → its devices and shares that claims have; only positive ones."""
    _held: dict[str, tuple[Holding, ...]] = field(factory=dict)

    def hold(self, owner: str, holdings: tuple[Holding, ...]) -> None:
        """Replace the devices of *owner*, the uid of a claim, by *holdings*."""
        before = self._held.get(owner, ())
        if before == holdings:
            return
        self._count(before, -1)
        self._count(holdings, 1)
        if holdings:
            self._held[owner] = holdings
        else:
            self._held.pop(owner, None)

    def is_allocated(self, device: DeviceId) -> bool:
        """Return whether a claim has the device or a share of it."""
        return device in self.whole or device in self.shares

    def consumed(self, device: DeviceId) -> Mapping[str, int]:
        """Return the capacity that shares of the device consume, in billionths."""
        return self.capacity.get(device, {})

    def pattern(self, devices: Sequence[OfferedDevice]) -> tuple[Hashable, ...]:
        """Return a key: equal keys mean that the same positions are in use in the same way. O(devices)."""
        whole, shares = self.whole, self.shares
        found: list[Hashable] = []
        for place, offered in enumerate(devices):
            id = offered.id
            if id in whole or id in shares:
                capacity = self.capacity.get(id)
                taken = frozenset(capacity.items()) if capacity else None
                found.append((place, id in whole, id in shares, taken))
        return tuple(found)

    def _count(self, holdings: Iterable[Holding], step: int) -> None:
        for holding in holdings:
            device = holding.device
            _add(self.whole if holding.share is None else self.shares, device, step)
            pool = device[:2]
            self.change_log.append(pool)
            _add(self._holdings, pool, step)
            if pool in self._holdings:
                self.changes[pool] = self.change_log.version
            else:  # pools come and go with their nodes
                del self.changes[pool]
            if holding.capacity:
                taken = self.capacity.setdefault(device, {})
                for name, amount in holding.capacity:
                    _add(taken, name, step * amount)
                if not taken:
                    del self.capacity[device]

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if the sums are not those of the claims; O(claims)."""
        fresh = DeviceUsage()
        for owner, held in self._held.items():
            fresh.hold(owner, held)
        mine = (self.whole, self.shares, self.capacity, self._holdings, self.changes.keys())
        if mine != (fresh.whole, fresh.shares, fresh.capacity, fresh._holdings, fresh.changes.keys()):
            raise InvariantError("devices in use do not add up to what the claims have")


def _add(
    amounts: dict[object, int] | dict[DeviceId, int] | dict[PoolId, int] | dict[str, int],
    key: object,
    step: int,
) -> None:
    table: dict[object, int] = amounts  # type: ignore[assignment]  # one helper for four kinds of key
    value = table.get(key, 0) + step
    if value:
        table[key] = value
    else:
        table.pop(key, None)
