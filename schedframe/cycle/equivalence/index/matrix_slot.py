"""The place of one class of pods on a board, where it finds its best row."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define

from ....state import LazyRows, Rows
from ...search.tie_breaking import many
from ..evaluate.columnar import known_worth, worth

if TYPE_CHECKING:
    from ..equivalence_class import PodClass
    from .score_matrix import Board

MOST_WORTH: Final = 30_000
"""What fits into two bytes."""

Worth = npt.NDArray[np.int16]


@define(eq=False, repr=False)
class Seat:
    """The place of one class on a board. Finds the best row for it, as :class:`.best_alike.BestAlike` can."""

    board: Board
    found: PodClass
    number: int
    """Place among the seats; negative if it was taken away."""
    fresh_at: int
    """Position in the table's log of row changes up to which all its numbers were worked out."""
    uses: int = 0
    """How often it found the best row in this round."""
    _worth: Any = None
    """What each row of the table is worth to the class: an array, and a memoryview of the same numbers."""
    _cells: Any = None
    _size: int = 0
    _many: int = 0
    _most: int = 0
    _first: int = 0

    @property
    def ready(self) -> bool:
        """Whether to ask at all."""
        return self.number >= 0

    @property
    def nbytes(self) -> int:
        """Memory beside that of the board."""
        return 0

    def best(self) -> bool:
        """Find the best row, for :meth:`one_of`; whether there is one. The view must be up to date."""
        board, found = self.board, self.found
        if self.fresh_at != found.table.row_log.version:
            # Nobody else need be asked about what happened before a class joined.
            if not board.sync() or not found.usable:
                return False
            if self.fresh_at < board.stale_before and not self._retake(worth(found)):
                return False
        first = int(self._worth.argmax())
        self._first, self._most = first, self._cells[first]
        if self._most < 0:
            return False
        self.uses += 1
        board.uses += 1
        return True

    def one_of(self, rng: Random) -> int:
        """One of the rows that are worth as much as the best, as :mod:`~.tie_breaking` says."""
        most = self._most
        tied = (self._worth == most).nonzero()[0]
        ties = len(tied)
        if ties == 1:
            return self._first
        if ties < self._many:
            return int(tied[rng.randrange(ties)])
        cells, size, random = self._cells, self._size, rng.random
        while cells[row := int(random() * size)] != most:
            pass
        return row

    def feasible_rows(self) -> Rows:
        """The rows that were not rejected when the best was found."""
        feasible = (self._worth >= 0).nonzero()[0]
        return LazyRows(self.found.table, len(feasible), lambda: feasible)

    def worth(self) -> list[int]:
        """What each row is worth, without what the view gives to all alike; below 0 for one that is rejected:
        the negative of the code, or any number if the view rejects it.
        """
        worth: list[int] = self._worth.tolist()
        return worth

    def take(self, worth: Worth) -> None:
        """Look at these numbers from now on."""
        self._worth, self._cells, self._size = worth, worth.data, len(worth)
        self._many = many(self._size)

    def put_away(self) -> None:
        """The board forgets the class; its numbers are good for once more."""
        self.number = -1
        # A view would keep those of all classes.
        self.take(self._worth.copy())

    def visited(self) -> None:
        """The class was refreshed and asked for its best row itself."""
        if not self.ready:
            self.found.stand_up()
        elif self.fresh_at < self.board.stale_before and self.board.sync() and self.ready:
            # Synchronised first: the table may have grown, and then the slot needs its new length.
            self._retake(known_worth(self.found))

    def _retake(self, worth: npt.NDArray[np.int64] | None) -> bool:
        """Each row is worth so much now; ``False`` if that is not known."""
        if worth is None:
            return False
        self._worth[:] = packed(worth)
        self.fresh_at = self.found.table.row_log.version
        return True

    def stop(self) -> None:
        """The class asks no more."""
        self.board.leave(self)


def packed(worth: Any) -> Worth:
    """These numbers in two bytes each; of a code that is too high it only counts that it is below 0."""
    found: Worth = np.maximum(worth, -MOST_WORTH).astype(np.int16)
    return found
