"""Pools of devices as one node sees them, kept from one pod to the next."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Final

from attrs import define, field, frozen

from schedframe import Node, ObjectStore, ResourceSlice

from .change_log import Trail
from .criteria import Terms
from .device_content import Contents, CounterId, PoolContent
from .device_usage import Usage
from .offered_devices import OfferedDevice, OfferedSlice, PoolId

SLICE = ResourceSlice.KIND
_TERMS_KEPT: Final = 16
_LISTED: Final = 16
"""Nodes with slices of one pool, beyond which a change there is said to concern all nodes."""


@frozen(eq=False)
class Candidates:
    """Devices of a pool that a request may get."""

    changes: int
    """Number of changes of what is in use, when they were looked for."""
    devices: tuple[OfferedDevice, ...]
    doubtful: bool
    """Whether a selector fails for one of them, which is an error if the search gets there."""


@define(eq=False)
class NodePool:
    """The part of a pool that concerns one node. Nothing is allocated from an incomplete or invalid pool."""

    id: PoolId
    devices: tuple[OfferedDevice, ...] = ()
    """In order of slices by name, then of the slice."""
    counters: Mapping[CounterId, int] = field(factory=dict)
    """What the pool has to share, in billionths."""
    counting: tuple[OfferedDevice, ...] = ()
    """All devices of the pool that take from the counters, wherever they can be used."""
    incomplete: bool = False
    """Slices are missing."""
    invalid: bool = False
    """The slices contradict each other."""
    is_local: bool = False
    """Whether one of the slices is for this node only."""
    contents: Contents = field(factory=Contents)
    candidates: dict[Terms, Candidates] = field(factory=dict, init=False)
    _content: PoolContent | None = field(default=None, init=False)
    _tracked: tuple[OfferedDevice, ...] | None = field(default=None, init=False)
    _state: tuple[int, Hashable] | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """As in messages."""
        return "/".join(self.id)

    @property
    def usable(self) -> bool:
        """Whether devices can be had."""
        return not (self.incomplete or self.invalid)

    @property
    def tracked(self) -> tuple[OfferedDevice, ...]:
        """Devices that matter when they are in use: those to be had, then others that take from counters."""
        tracked = self._tracked
        if tracked is None:
            there = {offered.id for offered in self.devices}
            elsewhere = (offered for offered in self.counting if offered.id not in there)
            tracked = self._tracked = (*self.devices, *elsewhere)
        return tracked

    @property
    def content(self) -> PoolContent:
        """What it has in common with all pools from which, nothing being in use, the same can be had."""
        content = self._content
        if content is None:
            key = (
                (self.id[0], self.incomplete, self.invalid),
                len(self.devices),
                tuple(offered.content.number for offered in self.tracked),
                frozenset(self.counters.items()),
            )
            content = self._content = self.contents.of_pool(key)
        return content

    def keep_candidates(self, terms: Terms, found: Candidates) -> Candidates:
        """Remember which devices there are for these terms."""
        if len(self.candidates) >= _TERMS_KEPT:
            self.candidates.clear()
        self.candidates[terms] = found
        return found

    def state(self, usage: Usage) -> Hashable:
        """Equal for pools from which the same can be had; O(devices) after a change there, else O(1)."""
        changes = usage.changes.get(self.id, 0)
        if self._state is None or self._state[0] != changes:
            state = self.content.number, usage.pattern(self.tracked) if self.usable else ()
            self._state = changes, state
        return self._state[1]

    @property
    def asks_devices(self) -> bool:
        """Whether devices say for themselves from which nodes they can be used."""
        return any(offered.slice.spec.per_device_node_selection for offered in self.devices)

    @property
    def binds_late(self) -> bool:
        """Whether devices have conditions to be met before a pod can be bound; such pools come last."""
        return any(offered.device.binding_conditions for offered in self.devices)


@define(eq=False)
class _Seen:
    """The pools of a node, and what they were made of."""

    node: Node
    version: int
    stamps: tuple[int, ...]
    touched: tuple[PoolId, ...]
    pools: tuple[NodePool, ...]


@define(eq=False)
class PoolIndex:
    """All slices, by node and by pool.

    ``of_node`` is O(1) while nothing changed, else O(slices that may concern the node). Nodes that see the
    same slices get the same pools.
    """

    _objects: ObjectStore
    version: int = -1
    """Number of changes of slices that are taken in."""
    trail: Trail[str] = field(factory=Trail)
    """Names of the nodes whose pools may have changed; empty for all nodes."""
    _contents: Contents = field(factory=Contents)
    _slices: dict[str, OfferedSlice] = field(factory=dict)
    _of_node: dict[str, dict[str, OfferedSlice]] = field(factory=dict)
    """Node → slice name → slice; the slices for any node are under the empty name."""
    _of_pool: dict[PoolId, dict[str, OfferedSlice]] = field(factory=dict)
    _names: dict[PoolId, dict[str, int]] = field(factory=dict)
    """Pool → names under which its slices are in ``_of_node`` → how many."""
    _changes: dict[str | PoolId, int] = field(factory=dict)
    """Node name or pool → number of changes."""
    _seen: dict[str, _Seen] = field(factory=dict)
    _built: dict[PoolId, dict[tuple[str, ...], NodePool | None]] = field(factory=dict)
    """Pool → names of slices → what a node sees of it that is concerned by these."""
    _together: dict[tuple[NodePool, ...], tuple[NodePool, ...]] = field(factory=dict)

    def sync(self) -> None:
        """Catch up with the slices; O(changes)."""
        version = self._objects.version(SLICE)
        if version == self.version:
            return
        changed = self._objects.changed_since(SLICE, self.version) if self.version >= 0 else None
        if changed is None:
            present = (slice.key for slice in self._objects.list(SLICE))
            changed = [*self._slices, *present]
        for key in dict.fromkeys(changed):
            self._replace(key, self._objects.get(SLICE, key))
        self.version = version

    def of_node(self, node: Node) -> tuple[NodePool, ...]:
        """Pools that concern *node*, in the order in which devices are tried."""
        seen = self._seen.get(node.name)
        if seen is not None and (seen.node is node or seen.node.labels == node.labels):
            if seen.version == self.version:
                return seen.pools
            if seen.stamps == self._stamps(node.name, seen.touched):
                seen.version = self.version
                return seen.pools
        return self._look(node)

    def _replace(self, key: str, slice: ResourceSlice | None) -> None:
        before = self._slices.pop(key, None)
        if before is not None:
            del self._of_node[before.node_name][key]
            del self._of_pool[before.pool][key]
            self._count(before, -1)
        if slice is not None:
            now = self._slices[key] = OfferedSlice.of(slice, before, self._contents)
            self._of_node.setdefault(now.node_name, {})[key] = now
            self._of_pool.setdefault(now.pool, {})[key] = now
            self._count(now, 1)

    def _count(self, changed: OfferedSlice, step: int) -> None:
        for subject in (changed.node_name, changed.pool):
            self._changes[subject] = self._changes.get(subject, 0) + 1
        self._built.pop(changed.pool, None)
        self.trail.append(changed.node_name)
        names = self._names.setdefault(changed.pool, {})
        names[changed.node_name] = names.get(changed.node_name, 0) + step
        if not names[changed.node_name]:
            del names[changed.node_name]
        for name in names if len(names) <= _LISTED else ("",):
            self.trail.append(name)

    def _stamps(self, node_name: str, pools: Iterable[PoolId]) -> tuple[int, ...]:
        subjects: tuple[str | PoolId, ...] = ("", node_name, *pools)
        return tuple(self._changes.get(subject, 0) for subject in subjects)

    def _look(self, node: Node) -> tuple[NodePool, ...]:
        relevant: dict[PoolId, list[OfferedSlice]] = {}
        for place in (node.name, ""):
            for offered in self._of_node.get(place, {}).values():
                if offered.is_for(node):
                    relevant.setdefault(offered.pool, []).append(offered)
        found = [pool for id, slices in relevant.items() if (pool := self._pool(id, slices)) is not None]
        found.sort(key=lambda pool: (pool.binds_late, pool.id))
        touched = tuple(relevant)
        pools = self._shared(tuple(found))
        self._seen[node.name] = _Seen(node, self.version, self._stamps(node.name, touched), touched, pools)
        return pools

    def _shared(self, pools: tuple[NodePool, ...]) -> tuple[NodePool, ...]:
        """The very same pools, of which there may be many, for all nodes that see them."""
        if len(self._together) > 2 * len(self._seen) + 64:
            self._together = {seen.pools: seen.pools for seen in self._seen.values()}
        return self._together.setdefault(pools, pools)

    def _pool(self, id: PoolId, relevant: list[OfferedSlice]) -> NodePool | None:
        built = self._built.setdefault(id, {})
        names = tuple(offered.slice.name for offered in relevant)
        if names not in built:
            pool = built[names] = self._build(id, relevant)
            if pool is not None:
                pool.is_local = any(offered.node_name for offered in relevant)
        return built[names]

    def _build(self, id: PoolId, relevant: list[OfferedSlice]) -> NodePool | None:
        """Only the newest generation among the relevant slices counts; ``None`` if that is obsolete."""
        generation = max(offered.generation for offered in relevant)
        newest = [offered for offered in relevant if offered.generation == generation]
        # The count that the first slice announces; by name, so that it is the same every time.
        newest.sort(key=lambda offered: offered.slice.name)
        announced = newest[0].slice.spec.pool.resource_slice_count
        if len(newest) == announced:
            return build_pool(id, newest, (), self._contents)
        everywhere = self._of_pool[id].values()
        if any(offered.generation > generation for offered in everywhere):
            return None
        same = [offered for offered in everywhere if offered.generation == generation]
        if len(same) != announced:
            return NodePool(id, incomplete=True, contents=self._contents)
        return build_pool(id, newest, [offered for offered in same if offered not in newest], self._contents)


def build_pool(
    id: PoolId, slices: Iterable[OfferedSlice], elsewhere: Iterable[OfferedSlice], contents: Contents
) -> NodePool:
    """*slices*, sorted by name, concern the node; the pool consists of them and those *elsewhere*."""
    slices, elsewhere = tuple(slices), tuple(elsewhere)
    sets = [counters for offered in slices for counters in offered.slice.spec.shared_counters]
    counters = {
        (shared.name, name): counter.value.nano
        for shared in sets
        for name, counter in shared.counters.items()
    }
    devices = [
        device for offered in slices if not offered.slice.spec.shared_counters for device in offered.devices
    ]
    everywhere = [*devices, *(device for offered in elsewhere for device in offered.devices)]
    counting = tuple(device for device in everywhere if device.consumes)
    twice = len({device.id for device in devices}) < len(devices)
    set_twice = len({shared.name for shared in sets}) < len(sets)
    unknown = any(counter not in counters for device in counting for counter, _ in device.consumes)
    if twice or set_twice or unknown:
        return NodePool(id, invalid=True, contents=contents)
    return NodePool(id, tuple(devices), counters, counting, contents=contents)
