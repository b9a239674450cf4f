"""What can be had from the pools of each node, in a column: nodes of equal state give equal answers.

The *view* of a node is the pools that concern it; nodes that see the same slices share one. The *state* of a
view is what its pools offer and what of it is in use, names left out: searching one node of a state is
searching all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import InvariantError, Node, NodeTable, PluginError, Rows

from .device_usage import Usage
from .node_pools import NodePool, PoolIndex
from .offered_devices import PoolId

Codes = npt.NDArray[np.int32]

NOWHERE: Final = -1
"""The view of a row without a node."""
_SPARE: Final = 1024


@define(eq=False)
class Common:
    """Pools that are not for one node only, of which there may be many, as several views have them."""

    pools: tuple[NodePool, ...]
    states: list[Hashable]
    """Pool by pool."""
    state: int = 0
    """A number for all of these."""
    views: set[int] = field(factory=set)


@define(eq=False)
class View:
    """The pools that a node sees, and which of their devices it can use as far as these have a say."""

    number: int
    pools: tuple[NodePool, ...]
    usable: tuple[bool, ...] | None = None
    """Device by device; ``None`` if no device has a say."""
    problem: str = ""
    """Why nobody can tell, if so; there are no pools then."""
    common: Common | None = None
    own: tuple[tuple[int, NodePool], ...] = ()
    """The other pools, and the places where they stand."""
    rows: int = 0
    """How many rows have it."""


@define(eq=False)
class DeviceStates:
    """The state of each row of a node table.

    ``sync`` is O(nodes that changed + views of pools that changed), and O(nodes) after a change of slices
    that are for any node. States are numbered from 0 on; a new ``epoch`` numbers them anew.
    """

    table: NodeTable
    pools: PoolIndex
    usage: Usage
    epoch: int = 0
    _views: list[View | None] = field(factory=list)
    _free: list[int] = field(factory=list)
    _view_of: dict[Hashable, View] = field(factory=dict)
    _of_pool: dict[PoolId, set[int]] = field(factory=dict)
    """Pool → numbers of the views that have it for themselves."""
    _common: dict[tuple[NodePool, ...], Common] = field(factory=dict)
    _common_of: dict[PoolId, set[Common]] = field(factory=dict)
    """Pool → where else it is part of."""
    _row_views: Codes = field(factory=lambda: np.empty(0, np.int32))
    """Row → number of its view."""
    _states: Codes = field(factory=lambda: np.empty(0, np.int32))
    """Number of a view → its state."""
    _numbers: dict[Hashable, int] = field(factory=dict)
    _common_numbers: dict[Hashable, int] = field(factory=dict)
    _nodes_seen: int = -1
    _slices_seen: int = 0
    _uses_seen: int = 0

    # ---- looking -----------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of states so far."""
        return len(self._numbers)

    def of_rows(self, rows: Rows) -> npt.NDArray[np.int32]:
        """The state of each of *rows*, int32."""
        return self._states.take(rows.take(self._row_views))

    def of_row(self, row: int) -> int:
        """The state of one row."""
        return int(self._states[self._row_views[row]])

    def view(self, row: int) -> View:
        """What the node of the row sees."""
        view = self._views[int(self._row_views[row])]
        assert view is not None, "rows with a node have a view"
        return view

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if the column, once synced, is not what a look at each node tells.

        O(nodes x their pools).
        """
        self.sync()
        users: dict[int, int] = {}
        for row in self.table.rows().positions.tolist():
            view, node = self.view(row), self.table.node_at(row)
            assert node is not None
            users[view.number] = users.get(view.number, 0) + 1
            if not view.problem and view.pools is not self.pools.of_node(node):
                raise InvariantError(f"node {node.name} sees other pools than its row says")
            common = view.common
            if common is not None and common.states != [pool.state(self.usage) for pool in common.pools]:
                raise InvariantError(f"node {node.name} sees common pools in another state than it says")
            if self.of_row(row) != self._state_of(view):
                raise InvariantError(f"node {node.name} is in another state than its row says")
        if users != {view.number: view.rows for view in self._views if view is not None}:
            raise InvariantError("views are not counted by their rows")

    # ---- catching up -------------------------------------------------------------------------------------

    def sync(self) -> None:
        """Catch up with nodes, slices and devices in use."""
        log = self.table.node_log
        if self._nodes_seen != log.version or self._slices_seen != self.pools.trail.version:
            self._sync_rows()
        if self._uses_seen != self.usage.trail.version:
            self._sync_uses()
        if len(self._numbers) > 2 * len(self._views) + _SPARE:
            self._number_anew()

    def _sync_rows(self) -> None:
        table, log, trail = self.table, self.table.node_log, self.pools.trail
        changed = log.since(self._nodes_seen) if self._nodes_seen >= 0 else None
        names = trail.since(self._slices_seen)
        self._nodes_seen, self._slices_seen = log.version, trail.version
        if len(self._row_views) < table.capacity:
            longer = np.full(table.capacity, NOWHERE, np.int32)
            longer[: len(self._row_views)] = self._row_views
            self._row_views = longer
        rows: Iterable[int] = range(table.size)
        if changed is not None and names is not None and "" not in names:
            live = (table.live_row(name) for name in dict.fromkeys(names))
            rows = {*changed, *(row for row in live if row is not None)}
        for row in rows:
            node = table.node_at(row)
            self._set(row, None if node is None else self._look(node))

    def _set(self, row: int, view: View | None) -> None:
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

    def _sync_uses(self) -> None:
        trail = self.usage.trail
        pools = trail.since(self._uses_seen)
        self._uses_seen = trail.version
        views: set[int] = set()
        if pools is None:
            views.update(range(len(self._views)))
            for common in self._common.values():
                self._refresh(common, None)
        else:
            touched = set(pools)
            commons = {common for id in touched for common in self._common_of.get(id, ())}
            for common in commons:
                self._refresh(common, touched)
                views |= common.views
            views.update(number for id in touched for number in self._of_pool.get(id, ()))
        for number in views:
            view = self._views[number]
            if view is not None:
                self._states[number] = self._state_of(view)

    def _refresh(self, common: Common, touched: set[PoolId] | None) -> None:
        for place, pool in enumerate(common.pools):
            if touched is None or pool.id in touched:
                common.states[place] = pool.state(self.usage)
        numbers = self._common_numbers
        common.state = numbers.setdefault(tuple(common.states), len(numbers))

    # ---- views -------------------------------------------------------------------------------------------

    def _look(self, node: Node) -> View:
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
    ) -> View:
        if self._free:
            number = self._free.pop()
        else:
            number = len(self._views)
            self._views.append(None)
            if number >= len(self._states):
                self._states = np.resize(self._states, 2 * number + 64)
        view = self._views[number] = View(number, pools, usable, problem)
        if not problem:
            self._view_of[key] = view
        view.own = tuple((place, pool) for place, pool in enumerate(pools) if pool.is_local)
        if len(view.own) < len(pools):
            view.common = self._in_common(tuple(pool for pool in pools if not pool.is_local))
            view.common.views.add(number)
        for _, pool in view.own:
            self._of_pool.setdefault(pool.id, set()).add(number)
        self._states[number] = self._state_of(view)
        return view

    def _in_common(self, pools: tuple[NodePool, ...]) -> Common:
        common = self._common.get(pools)
        if common is None:
            common = self._common[pools] = Common(pools, [()] * len(pools))
            for pool in pools:
                self._common_of.setdefault(pool.id, set()).add(common)
            self._refresh(common, None)
        return common

    def _drop(self, view: View) -> None:
        if not view.problem:
            del self._view_of[view.pools, view.usable]
        for _, pool in view.own:
            self._of_pool[pool.id].discard(view.number)
        common = view.common
        if common is not None:
            common.views.discard(view.number)
            if not common.views:
                del self._common[common.pools]
                for pool in common.pools:
                    self._common_of[pool.id].discard(common)
        self._views[view.number] = None
        self._free.append(view.number)

    # ---- states ------------------------------------------------------------------------------------------

    def _state_of(self, view: View) -> int:
        key: Hashable
        if view.problem:
            key = view.problem
        else:
            own = tuple([(place, pool.state(self.usage)) for place, pool in view.own])
            key = (view.usable, own, None if view.common is None else view.common.state)
        return self._numbers.setdefault(key, len(self._numbers))

    def _number_anew(self) -> None:
        self.epoch += 1
        self._numbers.clear()
        self._common_numbers.clear()
        for common in self._common.values():
            self._refresh(common, set())
        for view in self._views:
            if view is not None:
                self._states[view.number] = self._state_of(view)


def usable_from(pools: Sequence[NodePool], node: Node) -> tuple[bool, ...] | None:
    """Which devices say that they can be used from *node*, where they have a say; ``None`` if none has."""
    if not any(pool.asks_devices for pool in pools):
        return None
    return tuple(offered.is_for(node) for pool in pools for offered in pool.devices)
