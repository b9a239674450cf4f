"""BlockedMax: the best rows of one column of scores that changes a row at a time."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable
from random import Random

import numpy as np
import numpy.typing as npt

from ....errors import InvariantError
from ....state import NodeTable, Rows
from ...search.tie_breaking import many
from .. import policy
from .base import INFEASIBLE, Scores

Cells = list[int] | memoryview


class BlockedMax:
    """A column of scores with, for each block of rows, its maximum and which rows have it.

    ``update`` is O(1), and O(block) when the last row at its block's maximum falls; ``choose`` is O(blocks),
    and O(block) for a block in which no row was chosen since. Up to 65,536 rows there are at most 32 blocks,
    kept in lists; larger columns have blocks of 2,048 rows, in groups of 32, so that a million rows cost
    little more than a thousand.
    """

    __slots__ = (
        "_arrays",
        "_best",
        "_cells",
        "_count",
        "_folded",
        "_groups",
        "_shift",
        "_size",
        "_table",
        "_tied",
        "_ties",
        "_top",
        "generation",
        "values",
    )

    def __init__(self, values: Scores, size: int, table: NodeTable | None = None) -> None:
        self._table = table
        self._top, self._ties = INFEASIBLE, 0
        self.values = values
        """int64, shape ``(capacity,)``; :data:`INFEASIBLE` for a row that must not be chosen. Change single
        rows by ``update``, many with a ``rebuild`` afterwards.
        """
        self.generation = 0
        """Number of rebuilds; between two of them the table's row log names the rows that changed."""
        self.rebuild(size)

    def rebuild(self, size: int) -> None:
        """Take in that any of the first *size* rows may have changed; O(size)."""
        self._size = size
        self.generation += 1
        self._cells = self.values.data
        part = self.values[:size]
        self._top = int(np.maximum.reduce(part, initial=INFEASIBLE))
        self._ties = int(np.count_nonzero(part == self._top))
        # Blocks are made at the first update: small columns are often made for one choice.
        self._folded = False
        self._tied: list[array[int] | None] = []
        self._groups: list[int] | None = None

    def _fold(self) -> None:
        """Build the blocks; O(size)."""
        self._folded, size = True, self._size
        self._shift = policy.block_shift(size, policy.LARGEST_BLOCK)
        width = 1 << self._shift
        blocks = max(1, -(-size // width))
        padded = self.values[:size]
        if size < blocks * width:
            padded = np.concatenate((padded, np.full(blocks * width - size, INFEASIBLE, np.int64)))
        folded = padded.reshape(blocks, width)
        best = np.maximum.reduce(folded, axis=1)
        count = np.add.reduce(folded == best[:, None], axis=1, dtype=np.int64)
        last = padded[(blocks - 1) * width : size]
        if len(last):  # what lies beyond size does not count
            count[-1] = np.count_nonzero(last == best[-1])
        self._arrays = None if blocks <= policy.BLOCKS else (best, count)
        self._best: Cells = best.data if self._arrays else best.tolist()
        self._count: Cells = count.data if self._arrays else count.tolist()
        self._tied = [None] * blocks
        self._find_top()

    @property
    def nbytes(self) -> int:
        """Memory of the column and of the lists of tied rows, in bytes."""
        tied = sum(rows.itemsize * len(rows) for rows in self._tied if rows is not None)
        return self.values.nbytes + tied

    def update(self, changes: Iterable[tuple[int, int]]) -> None:  # noqa: PLR0912 - a call takes as long
        """Set the values of rows; O(changes), and O(size) for a row beyond all those that counted so far."""
        if not self._folded:
            self._fold()
        cells, bests, counts, shift, tied = self._cells, self._best, self._count, self._shift, self._tied
        for row, value in changes:
            old = cells[row]
            if value == old:
                continue
            cells[row] = value
            if row >= self._size:
                self.rebuild(row + 1)
                self._fold()
                cells, bests, counts = self._cells, self._best, self._count
                shift, tied = self._shift, self._tied
                continue
            block = row >> shift
            best = bests[block]
            if value > best:
                bests[block], counts[block], tied[block] = value, 1, None
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
            self._groups[block // policy.BLOCKS] += change

    def top(self) -> int:
        """The highest score, :data:`INFEASIBLE` if no row may be chosen; O(1)."""
        return self._top

    # ---- ScoreIndex --------------------------------------------------------------------------------------

    def best(self) -> bool:
        """Whether any row may be chosen."""
        return self._top != INFEASIBLE

    def draw(self, rng: Random) -> int:
        """One of the best rows of the table; there must be one."""
        assert self._table is not None
        row = self.choose(rng, self._table.size)
        if row is None:
            raise InvariantError("a row is drawn, and none may be chosen")
        return row

    def feasible_rows(self) -> Rows:
        """The rows that may be chosen; O(rows)."""
        assert self._table is not None
        return Rows.at(self._table, (self.values[: self._size] != INFEASIBLE).nonzero()[0])

    def scores_at(self, positions: npt.NDArray[np.intp]) -> Scores:
        """The scores of these rows; O(rows)."""
        return self.values[positions]

    def close(self) -> None:
        """Nothing is shared."""

    def choose(self, rng: Random, size: int) -> int | None:
        """One of the best rows, by the rule of :mod:`~.tie_breaking`, in a table of *size* rows.

        ``None`` if no row may be chosen.
        """
        if self._top == INFEASIBLE:
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
        if not self._folded and self._size <= policy.LARGEST_BLOCK * policy.BLOCKS:
            return int((self.values[: self._size] == top).nonzero()[0][chosen])
        if not self._folded:
            self._fold()
        first = 0
        if self._arrays is not None:
            for count in self._groups or self._counted(*self._arrays):
                if chosen < count:
                    break
                chosen -= count
                first += policy.BLOCKS
        bests, counts, block = self._best, self._count, first
        for block in range(first, min(first + (policy.BLOCKS), len(bests))):
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

    def _counted(self, bests: Scores, counts: Scores) -> list[int]:
        """Number of rows with the highest value by group of blocks; O(blocks)."""
        starts = np.arange(0, len(bests), policy.BLOCKS)
        groups: list[int] = np.add.reduceat(np.where(bests == self._top, counts, 0), starts).tolist()
        self._groups = groups
        return groups

    def _find_top(self) -> None:
        """O(blocks)."""
        self._groups = None
        if self._arrays is not None:
            bests, counts = self._arrays
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
        fresh = BlockedMax(self.values, self._size)
        if top != fresh._top or (top != INFEASIBLE and ties != fresh._ties):
            raise InvariantError(
                "the highest value, or the number of rows with it, is not that of the column"
            )
        if not self._folded:
            return
        fresh._fold()
        best, count = np.array(self._best), np.array(self._count)
        counted = best != INFEASIBLE
        if self._groups is not None and self._arrays is not None:
            kept = self._groups
            if kept != self._counted(*self._arrays):
                raise InvariantError("the number of best rows of a group of blocks is wrong")
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
