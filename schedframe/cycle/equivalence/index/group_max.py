"""GroupMax: the best rows by group, for uncached plugins that score or filter rows by group."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ....errors import InvariantError
from ....state import NodeTable
from ...search.tie_breaking import INFEASIBLE, Scores, many
from .. import policy

Codes = npt.NDArray[Any]
"""An integer per row."""
Mask = npt.NDArray[np.bool_]
Key = tuple[int, ...]
"""The codes that the rows of a group have."""


@define(eq=False)
class Group:
    """The feasible rows with one key: by block of rows the highest score, and the number of rows with it."""

    key: Key
    id: int
    rows: int
    best: list[int]
    """:data:`INFEASIBLE` for a block without such rows."""
    count: list[int]
    top: int = INFEASIBLE
    ties: int = 0
    """Rows that have ``top``; 0: not computed."""

    def parts(self) -> tuple[int, list[int], list[int], int, int]:
        """All values, for a comparison."""
        return self.rows, self.best, self.count, self.top, self.ties

    def settle(self) -> bool:
        """Compute ``top`` and ``ties``; ``False`` if the group has no rows. O(blocks)."""
        self.top = top = max(self.best)
        if top == INFEASIBLE:
            return False
        self.ties = sum([n for best, n in zip(self.best, self.count, strict=True) if best == top])
        return True


@define(eq=False)
class GroupMax:
    """Scores of rows (:data:`INFEASIBLE` for a row that must not be chosen) by group.

    ``update`` is O(changed rows), and O(block) for one that was the last at its block's maximum; ``choose``
    is O(groups x blocks + block). Memory: 12 bytes a row.
    """

    columns: tuple[Codes, ...]
    """Of the plugin, compared by identity: rows that agree in all of them make a group."""
    limit: int
    """Groups at most; with more, passes over all rows are quicker."""
    _values: Scores = field(factory=lambda: np.empty(0, np.int64))
    """As of the last update, like ``_ids``."""
    _ids: npt.NDArray[np.int32] = field(factory=lambda: np.empty(0, np.int32))
    _size: int = 0
    _shift: int = 0
    _blocks: int = 0
    _groups: dict[Key, Group] = field(factory=dict)
    _by_id: dict[int, Group] = field(factory=dict)
    _next_id: int = 0

    @property
    def nbytes(self) -> int:
        """Memory of the columns, in bytes."""
        return self._values.nbytes + self._ids.nbytes

    def rebuild(self, values: Scores, size: int) -> bool:
        """Group the first *size* rows; ``False``, and nothing is kept, if there are too many groups.

        O(groups x rows).
        """
        self._groups, self._by_id, self._size = {}, {}, size
        self._values, self._ids = np.empty(0, np.int64), np.empty(0, np.int32)
        values = values[:size].copy()
        found = _masks(values != INFEASIBLE, [column[:size] for column in self.columns], self.limit)
        if found is None:
            return False
        self._values, self._ids = values, np.full(size, -1, np.int32)
        self._shift = policy.block_shift(size)
        width = 1 << self._shift
        starts = np.arange(0, size, width)
        self._blocks = len(starts)
        for key, mask in found:
            part = np.where(mask, values, INFEASIBLE)
            best = np.maximum.reduceat(part, starts)
            ties = part == best.repeat(width)[:size]
            count = np.add.reduceat(ties, starts, dtype=np.int64)
            count[best == INFEASIBLE] = 0
            group = self._add(key, best.tolist(), count.tolist())
            group.rows = int(np.count_nonzero(mask))
            self._ids[mask] = group.id
        return True

    def _add(self, key: Key, best: list[int], count: list[int]) -> Group:
        group = self._groups[key] = self._by_id[self._next_id] = Group(key, self._next_id, 0, best, count)
        self._next_id += 1
        return group

    def update(self, rows: Iterable[int], values: Scores) -> bool:
        """Take in *rows* whose scores or codes may have changed; ``False`` if all must be rebuilt."""
        groups, shift, size = self._groups, self._shift, self._size
        now_values, now_codes = values.data, [column.data for column in self.columns]
        old_values, ids = self._values.data, self._ids.data
        for row in rows:
            if row >= size:
                return False
            value, old = now_values[row], old_values[row]
            if value == old == INFEASIBLE:
                continue
            key = tuple([codes[row] for codes in now_codes])
            group, block = groups.get(key), row >> shift
            if old != INFEASIBLE:
                before = self._by_id[ids[row]]
                if value == old and group is before:
                    continue
                old_values[row] = INFEASIBLE
                self._take_out(before, block, old)
                if value == INFEASIBLE:
                    continue
            if group is None:
                if len(groups) >= self.limit:
                    return False
                group = self._add(key, [INFEASIBLE] * self._blocks, [0] * self._blocks)
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
            best = group.best[block] = int(members.max(initial=INFEASIBLE))
            group.count[block] = int(np.count_nonzero(members == best)) if best != INFEASIBLE else 0

    def present(self) -> list[Key]:
        """The keys of the groups that have feasible rows; others are dropped.

        O(groups), and O(blocks) for each whose best row is gone.
        """
        groups = self._groups
        gone = [group for group in groups.values() if not group.ties and not group.settle()]
        for group in gone:
            del groups[group.key], self._by_id[group.id]
        return list(groups)

    def chosen(self, passes: Sequence[bool]) -> list[Group]:
        """The groups that pass, in the order of :meth:`present`, which must come first."""
        return [group for group, passed in zip(self._groups.values(), passes, strict=True) if passed]

    def rows_of(self, groups: Sequence[Group]) -> npt.NDArray[np.intp]:
        """The rows of *groups*, ascending; O(rows)."""
        here = np.isin(self._ids, [group.id for group in groups])
        here &= self._values != INFEASIBLE
        return here.nonzero()[0]

    def choose(
        self, gains: Sequence[int], rng: Random, size: int, among: Sequence[Group] | None = None
    ) -> int:
        """One of the rows with the highest sum of score and gain, in a table of *size* rows.

        *gains*: by group in the order of :meth:`present`, which must come first, or of *among*.
        """
        groups = list(self._groups.values()) if among is None else among
        if len(groups) == 1:
            few = groups[0].ties < many(size)
            return self._one_of_group(groups[0], rng) if few else self._one_of_many(groups, rng, size)
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
        raise InvariantError("groups count more best rows than their blocks")

    def scores_at(
        self, positions: npt.NDArray[np.intp], gains: Sequence[int], among: Sequence[Group] | None = None
    ) -> Scores:
        """The sums of score and gain of these feasible rows, as in :meth:`choose`; O(rows)."""
        groups = self._groups.values() if among is None else among
        gain_of = {group.id: gain for group, gain in zip(groups, gains, strict=True)}
        ids = self._ids[positions].tolist()
        return self._values[positions] + np.array([gain_of[each] for each in ids], np.int64)

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
        """The row of a block at position *chosen* among the best rows of *groups*."""
        start = block << self._shift
        part = slice(start, min(start + (1 << self._shift), self._size))
        values, ids = self._values[part], self._ids[part]
        mask = values == groups[0].top
        if len(groups) < len(self._groups) or any(group.top != groups[0].top for group in groups):
            mask &= ids == groups[0].id
            for group in groups[1:]:
                mask |= (values == group.top) & (ids == group.id)
        return start + int(mask.nonzero()[0][chosen] if chosen else mask.argmax())

    def check_invariants(self, values: Scores) -> None:
        """Raise :class:`InvariantError` unless a rebuild from *values* gives the same; O(rows)."""
        fresh = GroupMax(self.columns, self.limit)
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


def _masks(here: Mask, columns: Sequence[Codes], limit: int) -> list[tuple[Key, Mask]] | None:
    """The key and the mask of each group of the rows *here*; ``None`` if there are more than *limit*."""
    found: list[tuple[Key, Mask]] = [((), here)]
    for column in columns:
        finer: list[tuple[Key, Mask]] = []
        for key, mask in found:
            left = column[mask]
            while len(left):
                if len(finer) == limit:
                    return None
                code = int(left[0])
                finer.append(((*key, code), mask & (column == code)))
                left = left[left != code]
        found = finer
    return found


@define(eq=False)
class _Grouping:
    """One way to group the rows of a class."""

    group_max: GroupMax
    version: int
    """Of the row log at the last visit."""
    seen: int
    """Generation of the scores at the last visit."""
    built: int = -1
    """Generation of the scores when ``group_max`` was built; -1: not built."""
    wait: int = 0
    """Visits until it is built again, after there were too many groups."""


@define(eq=False)
class GroupMaxCache:
    """The ways in which the rows of one class are grouped, most recently used last.

    A way is maintained from the second of two visits on between which little happened: for classes that
    alternate with many others, or whose scores all change with each pod, each visit would rebuild it.
    """

    policy: policy.Policy
    _groupings: OrderedDict[Key, _Grouping] = field(factory=OrderedDict)

    @property
    def nbytes(self) -> int:
        """Memory of the columns, in bytes."""
        return sum(each.group_max.nbytes for each in self._groupings.values())

    def of(
        self, columns: tuple[Codes, ...], values: Scores, generation: int, table: NodeTable
    ) -> GroupMax | None:
        """The scores *values* by *columns*, up to date; ``None`` if passes over all rows cost less.

        *generation* changes when all of *values* may have changed; else the row log names the rows. The same
        goes for the columns: other arrays are another way to group. O(dirty rows), or as
        :meth:`GroupMax.rebuild`.
        """
        if columns and min(map(len, columns)) < table.size:
            return None
        key, version = tuple(map(id, columns)), table.row_log.version
        way = self._groupings.get(key)
        if way is None:
            if len(self._groupings) >= self.policy.groupings:
                self._groupings.popitem(last=False)
            self._groupings[key] = _Grouping(GroupMax(columns, self.policy.groups), version, generation)
            return None
        if len(self._groupings) > 1:
            self._groupings.move_to_end(key)
        since, way.version = way.version, version
        seen, way.seen = way.seen, generation
        if version - since > self.policy.rowwise_rows:
            way.built = -1
            return None
        if way.built == generation:
            rows = table.row_log.since(since)
            if rows is not None and way.group_max.update(rows, values):
                return way.group_max
        return self._rebuilt(way, values, generation, table.size) if seen == generation else None

    def _rebuilt(self, way: _Grouping, values: Scores, generation: int, size: int) -> GroupMax | None:
        way.built = -1
        if way.wait:
            way.wait -= 1
        elif way.group_max.rebuild(values, size):
            way.built = generation
            return way.group_max
        else:
            way.wait = self.policy.retry_after
        return None

    def check_invariants(self, values: Scores, generation: int, table: NodeTable) -> None:
        """Raise :class:`InvariantError` if a current way disagrees with *values*; O(ways x rows)."""
        for way in self._groupings.values():
            rows = table.row_log.since(way.version)
            if way.built == generation and rows is not None and way.group_max.update(rows, values):
                way.version = table.row_log.version
                way.group_max.check_invariants(values)
