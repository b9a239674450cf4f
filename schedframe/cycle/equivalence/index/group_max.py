"""GroupMax: the best rows by group, for uncached plugins that score or filter rows by group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, field

from ...._base.value import record
from ....errors import InvariantError
from ....state import NodeTable
from ....state.greatest import greatest
from ....state.row_states import split_rows
from ...search.tie_breaking import INFEASIBLE, Scores, many
from .. import policy

Codes = npt.NDArray[Any]
"""An integer per row."""
Mask = npt.NDArray[np.bool_]
Key = tuple[int, ...]
"""The codes that the rows of a group have."""
Gains = Sequence[int | None]
"""What is added to the scores of each group; ``None`` for a group that does not pass."""


@record
class Group:
    """The feasible rows with one key: by block of rows the highest score, and the number of rows with it."""

    key: Key
    id: int
    best: list[int]
    """:data:`INFEASIBLE` for a block without such rows."""
    count: list[int]
    rows: int = 0
    top: int = INFEASIBLE
    ties: int = 0
    """Rows that have ``top``; 0: not computed."""

    def settle(self) -> bool:
        """Compute ``top`` and ``ties``; ``False`` if the group has no rows. O(blocks)."""
        self.top = top = max(self.best)
        if top == INFEASIBLE:
            return False
        self.ties = sum([n for best, n in zip(self.best, self.count, strict=True) if best == top])
        return True

    def add(self, block: int, value: int) -> None:
        """Add a row with that score; O(1)."""
        self.rows += 1
        best = self.best[block]
        if value > best:
            self.best[block], self.count[block] = value, 1
        elif value == best:
            self.count[block] += 1
        if value > self.top:
            self.top, self.ties = value, 1
        elif value == self.top and self.ties:
            self.ties += 1


@record(eq=False)
class GroupMax:
    """Scores of rows (:data:`INFEASIBLE` for a row that must not be chosen) by group.

    ``update`` is O(changed rows), and O(block) for one that was the last at its block's maximum; ``choose``
    is O(groups x blocks + block). Memory: 12 bytes a row.
    """

    columns: tuple[Codes, ...]
    """Of the plugin, compared by identity: rows that agree in all of them make a group."""
    policy: policy.Policy
    version: int = -1
    """Row log position of the last visit."""
    seen: int = -1
    """Generation of the scores at the last visit."""
    built: int = -1
    """Generation of the scores when the groups were built; -1: not built."""
    wait: int = 0
    """Visits until they are built again, after there were too many groups."""
    _values: Scores = field(factory=lambda: np.empty(0, np.int64))
    """As of the last update, like ``_ids``."""
    _ids: npt.NDArray[np.int32] = field(factory=lambda: np.empty(0, np.int32))
    """By row the group; that of an earlier score for a row that must not be chosen."""
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
        self._groups, self._by_id = {}, {}
        self._values, self._ids = np.empty(0, np.int64), np.empty(0, np.int32)
        values = values[:size].copy()
        parts = split_rows((values != INFEASIBLE).nonzero()[0], self.columns, self.policy.groups)
        if parts is None:
            return False
        self._values, self._ids = values, np.full(size, -1, np.int32)
        self._shift = policy.block_shift(size)
        self._blocks = -(-size >> self._shift)
        for rows in parts:
            blocks, scores = rows >> self._shift, values[rows]
            best = np.full(self._blocks, INFEASIBLE, np.int64)
            np.maximum.at(best, blocks, scores)
            count = np.bincount(blocks[scores == best[blocks]], minlength=self._blocks)
            key = tuple([int(column[rows[0]]) for column in self.columns])
            group = self._new(key, best.tolist(), count.tolist())
            group.rows = len(rows)
            group.settle()
            self._ids[rows] = group.id
        return True

    def _new(self, key: Key, best: list[int], count: list[int]) -> Group:
        group = self._groups[key] = self._by_id[self._next_id] = Group(key, self._next_id, best, count)
        self._next_id += 1
        return group

    def update(self, rows: Iterable[int], values: Scores) -> bool:
        """Take in *rows* whose scores or codes may have changed; ``False`` if all must be rebuilt."""
        groups, shift, size = self._groups, self._shift, len(self._values)
        now_values, now_codes = values.data, [column.data for column in self.columns]
        old_values, ids = self._values.data, self._ids.data
        for row in rows:
            if row >= size:
                if now_values[row] == INFEASIBLE:
                    continue
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
                if len(groups) >= self.policy.groups:
                    return False
                group = self._new(key, [INFEASIBLE] * self._blocks, [0] * self._blocks)
            old_values[row], ids[row] = value, group.id
            group.add(block, value)
        return True

    def _take_out(self, group: Group, block: int, value: int) -> None:
        group.rows -= 1
        if value != group.best[block]:
            return
        if value == group.top and group.ties:
            group.ties -= 1
        group.count[block] -= 1
        if not group.count[block]:
            part = slice(block << self._shift, block + 1 << self._shift)
            members = self._values[part][self._ids[part] == group.id]
            best = group.best[block] = int(greatest(members)) if len(members) else INFEASIBLE
            group.count[block] = int(np.count_nonzero(members == best)) if best != INFEASIBLE else 0

    def present(self) -> list[Key]:
        """Return the keys of the groups that have feasible rows; others are dropped.

        O(groups), and O(blocks) for each whose best row is gone.
        """
        groups = self._groups
        gone = [group for group in groups.values() if not group.ties and not group.settle()]
        for group in gone:
            del groups[group.key], self._by_id[group.id]
        return list(groups)

    def chosen(self, gains: Gains) -> list[Group]:
        """Return the groups that pass, those with a gain; :meth:`present` must come first."""
        return [group for group, gain in zip(self._groups.values(), gains, strict=True) if gain is not None]

    def rows_of(self, groups: Sequence[Group]) -> npt.NDArray[np.intp]:
        """Return the rows of *groups*, ascending; O(rows)."""
        here = np.isin(self._ids, [group.id for group in groups])
        here &= self._values != INFEASIBLE
        return here.nonzero()[0]

    def choose(self, gains: Gains, rng: Random, size: int) -> int:
        """Return one of the rows with the highest sum of score and gain, in a table of *size* rows.

        *gains*: by group in the order of :meth:`present`, which must come first.
        """
        pairs = zip(self._groups.values(), gains, strict=True)
        sums = [(group, group.top + gain) for group, gain in pairs if gain is not None]
        highest = max([total for _, total in sums])
        best = [group for group, total in sums if total == highest]
        ties = sum([group.ties for group in best])
        if ties >= many(size):
            return self._one_of_many(best, rng, size)
        chosen = rng.randrange(ties) if ties > 1 else 0
        cells = [(group.best, group.count, group.top) for group in best]
        for block in range(self._blocks):
            before = chosen
            for highs, counts, top in cells:
                if highs[block] == top:
                    chosen -= counts[block]
            if chosen < 0:
                return self._at(block, best, before)
        raise InvariantError("groups count more best rows than their blocks")

    def scores_at(self, positions: npt.NDArray[np.intp], gains: Gains) -> Scores:
        """Return the sums of score and gain of these feasible rows, as in :meth:`choose`; O(rows)."""
        gain_of = {group.id: gain for group, gain in zip(self._groups.values(), gains, strict=True)}
        ids = self._ids[positions].tolist()
        return self._values[positions] + np.array([gain_of[each] for each in ids], np.int64)

    def _one_of_many(self, best: Sequence[Group], rng: Random, size: int) -> int:
        values, ids, counted, random = self._values.data, self._ids.data, len(self._values), rng.random
        tops = {group.id: group.top for group in best}
        while True:
            row = int(random() * size)
            if row < counted and tops.get(ids[row]) == values[row]:
                return row

    def _at(self, block: int, groups: Sequence[Group], chosen: int) -> int:
        """Return the row of a block at position *chosen* among the best rows of *groups*."""
        start = block << self._shift
        part = slice(start, start + (1 << self._shift))
        values, ids = self._values[part], self._ids[part]
        tied = (values == groups[0].top) & (ids == groups[0].id)
        for group in groups[1:]:
            tied |= (values == group.top) & (ids == group.id)
        return start + int(tied.nonzero()[0][chosen] if chosen else tied.argmax())

    def check_invariants(self, values: Scores) -> None:
        """Raise :class:`InvariantError` unless a rebuild from *values* gives the same; O(rows)."""
        fresh = GroupMax(self.columns, self.policy)
        fresh.rebuild(values, len(self._values))
        self.present()
        mine, other = (
            {key: evolve(group, id=0) for key, group in each._groups.items()} for each in (self, fresh)
        )
        if mine != other:
            raise InvariantError("maxima by group are not those of the column")

    # ---- catching up -------------------------------------------------------------------------------------

    def catch_up(self, values: Scores, generation: int, table: NodeTable) -> bool:
        """Take in the scores *values*; ``False`` if passes over all rows cost less.

        Groups are maintained from the second of two visits on between which little happened: for classes
        that alternate with many others, or whose scores all change with each pod, each visit would rebuild.
        """
        since, self.version = self.version, table.row_log.version
        seen, self.seen = self.seen, generation
        if seen < 0 or self.version - since > self.policy.rowwise_rows:
            self.built = -1
            return False
        if self.built == generation:
            rows = table.row_log.since(since)
            if rows is not None and self.update(rows, values):
                return True
        self.built = -1
        if seen == generation and self.wait:
            self.wait -= 1
        elif seen == generation and self.rebuild(values, table.size):
            self.built = generation
        elif seen == generation:
            self.wait = self.policy.retry_after
        return self.built >= 0


@record(eq=False)
class GroupMaxCache:
    """The ways in which the rows of one class are grouped; of too many, all are dropped."""

    policy: policy.Policy
    _ways: dict[Key, GroupMax] = field(factory=dict)

    @property
    def nbytes(self) -> int:
        """Memory of the columns, in bytes."""
        return sum(way.nbytes for way in self._ways.values())

    def of(
        self, columns: tuple[Codes, ...], values: Scores, generation: int, table: NodeTable
    ) -> GroupMax | None:
        """Return the scores *values* by *columns*, up to date; ``None`` if passes over all rows cost less.

        *generation* changes when all of *values* may have changed; else the row log names the rows. The same
        goes for the columns: other arrays are another way to group. O(dirty rows), or as
        :meth:`GroupMax.rebuild`.
        """
        if columns and min(map(len, columns)) < table.size:
            return None
        key = tuple(map(id, columns))
        way = self._ways.get(key)
        if way is None:
            if len(self._ways) >= self.policy.groupings:
                self._ways.clear()
            way = self._ways[key] = GroupMax(columns, self.policy)
        return way if way.catch_up(values, generation, table) else None

    def check_invariants(self, values: Scores, generation: int, table: NodeTable) -> None:
        """Raise :class:`InvariantError` if a current way disagrees with *values*; O(ways x rows)."""
        for way in self._ways.values():
            rows = table.row_log.since(way.version)
            if way.built == generation and rows is not None and way.update(rows, values):
                way.version = table.row_log.version
                way.check_invariants(values)
