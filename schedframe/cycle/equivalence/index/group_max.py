"""The best rows when some plugin adds to each group of rows the same: without a pass over all rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ....errors import InvariantError
from ....state import NodeTable
from ...search.tie_breaking import many
from .blocked_max import OUT, BlockedMaxima, Values

Codes = npt.NDArray[Any]
"""An integer per row."""
Mask = npt.NDArray[np.bool_]
Key = tuple[int, ...]
"""The codes that the rows of a group have."""

MOST_GROUPS: Final = 32
"""With more groups the passes that this spares cost less."""
MOST_MISSED: Final = 48
"""Up to so many rows are taken in one by one."""
MOST_KEPT: Final = 4
"""Ways to group the rows of one class that are followed at a time."""
_WAIT: Final = 1000
"""Visits after which rows that had too many groups are looked at again."""
_SMALLEST_SHIFT: Final = 6
_BLOCKS_SHIFT: Final = 5
"""There are at most twice ``1 << _BLOCKS_SHIFT`` blocks, which are kept in lists."""


@define(eq=False)
class Group:
    """The feasible rows with one key: by block of rows the highest value, and how many have it."""

    key: Key
    id: int
    rows: int
    """How many rows it has."""
    best: list[int]
    """:data:`OUT` for a block without such rows."""
    count: list[int]
    top: int = OUT
    ties: int = 0
    """Rows that have ``top``; 0 when that must be found out."""

    def parts(self) -> tuple[int, list[int], list[int], int, int]:
        """Everything, to be compared."""
        return self.rows, self.best, self.count, self.top, self.ties

    def settle(self) -> bool:
        """Find out ``top``; whether there are any rows. O(blocks)."""
        self.top = top = max(self.best)
        if top == OUT:
            return False
        self.ties = sum([n for best, n in zip(self.best, self.count, strict=True) if best == top])
        return True


@define(eq=False)
class GroupedMaxima:
    """Values of rows (:data:`OUT` where one may not be chosen) by group.

    ``update`` is O(rows that are given), and O(block) for one that was the last at its block's maximum;
    ``choose`` is O(groups × blocks + block). Memory: 12 bytes a row.
    """

    columns: tuple[Codes, ...]
    """Those of the plugin, told apart by identity: rows that agree in all of them make a group."""
    _values: Values = field(factory=lambda: np.empty(0, np.int64))
    """As of the last update, like ``_ids``: what a row was counted as."""
    _ids: npt.NDArray[np.int32] = field(factory=lambda: np.empty(0, np.int32))
    _size: int = 0
    _shift: int = 0
    _blocks: int = 0
    _groups: dict[Key, Group] = field(factory=dict)
    _by_id: dict[int, Group] = field(factory=dict)
    _next_id: int = 0

    @property
    def nbytes(self) -> int:
        """Memory of what is kept by row, in bytes."""
        return self._values.nbytes + self._ids.nbytes

    def rebuild(self, values: Values, size: int) -> bool:
        """Look at the first *size* rows; ``False``, and nothing is kept, if there are too many groups.

        O(groups × rows).
        """
        self._groups, self._by_id, self._size = {}, {}, size
        self._values, self._ids = np.empty(0, np.int64), np.empty(0, np.int32)
        values = values[:size].copy()
        found = _masks(values != OUT, [column[:size] for column in self.columns])
        if found is None:
            return False
        self._values, self._ids = values, np.full(size, -1, np.int32)
        self._shift = max(_SMALLEST_SHIFT, (max(size, 1) - 1).bit_length() - _BLOCKS_SHIFT)
        width = 1 << self._shift
        starts = np.arange(0, size, width)
        self._blocks = len(starts)
        for key, mask in found:
            part = np.where(mask, values, OUT)
            best = np.maximum.reduceat(part, starts)
            ties = part == best.repeat(width)[:size]
            count = np.add.reduceat(ties, starts, dtype=np.int64)
            count[best == OUT] = 0
            group = self._add(key, best.tolist(), count.tolist())
            group.rows = int(np.count_nonzero(mask))
            self._ids[mask] = group.id
        return True

    def _add(self, key: Key, best: list[int], count: list[int]) -> Group:
        group = self._groups[key] = self._by_id[self._next_id] = Group(key, self._next_id, 0, best, count)
        self._next_id += 1
        return group

    def update(self, rows: Iterable[int], values: Values) -> bool:
        """The values or codes of *rows* may have changed; ``False`` if it must be rebuilt."""
        groups, shift, size = self._groups, self._shift, self._size
        now_values, now_codes = values.data, [column.data for column in self.columns]
        old_values, ids = self._values.data, self._ids.data
        for row in rows:
            if row >= size:
                return False
            value, old = now_values[row], old_values[row]
            if value == old == OUT:
                continue
            key = tuple([codes[row] for codes in now_codes])
            group, block = groups.get(key), row >> shift
            if old != OUT:
                before = self._by_id[ids[row]]
                if value == old and group is before:
                    continue
                old_values[row] = OUT
                self._take_out(before, block, old)
                if value == OUT:
                    continue
            if group is None:
                if len(groups) >= MOST_GROUPS:
                    return False
                group = self._add(key, [OUT] * self._blocks, [0] * self._blocks)
            old_values[row], ids[row] = value, group.id
            _put_in(group, block, value)
        return True

    def _take_out(self, group: Group, block: int, value: int) -> None:
        group.rows -= 1
        if value != group.best[block]:
            return
        if value == group.top and group.ties:
            group.ties -= 1
        group.count[block] -= 1
        if not group.count[block]:
            part = slice(block << self._shift, min(block + 1 << self._shift, self._size))
            members = self._values[part][self._ids[part] == group.id]
            best = group.best[block] = int(members.max(initial=OUT))
            group.count[block] = int(np.count_nonzero(members == best)) if best != OUT else 0

    def present(self) -> list[Key]:
        """The keys of the groups that have feasible rows; others are forgotten.

        O(groups), and O(blocks) for each whose best row is gone.
        """
        groups = self._groups
        gone = [group for group in groups.values() if not group.ties and not group.settle()]
        for group in gone:
            del groups[group.key], self._by_id[group.id]
        return list(groups)

    def chosen(self, passes: Sequence[bool]) -> list[Group]:
        """The groups that pass, in the order of :meth:`present`, which was just called."""
        return [group for group, passed in zip(self._groups.values(), passes, strict=True) if passed]

    def rows_of(self, groups: Sequence[Group]) -> npt.NDArray[np.intp]:
        """The rows of *groups*, ascending; O(rows)."""
        here = np.isin(self._ids, [group.id for group in groups])
        here &= self._values != OUT
        return here.nonzero()[0]

    def choose(
        self, gains: Sequence[int], rng: Random, size: int, among: Sequence[Group] | None = None
    ) -> int:
        """One of the rows with the highest sum of value and gain, of a table of *size*.

        *gains* are those of the groups in the order of :meth:`present`, which was just called, or of those
        *among* which a row is sought.
        """
        groups = list(self._groups.values()) if among is None else among
        sums = [group.top + gain for group, gain in zip(groups, gains, strict=True)]
        highest = max(sums)
        best = [group for group, total in zip(groups, sums, strict=True) if total == highest]
        ties = sum([group.ties for group in best])
        if ties >= many(size):
            return self._one_of_many(best, rng, size)
        if len(best) == 1:
            return self._one_of_group(best[0], rng)
        chosen = rng.randrange(ties)
        cells = [(group.best, group.count, group.top) for group in best]
        for block in range(self._blocks):
            before = chosen
            for highs, counts, top in cells:
                if highs[block] == top:
                    chosen -= counts[block]
            if chosen < 0:
                return self._at(block, best, before)
        raise InvariantError("groups of rows have more rows at their maximum than their blocks")

    def _one_of_many(self, best: Sequence[Group], rng: Random, size: int) -> int:
        values, ids, counted, random = self._values.data, self._ids.data, self._size, rng.random
        tops = {group.id: group.top for group in best}
        while True:
            row = int(random() * size)
            if row < counted and tops.get(ids[row]) == values[row]:
                return row

    def _one_of_group(self, group: Group, rng: Random) -> int:
        top, best, count = group.top, group.best, group.count
        chosen = rng.randrange(group.ties) if group.ties > 1 else 0
        block = best.index(top)
        while chosen >= count[block]:
            chosen -= count[block]
            block = best.index(top, block + 1)
        return self._at(block, (group,), chosen)

    def _at(self, block: int, groups: Sequence[Group], chosen: int) -> int:
        """The row of that block at position *chosen* among those of *groups* that have the group's top."""
        start = block << self._shift
        part = slice(start, min(start + (1 << self._shift), self._size))
        values, ids = self._values[part], self._ids[part]
        mask = values == groups[0].top
        if len(groups) < len(self._groups) or any(group.top != groups[0].top for group in groups):
            mask &= ids == groups[0].id
            for group in groups[1:]:
                mask |= (values == group.top) & (ids == group.id)
        return start + int(mask.nonzero()[0][chosen] if chosen else mask.argmax())

    def check_invariants(self, values: Values) -> None:
        """Raise :class:`InvariantError` if this is not what is made of *values* from nothing; O(rows)."""
        fresh = GroupedMaxima(self.columns)
        fresh.rebuild(values, self._size)
        if sorted(self.present()) != sorted(fresh.present()) or any(
            group.parts() != fresh._groups[key].parts() for key, group in self._groups.items()
        ):
            raise InvariantError("maxima by group are not those of the column")


def _put_in(group: Group, block: int, value: int) -> None:
    group.rows += 1
    best = group.best[block]
    if value > best:
        group.best[block], group.count[block] = value, 1
    elif value == best:
        group.count[block] += 1
    else:
        return
    if value > group.top:
        group.top, group.ties = value, 1
    elif value == group.top and group.ties:
        group.ties += 1


def _masks(here: Mask, columns: Sequence[Codes]) -> list[tuple[Key, Mask]] | None:
    """For each group of the rows *here* which rows it has; ``None`` if there are too many groups."""
    found: list[tuple[Key, Mask]] = [((), here)]
    for column in columns:
        finer: list[tuple[Key, Mask]] = []
        for key, mask in found:
            left = column[mask]
            while len(left):
                if len(finer) == MOST_GROUPS:
                    return None
                code = int(left[0])
                finer.append(((*key, code), mask & (column == code)))
                left = left[left != code]
        found = finer
    return found


@define(eq=False)
class _Way:
    """One way to group the rows of a class."""

    grouped: GroupedMaxima
    version: int
    """Of the row log at the last visit."""
    seen: int
    """``rebuilds`` of the class's maxima at the last visit."""
    built: int = -1
    """The same when ``grouped`` was made; -1: it is not."""
    wait: int = 0
    """Visits until it is tried again, after there were too many groups."""


@define(eq=False)
class Groupings:
    """The ways in which the rows of one class of pods are grouped, those that were asked for last.

    A way is followed from a visit on before which not much happened since the one before: classes that take
    turns with many others, or whose totals all change for each pod, would make everything anew each time.
    """

    _ways: OrderedDict[Key, _Way] = field(factory=OrderedDict)

    @property
    def nbytes(self) -> int:
        """Memory of the columns, in bytes."""
        return sum(way.grouped.nbytes for way in self._ways.values())

    def of(self, columns: tuple[Codes, ...], maxima: BlockedMaxima, table: NodeTable) -> GroupedMaxima | None:
        """The values of *maxima* by *columns*, up to date; ``None`` if passes over all rows cost less.

        These are arrays that change only where the table's row log says so; other arrays are another way to
        group. O(rows touched since the last visit), else as :meth:`GroupedMaxima.rebuild`.
        """
        if min(map(len, columns)) < table.size:
            return None
        key, version = tuple(map(id, columns)), table.row_log.version
        way = self._ways.get(key)
        if way is None:
            if len(self._ways) >= MOST_KEPT:
                self._ways.popitem(last=False)
            self._ways[key] = _Way(GroupedMaxima(columns), version, maxima.rebuilds)
            return None
        if len(self._ways) > 1:
            self._ways.move_to_end(key)
        since, way.version = way.version, version
        seen, way.seen = way.seen, maxima.rebuilds
        if version - since > MOST_MISSED:
            way.built = -1
            return None
        if way.built == maxima.rebuilds and self._catch_up(way, since, maxima, table):
            return way.grouped
        if seen == maxima.rebuilds:
            return self._made(way, maxima, table)
        return None

    def _catch_up(self, way: _Way, since: int, maxima: BlockedMaxima, table: NodeTable) -> bool:
        rows = table.row_log.since(since)
        return rows is not None and way.grouped.update(rows, maxima.values)

    def _made(self, way: _Way, maxima: BlockedMaxima, table: NodeTable) -> GroupedMaxima | None:
        way.built = -1
        if way.wait:
            way.wait -= 1
        elif way.grouped.rebuild(maxima.values, table.size):
            way.built = maxima.rebuilds
            return way.grouped
        else:
            way.wait = _WAIT
        return None
