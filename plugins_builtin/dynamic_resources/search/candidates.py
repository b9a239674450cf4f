"""Devices of a pool that are available to a request before a search begins.

Picks only use devices up, so a device that is not available at the beginning is not during the search either.
"""

from __future__ import annotations

from ..inventory.device_usage import DeviceUsage
from ..inventory.node_pools import Candidates, NodePool
from ..inventory.offered_devices import OfferedDevice
from .capacity import consumption, fits
from .demand import AllocationError, DeviceQuery
from .pool_counters import PoolCounters

_NOTHING: dict[str, int] = {}


def candidates(pool: NodePool, query: DeviceQuery, usage: DeviceUsage) -> Candidates:
    """Return the available devices in order; O(devices) after a change of the pool or its usage, else O(1).

    A device on which a selector fails is among them: that is an error, but only if the search gets there.
    """
    changes = usage.changes.get(pool.id, 0)
    cached = pool.candidates.get(query.criteria)
    if cached is None or cached.changes != changes:
        cached = pool.keep_candidates(query.criteria, _find(pool, query, usage, changes))
    return cached


def _find(pool: NodePool, query: DeviceQuery, usage: DeviceUsage, changes: int) -> Candidates:
    counters = PoolCounters.of(pool, usage) if pool.counting else None
    found, selector_fails = [], False
    for offered in pool.devices:
        if not query.admin and offered.id in usage.whole:
            continue
        try:
            selected = query.selects(offered)
        except AllocationError:
            selector_fails = True
            found.append(offered)
            continue
        if selected and _is_available(offered, query, usage, counters):
            found.append(offered)
    return Candidates(changes, tuple(found), selector_fails)


def _is_available(
    offered: OfferedDevice, query: DeviceQuery, usage: DeviceUsage, counters: PoolCounters | None
) -> bool:
    id, capacity = offered.id, offered.device.capacity
    if not query.tolerates(offered):
        return False
    taken = consumption(query.capacity, capacity)
    if taken is None or not fits(taken, capacity, usage.consumed(id), _NOTHING):
        return False
    shared_out = offered.shared and id in usage.shares
    return counters is None or shared_out or not offered.consumes or counters.suffice(offered)
