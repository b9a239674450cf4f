"""The device state of each node, in a column: a search has the same result on all nodes of equal state.

The *view* of a node is its pools; nodes with the same slices share one. The *state* of a view is the content
of its pools and what of it is in use, without names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import InvariantError, Node, NodeTable, PluginError, Rows

from .device_usage import DeviceUsage
from .node_pools import NodePool, PoolIndex, drop_if_empty
from .offered_devices import PoolId

Codes = npt.NDArray[np.int32]

NOWHERE: Final = -1
"""The view of a row without a node."""
_SPARE_NUMBERS: Final = 1024
"""State numbers beyond two for each view; with more, states are renumbered."""
_SPARE_NODES: Final = 64
"""Nodes with cached pools beyond two for each node; with more, those that are gone are dropped."""


@define(eq=False)
class SharedPools:
    """Pools that are for any node, of which there may be many; several views share them."""

    pools: tuple[NodePool, ...]
    states: list[Hashable]
    """The state of each pool."""
    state: int = 0
    """One number for all these states."""
    views: set[int] = field(factory=set)


@define(eq=False)
class NodeView:
    """The pools of a node, and which of their devices admit it."""

    number: int
    pools: tuple[NodePool, ...]
    usable: tuple[bool, ...] | None = None
    """For each device whether it admits the node; ``None`` if no device has a node selection."""
    problem: str = ""
    """Error of an invalid slice, if there is one; there are no pools then."""
    shared: SharedPools | None = None
    own: tuple[tuple[int, NodePool], ...] = ()
    """The pools with slices for this node only, with their positions in ``pools``."""
    rows: int = 0
    """Number of rows with this view."""


@define(eq=False)
class NodeDeviceStates:
    """The state of each row of a node table.

    ``sync`` is O(nodes that changed + views of pools that changed), and O(nodes) after a change of slices
    that are for any node. States are numbered from 0 on, and renumbered in each new ``epoch``.
    """

    table: NodeTable
    pools: PoolIndex
    usage: DeviceUsage
    epoch: int = 0
    _views: list[NodeView | None] = field(factory=list)
    _free: list[int] = field(factory=list)
    _view_of: dict[Hashable, NodeView] = field(factory=dict)
    _of_pool: dict[PoolId, set[int]] = field(factory=dict)
    """Pool → numbers of the views that have it among their own."""
    _shared: dict[tuple[NodePool, ...], SharedPools] = field(factory=dict)
    _shared_of: dict[PoolId, set[SharedPools]] = field(factory=dict)
    """Pool → the shared pools that it is part of."""
    _row_views: Codes = field(factory=lambda: np.empty(0, np.int32))
    """Row → number of its view."""
    _states: Codes = field(factory=lambda: np.empty(0, np.int32))
    """Number of a view → its state."""
    _numbers: dict[Hashable, int] = field(factory=dict)
    _shared_numbers: dict[Hashable, int] = field(factory=dict)
    _nodes_seen: int = -1
    _slices_seen: int = 0
    _usage_seen: int = 0

    # ---- reading -----------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of states so far."""
        return len(self._numbers)

    def of_rows(self, rows: Rows) -> npt.NDArray[np.int32]:
        """Return the state of each of *rows*."""
        return self._states.take(rows.take(self._row_views))

    def of_row(self, row: int) -> int:
        """Return the state of one row."""
        return int(self._states[self._row_views[row]])

    def view(self, row: int) -> NodeView:
        """Return the view of the row's node."""
        view = self._views[int(self._row_views[row])]
        assert view is not None, "rows with a node have a view"
        return view

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if the column, once synced, differs from one computed node by node.

        O(nodes x their pools).
        """
        self.sync()
        users: dict[int, int] = {}
        for row in self.table.rows().positions.tolist():
            view, node = self.view(row), self.table.node_at(row)
            assert node is not None
            users[view.number] = users.get(view.number, 0) + 1
            if not view.problem and view.pools is not self.pools.of_node(node):
                raise InvariantError(f"node {node.name} has other pools than its row")
            shared = view.shared
            if shared is not None and shared.states != [pool.state(self.usage) for pool in shared.pools]:
                raise InvariantError(f"node {node.name} has shared pools in another state than its row")
            if self.of_row(row) != self._state_of(view):
                raise InvariantError(f"node {node.name} is in another state than its row says")
        if users != {view.number: view.rows for view in self._views if view is not None}:
            raise InvariantError("views do not count their rows")

    # ---- updating ----------------------------------------------------------------------------------------

    def sync(self) -> None:
        """Read the changes of nodes, slices and usage."""
        log = self.table.node_log
        if self._nodes_seen != log.version or self._slices_seen != self.pools.change_log.version:
            self._sync_rows()
        if self._usage_seen != self.usage.change_log.version:
            self._sync_usage()
        if len(self._numbers) > 2 * len(self._views) + _SPARE_NUMBERS:
            self._renumber()

    def _sync_rows(self) -> None:
        table, log, change_log = self.table, self.table.node_log, self.pools.change_log
        changed = log.since(self._nodes_seen) if self._nodes_seen >= 0 else None
        names = change_log.since(self._slices_seen)
        self._nodes_seen, self._slices_seen = log.version, change_log.version
        if len(self._row_views) < table.capacity:
            longer = np.full(table.capacity, NOWHERE, np.int32)
            longer[: len(self._row_views)] = self._row_views
            self._row_views = longer
        rows: Iterable[int] = range(table.extent)
        if changed is not None and names is not None and "" not in names:
            live = (table.live_row(name) for name in dict.fromkeys(names))
            rows = {*changed, *(row for row in live if row is not None)}
        for row in rows:
            node = table.node_at(row)
            self._set_view(row, None if node is None else self._view_of_node(node))
        if self.pools.num_cached > 2 * table.num_nodes + _SPARE_NODES:
            self.pools.forget_nodes(lambda name: table.live_row(name) is None)

    def _set_view(self, row: int, view: NodeView | None) -> None:
        number = int(self._row_views[row])
        before = self._views[number] if number != NOWHERE else None
        if view is before:
            return
        if view is not None:
            view.rows += 1
        self._row_views[row] = NOWHERE if view is None else view.number
        if before is not None:
            before.rows -= 1
            if not before.rows:
                self._drop(before)

    def _sync_usage(self) -> None:
        change_log = self.usage.change_log
        pools = change_log.since(self._usage_seen)
        self._usage_seen = change_log.version
        views: set[int] = set()
        if pools is None:
            views.update(range(len(self._views)))
            for shared in self._shared.values():
                self._refresh(shared, None)
        else:
            touched = set(pools)
            shared_pools = {shared for id in touched for shared in self._shared_of.get(id, ())}
            for shared in shared_pools:
                self._refresh(shared, touched)
                views |= shared.views
            views.update(number for id in touched for number in self._of_pool.get(id, ()))
        for number in views:
            view = self._views[number]
            if view is not None:
                self._states[number] = self._state_of(view)

    def _refresh(self, shared: SharedPools, touched: set[PoolId] | None) -> None:
        for place, pool in enumerate(shared.pools):
            if touched is None or pool.id in touched:
                shared.states[place] = pool.state(self.usage)
        numbers = self._shared_numbers
        shared.state = numbers.setdefault(tuple(shared.states), len(numbers))

    # ---- views -------------------------------------------------------------------------------------------

    def _view_of_node(self, node: Node) -> NodeView:
        try:
            pools = self.pools.of_node(node)
            usable = usable_from(pools, node)
        except PluginError as error:
            return self._add(("broken", node.name), (), None, str(error))
        key = (pools, usable)
        found = self._view_of.get(key)
        return self._add(key, pools, usable) if found is None else found

    def _add(
        self,
        key: Hashable,
        pools: tuple[NodePool, ...],
        usable: tuple[bool, ...] | None,
        problem: str = "",
    ) -> NodeView:
        if self._free:
            number = self._free.pop()
        else:
            number = len(self._views)
            self._views.append(None)
            if number >= len(self._states):
                self._states = np.resize(self._states, 2 * number + 64)
        view = self._views[number] = NodeView(number, pools, usable, problem)
        if not problem:
            self._view_of[key] = view
        view.own = tuple((place, pool) for place, pool in enumerate(pools) if pool.is_local)
        if len(view.own) < len(pools):
            view.shared = self._shared_pools(tuple(pool for pool in pools if not pool.is_local))
            view.shared.views.add(number)
        for _, pool in view.own:
            self._of_pool.setdefault(pool.id, set()).add(number)
        self._states[number] = self._state_of(view)
        return view

    def _shared_pools(self, pools: tuple[NodePool, ...]) -> SharedPools:
        shared = self._shared.get(pools)
        if shared is None:
            shared = self._shared[pools] = SharedPools(pools, [()] * len(pools))
            for pool in pools:
                self._shared_of.setdefault(pool.id, set()).add(shared)
            self._refresh(shared, None)
        return shared

    def _drop(self, view: NodeView) -> None:
        if not view.problem:
            del self._view_of[view.pools, view.usable]
        for _, pool in view.own:
            self._of_pool[pool.id].remove(view.number)
            drop_if_empty(self._of_pool, pool.id)
        shared = view.shared
        if shared is not None:
            shared.views.discard(view.number)
            if not shared.views:
                del self._shared[shared.pools]
                for pool in shared.pools:
                    self._shared_of[pool.id].remove(shared)
                    drop_if_empty(self._shared_of, pool.id)
        self._views[view.number] = None
        self._free.append(view.number)

    # ---- states ------------------------------------------------------------------------------------------

    def _state_of(self, view: NodeView) -> int:
        key: Hashable
        if view.problem:
            key = view.problem
        else:
            own = tuple([(place, pool.state(self.usage)) for place, pool in view.own])
            key = (view.usable, own, None if view.shared is None else view.shared.state)
        return self._numbers.setdefault(key, len(self._numbers))

    def _renumber(self) -> None:
        self.epoch += 1
        self._numbers.clear()
        self._shared_numbers.clear()
        for shared in self._shared.values():
            self._refresh(shared, set())
        for view in self._views:
            if view is not None:
                self._states[view.number] = self._state_of(view)


def usable_from(pools: Sequence[NodePool], node: Node) -> tuple[bool, ...] | None:
    """Return for each device whether it admits *node*; ``None`` if no device has a node selection."""
    if not any(pool.has_node_selection for pool in pools):
        return None
    return tuple(offered.is_for(node) for pool in pools for offered in pool.devices)
