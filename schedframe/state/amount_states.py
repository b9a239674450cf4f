"""Rows whose nodes have the same and use the same: what depends on amounts alone is equal for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field
from typing_extensions import override

from .following import FollowingColumns
from .resource_columns import longer

MOST_STATES = 1 << 14
"""So many states are known at once; with machines of few kinds and pods of few sizes there are fewer."""


@define(eq=False)
class AmountStates(FollowingColumns):
    """Numbers that stand for all amounts of a row: two rows with the same number do not differ in any.

    A number is found when somebody asks for it, and stands for the same amounts forever. That rows with the
    same amounts have the same number is likely, not certain: of too many states all are forgotten.
    """

    cells: Any = None
    """By row: its number, 0 where it is not known. Memoryview of int64, good for one ``table.layout``."""
    _numbers: npt.NDArray[np.int64] = field(factory=lambda: np.zeros(0, np.int64))
    _known: dict[tuple[Any, ...], int] = field(factory=dict)
    _last: int = 0

    def number_of(self, row: int) -> int:
        """The number of a row as of ``sync``; 0 if there are too many resources to look at all."""
        number: int = self.cells[row]
        if number:
            return number
        amounts = self.table.amounts_at(row)
        if amounts is None:
            return 0
        known = self._known
        number = known.get(amounts, 0)
        if not number:
            if len(known) >= MOST_STATES:
                known.clear()
            self._last += 1
            number = known[amounts] = self._last
        self.cells[row] = number
        return number

    @override
    def lay_out(self) -> None:
        """See :class:`FollowingColumns`."""
        if len(self._numbers) < self.table.capacity:
            self._numbers = longer(self._numbers, self.table.capacity)
        self.cells = self._numbers.data

    @override
    def fill(self, index: slice | npt.NDArray[np.intp]) -> None:
        """See :class:`FollowingColumns`."""
        # Memory that nobody wrote to is not there yet: zeros are not written over zeros.
        if self._numbers[index].any():
            self._numbers[index] = 0

    @override
    def fill_row(self, row: int) -> None:
        """See :class:`FollowingColumns`."""
        self.cells[row] = 0
