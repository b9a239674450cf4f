"""Devices of a pool that a request may get as things stand, so that a search need not look at the others.

What a search picks only makes things scarcer: a device that cannot be had before it begins never can.
"""

from __future__ import annotations

from ..inventory.device_usage import Usage
from ..inventory.node_pools import Candidates, NodePool
from ..inventory.offered_devices import OfferedDevice
from .capacity import consumption, fits
from .demand import AllocationError, Wanted
from .pool_counters import Counters

_NOTHING: dict[str, int] = {}


def candidates(pool: NodePool, wanted: Wanted, usage: Usage) -> Candidates:
    """In order; O(devices) after a change of the pool or of what is in use there, else O(1).

    A device whose selector fails is among them: that must be told, but only if the search gets there.
    """
    changes = usage.changes.get(pool.id, 0)
    known = pool.candidates.get(wanted.terms)
    if known is None or known.changes != changes:
        known = pool.keep_candidates(wanted.terms, _look(pool, wanted, usage, changes))
    return known


def _look(pool: NodePool, wanted: Wanted, usage: Usage, changes: int) -> Candidates:
    counters = Counters.of(pool, usage) if pool.counting else None
    found, doubtful = [], False
    for offered in pool.devices:
        if not wanted.admin and offered.id in usage.whole:
            continue
        try:
            selected = wanted.selects(offered)
        except AllocationError:
            doubtful = True
            found.append(offered)
            continue
        if selected and _can_be_had(offered, wanted, usage, counters):
            found.append(offered)
    return Candidates(changes, tuple(found), doubtful)


def _can_be_had(offered: OfferedDevice, wanted: Wanted, usage: Usage, counters: Counters | None) -> bool:
    id, capacity = offered.id, offered.device.capacity
    if not wanted.tolerates(offered):
        return False
    taken = consumption(wanted.capacity, capacity)
    if taken is None or not fits(taken, capacity, usage.consumed(id), _NOTHING):
        return False
    shared_out = offered.shared and id in usage.shares
    return counters is None or shared_out or not offered.consumes or counters.suffice(offered)
