"""Which rows changed since a reader last looked."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ..errors import InvariantError

_SMALLEST_LIMIT = 4096
_SPARSE = 64
"""Sorting rows costs so many times as much as looking through a mask."""


@define(eq=False)
class ChangeLog:
    """An append-only list of touched rows with a moving start, so that it never grows with history.

    ``append`` is O(1) amortised. A reader remembers ``version`` and later asks ``since(version)``: the rows
    touched meanwhile (possibly repeated), or ``None`` if that is longer ago than the log reaches back, and
    then everything must be read anew.
    """

    version: int = 0
    """Number of entries ever appended."""
    limit: int = _SMALLEST_LIMIT
    """Entries kept at least; the owner raises it with the number of rows."""
    _rows: array[int] = field(factory=lambda: array("q"))
    _start: int = 0
    _full: int = field(init=False)
    """The version after which there are too many entries."""

    @_full.default
    def _first_full(self) -> int:
        return 2 * self.limit

    def append(self, row: int) -> None:
        """Note that *row* changed."""
        self._rows.append(row)
        self.version = version = self.version + 1
        if version > self._full:
            self._start = version - self.limit
            del self._rows[: -self.limit]
            self._full = self._start + 2 * self.limit

    def forget(self) -> None:
        """Make every reader start anew: more changed than is worth listing."""
        self.version += 1
        del self._rows[:]
        self._start = self.version
        self._full = self._start + 2 * self.limit

    def since(self, version: int) -> list[int] | None:
        """Rows touched after *version*, oldest first; ``None`` if the log does not reach back that far."""
        if version == self.version:
            return []
        if version < self._start:
            return None
        return self._rows[version - self._start :].tolist()

    def positions_since(self, version: int, size: int) -> npt.NDArray[np.intp] | None:
        """As :meth:`since`, each row once and ascending, for a table of *size* rows."""
        if version < self._start:
            return None
        rows = np.frombuffer(self._rows[version - self._start :], np.int64)
        if len(rows) * _SPARSE < size:
            return np.unique(rows)
        touched = np.zeros(size, np.bool_)
        touched[rows] = True
        return touched.nonzero()[0]

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if entries and version do not fit together; O(1)."""
        if self._start + len(self._rows) != self.version or len(self._rows) > 2 * self.limit:
            raise InvariantError(f"{len(self._rows)} entries from {self._start} on are not {self.version}")

    def fit(self, rows: int) -> None:
        """Keep enough entries for a table of *rows* rows."""
        self.limit = max(_SMALLEST_LIMIT, rows)
        self._full = self._start + 2 * self.limit
