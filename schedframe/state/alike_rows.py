"""Rows by what their nodes have and use: where only that counts, one answer goes for a whole group."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ..api import PodResources
from ..errors import InvariantError
from .node_table import LazyRows, Rows

if TYPE_CHECKING:
    from .node_table import NodeTable

Codes = npt.NDArray[np.int32]
Column = npt.NDArray[np.int64]
Positions = npt.NDArray[np.intp]
Key = tuple[Any, ...] | None

MOST_GROUPS: Final = 4096
"""So many groups are known at once, those without rows included."""
MOST_BORN: Final = 4096
"""So many of the groups that came to have rows are listed, at least."""
_SHARE: Final = 2
"""There must be so many rows a group when this begins, and of the groups one in so many may have rows."""
_SAMPLE: Final = 128
"""So many rows are looked at to see whether all are worth it."""
_MOST_NUMBERS: Final = 2**20
"""For more groups than so many, those of the past included, there is no table."""
_SMALLEST_SHIFT: Final = 11
_LARGEST_SHIFT: Final = 14
_BLOCKS_SHIFT: Final = 4
_FEW: Final = 3
"""So many groups are looked for one by one."""
_MOST_AFTER: Final = 64
"""Of so many different requests it is known where rows of a group go by them."""
_OUT: Final = 0
"""Number of the group of the rows that are left out, which have no amounts."""


@define(eq=False)
class RowGroup:
    """The rows that have the same amounts and marks: how many, and how many in each block."""

    number: int
    key: Key
    mark: tuple[int, ...]
    blocks: list[int]
    count: int = 0
    row: int = -1
    """The one that joined last, and may have left."""
    after: dict[PodResources, RowGroup] = field(factory=dict)
    """By what a pod requests the group of a row of this one to which such a pod came."""


@define(eq=False)
class AlikeRows:
    """The rows of a table in groups with the same amounts and marks, but for those that have a code.

    To follow a row that changed is O(amounts), whoever asks: what is known of the groups goes for their rows,
    and no row need be looked at. Gives itself up where hardly two rows have the same amounts. Memory: 4 bytes
    a row.
    """

    table: NodeTable
    marks: tuple[Column, ...] = ()
    """Columns of somebody else's: rows of a group do not differ in them either."""
    usable: bool = False
    """Whether the rows are in groups at all."""
    born: list[RowGroup] = field(factory=list)
    """Groups that came to have rows, the last one at the end."""
    dropped: int = 0
    """So many that were born before are not listed any more."""
    version: int = -1
    """Position in the table's log of row changes up to which this is true."""
    _groups: dict[Key, RowGroup] = field(factory=dict)
    _by_number: dict[int, RowGroup] = field(factory=dict)
    numbers: Any = None
    """By row the number of its group, 0 for one that is left out: a memoryview."""
    _column: npt.NDArray[np.int32] = field(factory=lambda: np.zeros(0, np.int32))
    _cells_of_marks: list[Any] = field(init=False)
    _shift: int = 0
    _last: int = _OUT
    _wanted: npt.NDArray[np.bool_] = field(factory=lambda: np.zeros(MOST_GROUPS, np.bool_))
    """By number of a group whether its rows are looked for; false while nobody does."""

    def __attrs_post_init__(self) -> None:
        self._cells_of_marks = [column.data for column in self.marks]

    @property
    def nbytes(self) -> int:
        """Memory of what is kept by row, in bytes."""
        return self._column.nbytes

    def groups(self) -> list[RowGroup]:
        """Those that have rows."""
        return [group for group in self._groups.values() if group.count]

    @property
    def count(self) -> int:
        """How many rows are in groups."""
        return sum([group.count for group in self._groups.values()])

    def every(self) -> Rows:
        """Those rows, ascending, found out if somebody asks."""
        return LazyRows(self.table, self.count, lambda: self._column[: self.table.size].nonzero()[0])

    # ---- following ---------------------------------------------------------------------------------------

    def sync(self, codes: Codes) -> bool:
        """Catch up with the table; whether this can be used.

        *codes*: those of its rows, 0 for one that is not left out; changed, like the marks, where the table's
        log says so.
        """
        table, log = self.table, self.table.row_log
        if not self.usable or self.version == log.version:
            return self.usable
        latest = table.last_assume
        if latest is not None and latest[0] == log.version == self.version + 1:
            self.version = log.version
            if not self._pod_came(latest[1], latest[2]):
                self._give_up()
            return self.usable
        rows = log.since(self.version) if table.size <= len(self._column) else None
        if rows is None:
            return self.rebuild(codes)
        self.version = log.version
        if not self._follow(set(rows), codes.data):
            self._give_up()
        return self.usable

    def _pod_came(self, row: int, requests: PodResources) -> bool:
        """Nothing happened but that: rows of a group go to the same group by it, which is looked up.

        There is room for another, so how many pods there were does not count.
        """
        numbers = self.numbers
        number = numbers[row] if row < len(numbers) else _OUT
        if number == _OUT:
            # Nor does a pod change that a row is left out, as one of no node is.
            return True
        old = self._by_number[number]
        new = old.after.get(requests)
        if new is None:
            new = self._learn(old, row, requests)
            if new is None:
                return False
        if new is not old:
            self._move(row, old, new)
        return True

    def _learn(self, old: RowGroup, row: int, requests: PodResources) -> RowGroup | None:
        key = self._key_of(row)
        new = self._groups.get(key) or self._new(key)
        if new is not None:
            if len(old.after) >= _MOST_AFTER:
                old.after.clear()
            old.after[requests] = new
        return new

    def _follow(self, rows: Collection[int], codes: memoryview[int]) -> bool:
        groups, by_number, numbers = self._groups, self._by_number, self.numbers
        for row in rows:
            old = by_number.get(numbers[row])
            if codes[row]:
                new = None
            else:
                key = self._key_of(row)
                new = groups.get(key) or self._new(key)
                if new is None:
                    return False
            if new is not old:
                self._move(row, old, new)
        return True

    def _move(self, row: int, old: RowGroup | None, new: RowGroup | None) -> None:
        """From one group to another; ``None``: left out."""
        block = row >> self._shift
        if old is not None:
            old.blocks[block] -= 1
            old.count -= 1
        if new is None:
            self.numbers[row] = _OUT
            return
        self.numbers[row] = new.number
        new.row = row
        new.blocks[block] += 1
        new.count += 1
        if new.count == 1:
            self._note_birth(new)

    # ---- looking for rows --------------------------------------------------------------------------------

    def one_of(self, group: RowGroup) -> int:
        """Some row of a group that has any; O(1) if the last one that joined is still there."""
        row = group.row
        return row if self.numbers[row] == group.number else self.nth((group,), 0)

    def nth(self, groups: Sequence[RowGroup], n: int) -> int:
        """The row at position *n* among those of all *groups*, ascending; O(groups × blocks + block)."""
        for block, counts in enumerate(zip(*[group.blocks for group in groups], strict=True)):
            count = sum(counts)
            if n < count:
                start = block << self._shift
                part = self._column[start : start + (1 << self._shift)]
                here = [group for group in groups if group.blocks[block]]
                return start + int(self._are_of(here, part).nonzero()[0][n])
            n -= count
        raise InvariantError("groups of rows have fewer rows than they count")

    def rows_of(self, groups: Collection[RowGroup]) -> Positions:
        """All rows of *groups*, ascending; O(rows)."""
        if not groups:
            return np.empty(0, np.intp)
        return self._are_of(groups, self._column[: self.table.size]).nonzero()[0]

    def _are_of(self, groups: Collection[RowGroup], part: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        if len(groups) <= _FEW:
            masks = [part == group.number for group in groups]
            return functools.reduce(np.logical_or, masks)
        numbers = np.array([group.number for group in groups])
        if self._last > _MOST_NUMBERS:
            return np.isin(part, numbers)
        if self._last >= len(self._wanted):
            self._wanted = np.zeros(2 * self._last, np.bool_)
        wanted = self._wanted
        wanted[numbers] = True
        found = wanted.take(part)
        wanted[numbers] = False
        return found

    # ---- groups ------------------------------------------------------------------------------------------

    def _key_of(self, row: int) -> Key:
        """Amounts and marks; ``None`` if there are too many resources to look at all."""
        amounts = self.table.amounts_at(row)
        return None if amounts is None else (*amounts, *[cells[row] for cells in self._cells_of_marks])

    def _new(self, key: Key) -> RowGroup | None:
        """A group for these; ``None`` if there are too many, or no amounts."""
        if key is None:
            return None
        if len(self._groups) >= MOST_GROUPS:
            for group in [each for each in self._groups.values() if not each.count]:
                del self._groups[group.key], self._by_number[group.number]
            self._forget_after()
            # Else this would be done again and again.
            if len(self._groups) * _SHARE > MOST_GROUPS:
                return None
        self._last += 1
        blocks = 1 + (max(len(self._column), 1) - 1 >> self._shift)
        mark = key[len(key) - len(self.marks) :]
        group = RowGroup(self._last, key, mark, [0] * blocks)
        self._groups[key] = self._by_number[group.number] = group
        return group

    def _forget_after(self) -> None:
        for group in self._groups.values():
            group.after.clear()

    def _note_birth(self, group: RowGroup) -> None:
        self.born.append(group)
        if len(self.born) > 2 * MOST_BORN:
            del self.born[:MOST_BORN]
            self.dropped += MOST_BORN

    # ---- from nothing ------------------------------------------------------------------------------------

    def rebuild(self, codes: Codes) -> bool:
        """Look at all rows; whether it is worth it. O(rows × amounts)."""
        table, capacity = self.table, self.table.capacity
        self._give_up()
        if not self._is_worth_it(codes):
            return False
        self._shift = min(max(_SMALLEST_SHIFT, (capacity - 1).bit_length() - _BLOCKS_SHIFT), _LARGEST_SHIFT)
        self._column = np.full(capacity, _OUT, np.int32)
        self.numbers = self._column.data
        columns = [*table.quantities(), *self.marks]
        width = 1 << self._shift
        for block, start in enumerate(range(0, table.size, width)):
            # Block by block: what one pass reads is still in the cache at the next.
            rows = (codes[start : min(start + width, table.size)] == 0).nonzero()[0] + start
            if len(rows) and not self._put(block, rows, columns):
                self._give_up()
                return False
        self.usable, self.version = True, table.row_log.version
        return True

    def _is_worth_it(self, codes: Codes) -> bool:
        """Whether many of some rows have the same amounts."""
        size = self.table.size
        some = [row for row in range(0, size, max(1, size // _SAMPLE)) if not codes[row]]
        kinds = {self._key_of(row) for row in some}
        return None not in kinds and len(kinds) <= max(len(some) // _SHARE, 1)

    def _put(self, block: int, rows: Positions, columns: list[Column]) -> bool:
        """Put the rows of one block into groups; ``False`` if there are too many."""
        parts = [rows]
        for column in columns:
            finer = _split(parts, column, MOST_GROUPS)
            if finer is None:
                return False
            parts = finer
        for part in parts:
            key = self._key_of(int(part[0]))
            group = self._groups.get(key) or self._new(key)
            if group is None:
                return False
            if not group.count:
                self._note_birth(group)
            group.count += len(part)
            group.blocks[block] = len(part)
            group.row = int(part[0])
            self._column[part] = group.number
        return True

    def _give_up(self) -> None:
        self.usable = False
        # One more than there were: whoever knew them all begins anew, too.
        self.dropped += len(self.born) + 1
        self.born.clear()
        self._groups.clear()
        self._by_number.clear()
        self._column = np.zeros(0, np.int32)

    def check_invariants(self, codes: Codes) -> None:
        """Raise :class:`InvariantError` if these are not the rows by amounts, just synced; O(rows)."""
        if not self.usable:
            return
        numbers = self._column[: self.table.size]
        if set(numbers.nonzero()[0].tolist()) != set((codes[: self.table.size] == 0).nonzero()[0].tolist()):
            raise InvariantError("the rows in groups are not those that are not left out")
        if not set(numbers.tolist()) <= {_OUT, *self._by_number} or self._column[self.table.size :].any():
            raise InvariantError("rows have numbers of no group")
        for group in self._groups.values():
            rows = (numbers == group.number).nonzero()[0]
            blocks = np.bincount(rows >> self._shift, minlength=len(group.blocks)).tolist()
            if (
                group.count != len(rows)
                or group.blocks != blocks
                or self._by_number[group.number] is not group
            ):
                raise InvariantError(f"group {group.number} has other rows than it counts, or is misfiled")
            keys = {self._key_of(row) for row in rows.tolist()}
            if len(keys) > 1 or any(
                sorted(key or (), key=str) != sorted(group.key or (), key=str) for key in keys
            ):
                raise InvariantError(f"group {group.number} has rows with different amounts or marks")
            if any(self._by_number.get(new.number) is not new for new in group.after.values()):
                raise InvariantError(f"rows of group {group.number} would go to one that is not there")


def _split(parts: list[Positions], column: Column, most: int) -> list[Positions] | None:
    """Each part by the values of *column*; ``None`` if that makes too many."""
    finer: list[Positions] = []
    for part in parts:
        left, values = part, column[part]
        while True:
            same = values == values[0]
            if same.all():
                finer.append(left)
                break
            finer.append(left[same])
            if len(finer) > most:
                return None
            np.logical_not(same, out=same)
            left, values = left[same], values[same]
    return finer
