"""The best rows of a column that changes a row at a time."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt

from ..errors import InvariantError

Values = npt.NDArray[np.int64]

OUT: int = int(np.iinfo(np.int64).min)
"""The value of a row that may not be chosen."""
_SMALLEST_SHIFT = 6
_LARGEST_SHIFT = 11
_FEW = 32
"""Up to so many blocks are kept in lists, whose elements cost less to get at than those of an array."""


class BlockedMaxima:
    """A column of totals with, for each block of rows, its maximum and how many rows have it.

    ``update`` is O(1), and O(block) when the last row at its block's maximum falls; ``choose`` is O(blocks
    + block). There are few blocks, kept in lists, as long as blocks are small: for up to 65,536 rows.
    Larger columns have blocks of 2,048 rows, so that a million rows cost little more than a thousand.
    """

    __slots__ = ("_best", "_cells", "_count", "_folded", "_shift", "_size", "_ties", "_top", "values")

    def __init__(self, values: Values, size: int) -> None:
        self._top, self._ties = OUT, 0
        self.values = values
        """int64, shape ``(capacity,)``; :data:`OUT` where a row may not be chosen. Change it by ``update``
        only.
        """
        self.rebuild(size)

    def rebuild(self, size: int) -> None:
        """Take in that anything may have changed, and that the first *size* rows count; O(size)."""
        self._size = size
        self._cells = self.values.data
        part = self.values[:size]
        self._top = int(part.max(initial=OUT))
        self._ties = int(np.count_nonzero(part == self._top))
        # Blocks are made at the first update: many a column is made for one choice.
        self._folded = False

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
        few = blocks <= _FEW
        self._best: list[int] | Values = best.tolist() if few else best
        self._count: list[int] | Values = count.tolist() if few else count
        self._find_top()

    def update(self, row: int, value: int) -> None:
        """Set the value of *row*; O(size) for one beyond all those that counted so far."""
        cells = self._cells
        old = cells[row]
        if old == value:
            return
        if not self._folded:
            self._fold()
            cells = self._cells
        cells[row] = value
        if row >= self._size:
            self.rebuild(row + 1)
            return
        block = row >> self._shift
        best, top = self._best[block], self._top
        if value > best:
            self._best[block] = value
            self._count[block] = 1
            if value > top:
                self._top, self._ties = value, 1
            elif value == top:
                self._ties += 1
        elif value == best:
            self._count[block] += 1
            self._ties += value == top
        elif old == best:
            if self._count[block] > 1:
                self._count[block] -= 1
            else:
                self._recount(block)
            if best == top:
                self._ties -= 1
                if not self._ties:
                    self._find_top()

    def top(self) -> int:
        """The highest value, :data:`OUT` if no row may be chosen; O(1)."""
        return self._top

    def choose(self, rng: Random) -> int | None:
        """One of the rows with the highest value, uniformly: no draw for one row, one draw over several.

        The draw is a position among the tied rows in their order. ``None`` if no row may be chosen.
        """
        top = self._top
        if top == OUT:
            return None
        chosen = rng.randrange(self._ties) if self._ties > 1 else 0
        if not self._folded:
            return int((self.values[: self._size] == top).nonzero()[0][chosen])
        if isinstance(self._best, list):
            block, counts = 0, self._count
            for block, best in enumerate(self._best):
                if best == top:
                    count = counts[block]
                    if chosen < count:
                        break
                    chosen -= count
        else:
            block, chosen = self._block_of(chosen)
        start = block << self._shift
        part = self.values[start : min(start + (1 << self._shift), self._size)]
        if not chosen:
            return start + int((part == top).argmax())
        return start + int((part == top).nonzero()[0][chosen])

    def _block_of(self, chosen: int) -> tuple[int, int]:
        """The block of the tied row at that position among all of them, and its position there."""
        blocks = (np.asarray(self._best) == self._top).nonzero()[0]
        ends = np.asarray(self._count)[blocks].cumsum()
        index = int(ends.searchsorted(chosen, "right"))
        return int(blocks[index]), chosen - (int(ends[index - 1]) if index else 0)

    def _find_top(self) -> None:
        """O(blocks)."""
        best, count = self._best, self._count
        if isinstance(best, list):
            self._top = top = max(best)
            self._ties = sum([count[block] for block, value in enumerate(best) if value == top])
        else:
            self._top = int(np.maximum.reduce(best))
            self._ties = int(np.asarray(count)[best == self._top].sum())

    def _recount(self, block: int) -> None:
        start = block << self._shift
        part = self.values[start : min(start + (1 << self._shift), self._size)]
        best = int(np.maximum.reduce(part))
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
        if not np.array_equal(best, np.array(fresh._best)) or not np.array_equal(
            count[counted], np.array(fresh._count)[counted]
        ):
            raise InvariantError("blocked maxima are not those of the column")
