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


class BlockedMaxima:
    """A column of totals with, for each block of rows, its maximum and how many rows have it.

    ``update`` is O(1), and O(block) when the last row at its block's maximum falls; ``choose`` is O(blocks +
    block). Blocks hold about the square root of the rows, so that a million rows cost little more than a
    thousand.
    """

    __slots__ = ("_best", "_count", "_shift", "_size", "values")

    def __init__(self, values: Values, size: int) -> None:
        self.values = values
        """int64, shape ``(capacity,)``; :data:`OUT` where a row may not be chosen. Set by ``update``."""
        self._size = size
        self.rebuild(size)

    def rebuild(self, size: int) -> None:
        """Take in that anything may have changed, and that the first *size* rows count; O(size)."""
        self._size = size
        self._shift = max(_SMALLEST_SHIFT, (max(size, 1).bit_length() + 1) // 2 + 2)
        width = 1 << self._shift
        blocks = max(1, -(-size // width))
        padded = np.full(blocks * width, OUT, np.int64)
        padded[:size] = self.values[:size]
        folded = padded.reshape(blocks, width)
        self._best: Values = folded.max(axis=1)
        self._count: Values = (folded == self._best[:, None]).sum(axis=1)

    def update(self, row: int, value: int) -> None:
        """Set the value of *row*."""
        values = self.values
        old = int(values[row])
        if old == value:
            return
        values[row] = value
        block = row >> self._shift
        best = int(self._best[block])
        if value > best:
            self._best[block] = value
            self._count[block] = 1
        elif value == best:
            self._count[block] += 1
        elif old == best:
            if self._count[block] > 1:
                self._count[block] -= 1
            else:
                self._recount(block)

    def choose(self, rng: Random) -> int | None:
        """One of the rows with the highest value, uniformly: no draw for one row, one draw over several.

        The draw is a position among the tied rows in their order. ``None`` if no row may be chosen.
        """
        best = self._best
        top = best.max()
        if top == OUT:
            return None
        blocks = (best == top).nonzero()[0]
        counts = self._count[blocks]
        if len(blocks) == 1:
            ties = int(counts[0])
            block = int(blocks[0])
            chosen = rng.randrange(ties) if ties > 1 else 0
        else:
            ends = counts.cumsum()
            chosen = rng.randrange(int(ends[-1]))
            index = int(ends.searchsorted(chosen, "right"))
            block = int(blocks[index])
            if index:
                chosen -= int(ends[index - 1])
        start = block << self._shift
        part = self.values[start : min(start + (1 << self._shift), self._size)]
        return start + int((part == top).nonzero()[0][chosen])

    def _recount(self, block: int) -> None:
        start = block << self._shift
        part = self.values[start : min(start + (1 << self._shift), self._size)]
        best = part.max()
        self._best[block] = best
        self._count[block] = np.count_nonzero(part == best)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if a block's maximum or count is not that of its rows; O(rows)."""
        best, count = self._best.copy(), self._count.copy()
        fresh = BlockedMaxima(self.values, self._size)
        blocks = best != OUT
        if not np.array_equal(best, fresh._best) or not np.array_equal(count[blocks], fresh._count[blocks]):
            raise InvariantError("blocked maxima are not those of the column")
