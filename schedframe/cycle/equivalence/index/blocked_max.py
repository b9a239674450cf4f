"""The best rows of a column that changes a row at a time."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable
from random import Random

import numpy as np
import numpy.typing as npt

from ....errors import InvariantError
from ...search.tie_breaking import many

Values = npt.NDArray[np.int64]
Cells = list[int] | memoryview

OUT: int = int(np.iinfo(np.int64).min)
"""The value of a row that may not be chosen."""
_SMALLEST_SHIFT = 6
_LARGEST_SHIFT = 11
_SMALL = 1 << 16
"""Up to so many rows are looked through once without making blocks."""
_BYTES_A_TIE = 4
_GROUP_SHIFT = 5
_FEW = 1 << _GROUP_SHIFT
"""Up to so many blocks are kept in lists: to go through those costs less than the calls for arrays. Of more,
so many make a group.
"""


class BlockedMaxima:
    """A column of totals with, for each block of rows, its maximum and which rows have it.

    ``update`` is O(1), and O(block) when the last row at its block's maximum falls; ``choose`` is O(blocks),
    and O(block) for one in which nobody was chosen since. There are few blocks, kept in lists, as long as
    blocks are small: for up to 65,536 rows. Larger columns have blocks of 2,048 rows, in groups, so that a
    million rows cost little more than a thousand.
    """

    __slots__ = (
        "_best",
        "_cells",
        "_columns",
        "_count",
        "_folded",
        "_groups",
        "_shift",
        "_size",
        "_tied",
        "_ties",
        "_top",
        "rebuilds",
        "values",
    )

    def __init__(self, values: Values, size: int) -> None:
        self._top, self._ties = OUT, 0
        self.values = values
        """int64, shape ``(capacity,)``; :data:`OUT` where a row may not be chosen. Change it by ``update``
        only.
        """
        self.rebuilds = 0
        """How often anything may have changed at once; otherwise the table's row log names the rows."""
        self.rebuild(size)

    def rebuild(self, size: int) -> None:
        """Take in that anything may have changed, and that the first *size* rows count; O(size)."""
        self._size = size
        self.rebuilds += 1
        self._cells = self.values.data
        part = self.values[:size]
        self._top = int(np.maximum.reduce(part, initial=OUT))
        self._ties = int(np.count_nonzero(part == self._top))
        # Blocks are made at the first update: many a small column is made for one choice.
        self._folded = False
        self._tied: list[array[int] | None] = []
        self._groups: list[int] | None = None

    def _fold(self) -> None:
        """Look at the column block by block; O(size)."""
        self._folded, size = True, self._size
        self._shift = min(max(_SMALLEST_SHIFT, (max(size, 1) - 1).bit_length() - 5), _LARGEST_SHIFT)
        width = 1 << self._shift
        blocks = max(1, -(-size // width))
        if len(self.values) < blocks * width:
            self.values = np.concatenate(
                (self.values, np.full(blocks * width - len(self.values), OUT, np.int64))
            )
            self._cells = self.values.data
        folded = self.values[: blocks * width].reshape(blocks, width)
        best = np.maximum.reduce(folded, axis=1)
        count = np.add.reduce(folded == best[:, None], axis=1, dtype=np.int64)
        last = self.values[(blocks - 1) * width : size]
        if len(last):  # what lies beyond size does not count
            best[-1] = np.maximum.reduce(last)
            count[-1] = np.count_nonzero(last == best[-1])
        self._columns = None if blocks <= _FEW else (best, count)
        self._best: Cells = best.data if self._columns else best.tolist()
        self._count: Cells = count.data if self._columns else count.tolist()
        self._tied = [None] * blocks
        self._find_top()

    @property
    def nbytes(self) -> int:
        """Memory of what is kept by row, in bytes."""
        tied = sum(len(rows) for rows in self._tied if rows is not None)
        return self.values.nbytes + _BYTES_A_TIE * tied

    def update(self, changes: Iterable[tuple[int, int]]) -> None:  # noqa: PLR0912 - a call takes as long
        """Set the values of rows; O(changes), and O(size) for a row beyond all those that counted so far."""
        if not self._folded:
            self._fold()
        cells, bests, counts, shift = self._cells, self._best, self._count, self._shift
        tied = self._tied
        for row, value in changes:
            old = cells[row]
            if value == old:
                continue
            cells[row] = value
            if row >= self._size:
                self.rebuild(row + 1)
                self._fold()
                cells, bests, counts, shift = self._cells, self._best, self._count, self._shift
                tied = self._tied
                continue
            block = row >> shift
            best = bests[block]
            if value > best:
                bests[block] = value
                counts[block] = 1
                tied[block] = None
                if value > self._top:
                    self._top, self._ties, self._groups = value, 1, None
                elif value == self._top:
                    self._count_tie(block, 1)
            elif value == best:
                counts[block] += 1
                rows = tied[block]
                if rows is not None:
                    insort(rows, row)
                if value == self._top:
                    self._count_tie(block, 1)
            elif old == best:
                if counts[block] > 1:
                    counts[block] -= 1
                    rows = tied[block]
                    if rows is not None:
                        del rows[bisect_left(rows, row)]
                else:
                    self._recount(block)
                if best == self._top:
                    self._count_tie(block, -1)

    def _count_tie(self, block: int, change: int) -> None:
        """A row more (or less) has the highest value."""
        self._ties += change
        if not self._ties:
            self._find_top()
        elif self._groups is not None:
            self._groups[block >> _GROUP_SHIFT] += change

    def top(self) -> int:
        """The highest value, :data:`OUT` if no row may be chosen; O(1)."""
        return self._top

    def choose(self, rng: Random, size: int) -> int | None:
        """One of the rows with the highest value, as :mod:`~.tie_breaking` says, in a table of *size* rows.

        ``None`` if no row may be chosen.
        """
        if self._top == OUT:
            return None
        if self._ties >= many(size):
            return self._drawn(rng, size)
        return self._nth_best(rng.randrange(self._ties) if self._ties > 1 else 0)

    def _drawn(self, rng: Random, size: int) -> int:
        cells, counted, top, random = self._cells, self._size, self._top, rng.random
        while True:
            row = int(random() * size)
            if row < counted and cells[row] == top:
                return row

    def _nth_best(self, chosen: int) -> int:
        """The row at position *chosen* among those with the highest value."""
        top = self._top
        if not self._folded and self._size <= _SMALL:
            return int((self.values[: self._size] == top).nonzero()[0][chosen])
        if not self._folded:
            self._fold()
        first = 0
        if self._columns is not None:
            for count in self._groups or self._counted(*self._columns):
                if chosen < count:
                    break
                chosen -= count
                first += 1 << _GROUP_SHIFT
        bests, counts, block = self._best, self._count, first
        for block in range(first, min(first + (1 << _GROUP_SHIFT), len(bests))):
            if bests[block] == top:
                count = counts[block]
                if chosen < count:
                    break
                chosen -= count
        rows = self._tied[block]
        if rows is None:
            start = block << self._shift
            part = self.values[start : min(start + (1 << self._shift), self._size)]
            found = (part == top).nonzero()[0] + start
            rows = self._tied[block] = array("i", found.astype(np.int32).tobytes())
        return rows[chosen]

    def _counted(self, bests: Values, counts: Values) -> list[int]:
        """How many rows of each group of blocks have the highest value; O(blocks)."""
        starts = np.arange(0, len(bests), 1 << _GROUP_SHIFT)
        groups: list[int] = np.add.reduceat(np.where(bests == self._top, counts, 0), starts).tolist()
        self._groups = groups
        return groups

    def _find_top(self) -> None:
        """O(blocks)."""
        self._groups = None
        if self._columns is not None:
            bests, counts = self._columns
            self._top = int(np.maximum.reduce(bests))
            self._ties = int(counts[bests == self._top].sum())
        else:
            self._top = top = max(self._best)
            self._ties = sum(
                [count for best, count in zip(self._best, self._count, strict=True) if best == top]
            )

    def _recount(self, block: int) -> None:
        start = block << self._shift
        part = self.values[start : min(start + (1 << self._shift), self._size)]
        best = int(np.maximum.reduce(part))
        self._tied[block] = None
        self._best[block] = best
        self._count[block] = int(np.count_nonzero(part == best))

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if a block's maximum or count is not that of its rows; O(rows)."""
        top, ties = self._top, self._ties
        fresh = BlockedMaxima(self.values, self._size)
        if top != fresh._top or (top != OUT and ties != fresh._ties):
            raise InvariantError("the highest value, or how many rows have it, is not that of the column")
        if not self._folded:
            return
        fresh._fold()
        best, count = np.array(self._best), np.array(self._count)
        counted = best != OUT
        if self._groups is not None and self._columns is not None:
            kept = self._groups
            if kept != self._counted(*self._columns):
                raise InvariantError("how many rows of each group of blocks are best is wrong")
        for block, rows in enumerate(self._tied):
            if rows is not None:
                start = block << self._shift
                part = self.values[start : min(start + (1 << self._shift), self._size)]
                if rows.tolist() != ((part == self._best[block]).nonzero()[0] + start).tolist():
                    raise InvariantError("the best rows of a block are not those that are listed")
        if not np.array_equal(best, np.array(fresh._best)) or not np.array_equal(
            count[counted], np.array(fresh._count)[counted]
        ):
            raise InvariantError("blocked maxima are not those of the column")
