"""Index of numbers by the value of a node label, as an array over the codes of the label's column.

Serves labels with a value of its own on each node (host names) as fast as zones.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import Rows
from schedframe.state import DictionaryColumn

from .._node_selection import Mask

_NONE: Final = -1


@define(eq=False)
class TopologyIndex:
    """Non-negative numbers for some values of the label ``key``; a row has the number of its value.

    A lookup is O(rows), and O(values changed since the last lookup).
    """

    key: str
    absent: int = _NONE
    """Number of rows whose value has none."""
    _numbers: dict[str, int] = field(factory=dict)
    _stale: set[str] = field(factory=set)
    _of_code: npt.NDArray[np.int64] = field(init=False)  # by code; the last for rows without the label
    _column: DictionaryColumn[Any] | None = None
    _epoch: int = -1

    def __attrs_post_init__(self) -> None:
        self._of_code = np.full(1, self.absent, np.int64)

    def set(self, value: str, number: int | None) -> None:
        """Set the number of *value*; ``None`` removes it."""
        if number is None:
            self._numbers.pop(value, None)
        else:
            self._numbers[value] = number
        self._stale.add(value)

    def at_least(self, bound: int, rows: Rows) -> Mask:
        """Return the rows whose number is at least *bound*."""
        mask: Mask = self.of_rows(rows) >= bound
        return mask

    def of_rows(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return the number of each row; a fresh array."""
        column = rows.table.label(self.key)
        self._sync(column)
        return column.take(self._of_code, rows.index)

    def _sync(self, column: DictionaryColumn[str]) -> None:
        known, numbers = len(self._of_code) - 1, self._numbers
        if self._column is not column or self._epoch != column.epoch:
            self._column, self._epoch = column, column.epoch
            known = 0
        if known < len(column.values) or not known:
            more = [numbers.get(value, self.absent) for value in column.values[known:]]
            self._of_code = np.array([*self._of_code[:known].tolist(), *more, self.absent], np.int64)
        for value in self._stale:
            code = column.code_of(value)
            if code >= 0:
                self._of_code[code] = numbers.get(value, self.absent)
        self._stale.clear()
