"""The one rule for ties: each of the best rows has the same chance, and all indexes draw the same row.

If at least 1/MOST_DRAWS of the rows tie, row numbers are drawn until one is tied (rejection sampling), which
needs no list of them. Otherwise one draw selects the k-th tied row. A single best row needs no draw.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import field

from ..._base.value import record
from ...state import Rows, policy

Scores = npt.NDArray[np.int64]

INFEASIBLE: int = int(np.iinfo(np.int64).min)
"""The total of a row that must not be chosen."""

MOST_DRAWS: Final = 16
"""Expected draws up to which rejection sampling is used; 0: never. Beyond, finding the k-th row is faster."""


def many(size: int) -> int:
    """Return the number of ties from which on rejection sampling is used, in a table of *size* rows."""
    return max(2, -(-size // MOST_DRAWS)) if MOST_DRAWS else size + 1


def one_where(tied: Any, size: int, rng: Random) -> int:
    """Return a row at which *tied*, with an element for each of the *size* rows of a table, is true."""
    random = rng.random
    while not tied[row := int(random() * size)]:
        pass
    return row


@record(eq=False)
class Ties:
    """Rows of which one is to be drawn: everything but the draw is done before."""

    rows: Rows
    tied: npt.NDArray[np.bool_]
    """Which of ``rows`` tie, shape ``(len(rows),)``."""
    _count: int = field(init=False)
    _by_row: memoryview | None = field(init=False)
    """Which rows of the table tie, for rejection sampling; ``None``: there are too few ties."""

    def __attrs_post_init__(self) -> None:
        rows, tied = self.rows, self.tied
        self._count, self._by_row = int(np.count_nonzero(tied)), None
        if self._count >= many(rows.table.size):
            if not rows.is_all:
                tied = np.zeros(rows.table.size, np.bool_)
                tied[rows.select(self.tied).positions] = True
            self._by_row = tied.data

    def draw(self, rng: Random) -> int:
        """Return the number of one of the rows. To be called while the table has the size that it had."""
        if self._by_row is not None:
            return one_where(self._by_row, self.rows.table.size, rng)
        return self.rows.row_at(nth_true(self.tied, rng.randrange(self._count) if self._count > 1 else 0))


def one_of(rows: Rows, best: npt.NDArray[np.bool_], rng: Random) -> int:
    """Return the number of one of *rows* at which *best* is true."""
    return Ties(rows, best).draw(rng)


def nth_true(mask: npt.NDArray[np.bool_], n: int) -> int:
    """Return where *mask* is true for the *n*-th time, from 0 on.

    Counting takes a tenth of what it takes to list all these places, which may be nearly all there are.
    """
    start = 0
    while len(mask) > policy.SMALLEST_STATE_BLOCK:
        half = len(mask) >> 1
        before = int(np.count_nonzero(mask[:half]))
        if n < before:
            mask = mask[:half]
        else:
            mask, n, start = mask[half:], n - before, start + half
    return start + int(mask.nonzero()[0][n])
