"""Index of the pools of devices by node, cached between pods until a slice of one of them changes.

The invariant: what is cached of a node has the stamps of all slices that it was computed from. Otherwise
devices would be allocated that are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sized
from typing import Final, TypeVar

from attrs import define, field, frozen

from schedframe import Node, ObjectStore
from schedframe.api import ResourceSlice

from .change_log import ChangeLog
from .criteria import DeviceCriteria
from .device_content import ContentTable, CounterId, PoolContent
from .device_usage import DeviceUsage
from .offered_devices import OfferedDevice, OfferedSlice, PoolId

K = TypeVar("K", str, PoolId)
C = TypeVar("C", bound=Sized)
SLICE = ResourceSlice.KIND
_MAX_CRITERIA: Final = 16
"""Criteria with cached candidates for each pool; beyond, the cache of the pool is cleared."""
_MAX_NODES_LISTED: Final = 16
"""Nodes that a change of a pool is logged for; beyond, it is logged as a change for all nodes."""


@frozen(eq=False)
class Candidates:
    """Available devices of a pool for one set of criteria."""

    changes: int
    """The last change of usage in the pool when they were computed."""
    devices: tuple[OfferedDevice, ...]
    selector_fails: bool
    """Whether a selector fails on one of them, which is an error if the search gets there."""


@define(eq=False)
class NodePool:
    """The part of a pool that is for one node. Nothing is allocated from an incomplete or invalid pool."""

    id: PoolId
    devices: tuple[OfferedDevice, ...] = ()
    """In order of slices by name, then of the slice."""
    counters: Mapping[CounterId, int] = field(factory=dict)
    """Shared counters and their amounts, in billionths."""
    counting: tuple[OfferedDevice, ...] = ()
    """All devices of the pool that consume counters, on whatever node."""
    incomplete: bool = False
    """Whether slices are missing."""
    invalid: bool = False
    """Whether the slices contradict each other."""
    is_local: bool = False
    """Whether one of the slices is for this node only."""
    contents: ContentTable = field(factory=ContentTable)
    candidates: dict[DeviceCriteria, Candidates] = field(factory=dict, init=False)
    _content: PoolContent | None = field(default=None, init=False)
    _tracked: tuple[OfferedDevice, ...] | None = field(default=None, init=False)
    _state: tuple[int, Hashable] | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The name in messages."""
        return "/".join(self.id)

    @property
    def usable(self) -> bool:
        """Return whether devices can be allocated."""
        return not (self.incomplete or self.invalid)

    @property
    def tracked(self) -> tuple[OfferedDevice, ...]:
        """Return the devices whose usage matters: those for the node, then others that consume counters."""
        tracked = self._tracked
        if tracked is None:
            own = {offered.id for offered in self.devices}
            elsewhere = (offered for offered in self.counting if offered.id not in own)
            tracked = self._tracked = (*self.devices, *elsewhere)
        return tracked

    @property
    def content(self) -> PoolContent:
        """Return the content, shared with all pools that, while unused, allow the same allocations."""
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

    def keep_candidates(self, criteria: DeviceCriteria, found: Candidates) -> Candidates:
        """Cache and return the candidates for these criteria."""
        if len(self.candidates) >= _MAX_CRITERIA:
            self.candidates.clear()
        self.candidates[criteria] = found
        return found

    def state(self, usage: DeviceUsage) -> Hashable:
        """Return a key, equal for pools with equal free devices; O(devices) after a change, else O(1)."""
        changes = usage.changes.get(self.id, 0)
        if self._state is None or self._state[0] != changes:
            state = self.content.number, usage.pattern(self.tracked) if self.usable else ()
            self._state = changes, state
        return self._state[1]

    @property
    def has_node_selection(self) -> bool:
        """Return whether devices have node selections of their own."""
        return any(offered.slice.spec.per_device_node_selection for offered in self.devices)

    @property
    def binds_late(self) -> bool:
        """Return whether devices have binding conditions; such pools come last in the order."""
        return any(offered.device.binding_conditions for offered in self.devices)


@define(eq=False)
class _CachedPools:
    """The pools of a node, and the versions that they were computed from."""

    node: Node
    version: int
    stamps: tuple[int, ...]
    touched: tuple[PoolId, ...]
    pools: tuple[NodePool, ...]


@define(eq=False, repr=False)
class PoolIndex:
    """Index of all slices, by node and by pool.

    ``of_node`` is O(1) while nothing changed, else O(slices that may be for the node). Nodes with the same
    slices get the same tuple of pools.
    """

    _objects: ObjectStore
    version: int = -1
    """Version of the slices in the object store that was read last."""
    change_log: ChangeLog[str] = field(factory=ChangeLog)
    """Names of the nodes whose pools may have changed; empty for all nodes."""
    _contents: ContentTable = field(factory=ContentTable)
    _slices: dict[str, OfferedSlice] = field(factory=dict)
    _of_node: dict[str, dict[str, OfferedSlice]] = field(factory=dict)
    """Node → slice name → slice; the slices for any node are under the empty name."""
    _of_pool: dict[PoolId, dict[str, OfferedSlice]] = field(factory=dict)
    _names: dict[PoolId, dict[str, int]] = field(factory=dict)
    """Pool → names under which its slices are in ``_of_node`` → number of slices."""
    _changes: dict[str | PoolId, int] = field(factory=dict)
    """Node name or pool → number of the last change there, of all changes; only of those with slices."""
    _cached: dict[str, _CachedPools] = field(factory=dict)
    _built: dict[PoolId, dict[tuple[str, ...], NodePool | None]] = field(factory=dict)
    """Pool → names of slices → the pool for nodes that these slices are for."""
    _interned: dict[tuple[NodePool, ...], tuple[NodePool, ...]] = field(factory=dict)

    def sync(self) -> None:
        """Read the changed slices; O(changes)."""
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
        """Return the pools for *node*, in the order in which devices are tried."""
        cached = self._cached.get(node.name)
        if cached is not None and (cached.node is node or cached.node.labels == node.labels):
            if cached.version == self.version:
                return cached.pools
            if cached.stamps == self._stamps(node.name, cached.touched):
                cached.version = self.version
                return cached.pools
        return self._compute(node)

    def forget_nodes(self, is_gone: Callable[[str], bool]) -> None:
        """Drop what is cached of nodes that are gone. O(nodes)."""
        self._cached = {name: cached for name, cached in self._cached.items() if not is_gone(name)}

    @property
    def num_cached(self) -> int:
        """Return the number of nodes with cached pools."""
        return len(self._cached)

    def slices_of(self, node: Node) -> Iterator[OfferedSlice]:
        """Yield the slices for *node*, those of all generations; O(slices that may be for the node)."""
        for place in (node.name, ""):
            for offered in self._of_node.get(place, {}).values():
                if offered.is_for(node):
                    yield offered

    def stamp_of(self, node_name: str) -> Hashable:
        """Return a stamp, equal while :meth:`slices_of` yields the same for an unchanged node. O(1)."""
        return self._stamps(node_name, ())

    def _replace(self, key: str, slice: ResourceSlice | None) -> None:
        before = self._slices.pop(key, None)
        if before is not None:
            del self._of_node[before.node_name][key]
            del self._of_pool[before.pool][key]
            drop_if_empty(self._of_node, before.node_name)
            drop_if_empty(self._of_pool, before.pool)
            self._count(before, -1)
        if slice is not None:
            now = self._slices[key] = OfferedSlice.of(slice, before, self._contents)
            self._of_node.setdefault(now.node_name, {})[key] = now
            self._of_pool.setdefault(now.pool, {})[key] = now
            self._count(now, 1)

    def _count(self, changed: OfferedSlice, step: int) -> None:
        self._built.pop(changed.pool, None)
        self.change_log.append(changed.node_name)
        self._note(changed.node_name, changed.node_name in self._of_node)
        self._note(changed.pool, changed.pool in self._of_pool)
        names = self._names.setdefault(changed.pool, {})
        names[changed.node_name] = names.get(changed.node_name, 0) + step
        if not names[changed.node_name]:
            del names[changed.node_name]
        drop_if_empty(self._names, changed.pool)
        for name in names if len(names) <= _MAX_NODES_LISTED else ("",):
            self.change_log.append(name)

    def _note(self, subject: str | PoolId, has_slices: bool) -> None:
        """Note a change; a subject without slices is as if it never had any."""
        if has_slices:
            self._changes[subject] = self.change_log.version
        else:
            self._changes.pop(subject, None)

    def _stamps(self, node_name: str, pools: Iterable[PoolId]) -> tuple[int, ...]:
        subjects: tuple[str | PoolId, ...] = ("", node_name, *pools)
        return tuple(self._changes.get(subject, 0) for subject in subjects)

    def _compute(self, node: Node) -> tuple[NodePool, ...]:
        relevant: dict[PoolId, list[OfferedSlice]] = {}
        for offered in self.slices_of(node):
            relevant.setdefault(offered.pool, []).append(offered)
        found = [pool for id, slices in relevant.items() if (pool := self._pool(id, slices)) is not None]
        found.sort(key=lambda pool: (pool.binds_late, pool.id))
        touched = tuple(relevant)
        pools = self._intern(tuple(found))
        self._cached[node.name] = _CachedPools(
            node, self.version, self._stamps(node.name, touched), touched, pools
        )
        return pools

    def _intern(self, pools: tuple[NodePool, ...]) -> tuple[NodePool, ...]:
        """Return one tuple for equal pools, so that nodes share it: pools may be many."""
        if len(self._interned) > 2 * len(self._cached) + 64:
            self._interned = {cached.pools: cached.pools for cached in self._cached.values()}
        return self._interned.setdefault(pools, pools)

    def _pool(self, id: PoolId, relevant: list[OfferedSlice]) -> NodePool | None:
        built = self._built.setdefault(id, {})
        names = tuple(offered.slice.name for offered in relevant)
        if names not in built:
            pool = built[names] = self._build(id, relevant)
            if pool is not None:
                pool.is_local = any(offered.node_name for offered in relevant)
        return built[names]

    def _build(self, id: PoolId, relevant: list[OfferedSlice]) -> NodePool | None:
        """Build the pool from the newest of *relevant*; ``None`` if that generation is obsolete."""
        generation = max(offered.generation for offered in relevant)
        newest = [offered for offered in relevant if offered.generation == generation]
        # The first slice by name announces the number of slices, so that the choice is deterministic.
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


def drop_if_empty(collections: dict[K, C], key: K) -> None:
    """Remove a collection that has become empty: nodes and pools come and go."""
    if not collections[key]:
        del collections[key]


def build_pool(
    id: PoolId, slices: Iterable[OfferedSlice], elsewhere: Iterable[OfferedSlice], contents: ContentTable
) -> NodePool:
    """Build a pool of *slices*, sorted by name, which are for the node, and of those *elsewhere*."""
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
    has_duplicates = len({device.id for device in devices}) < len(devices)
    has_duplicate_sets = len({shared.name for shared in sets}) < len(sets)
    unknown = any(counter not in counters for device in counting for counter, _ in device.consumes)
    if has_duplicates or has_duplicate_sets or unknown:
        return NodePool(id, invalid=True, contents=contents)
    return NodePool(id, tuple(devices), counters, counting, contents=contents)
