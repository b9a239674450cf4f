"""Lower bounds of the room for volumes, by which most pods need no pass over the rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import InvariantError

from .._volumes_csi_nodes import CsiNodes

Counts = npt.NDArray[np.int64]


@define(eq=False)
class LeastRoom:
    """By driver a lower bound of the room, limit less count, of the row that has least.

    Invariant: no row has less room than the bound, so a pod that fits by it fits on every row. Room that
    becomes free does not raise the bound; :meth:`of_rows` does, to be called when a pod does not fit by it.
    """

    csi_nodes: CsiNodes
    _bounds: dict[str, int] = field(factory=dict)
    _limit_changes: int = -1
    """The changes of limits that the bounds include."""

    def fits(self, driver: str, number: int) -> bool:
        """Return whether every row surely has room for *number* more volumes of *driver*; O(1)."""
        if self._limit_changes != self.csi_nodes.limit_changes:
            self._limit_changes = self.csi_nodes.limit_changes
            self._bounds.clear()
        bound = self._bounds.get(driver)
        return bound is not None and number <= bound

    def of_rows(self, driver: str, limit: Counts, count: Counts | None) -> Counts:
        """Return the room of each row, of which there is one at least; O(rows). Call :meth:`fits` before."""
        room = limit if count is None else limit - count
        self._bounds[driver] = int(room[room.argmin()])
        return room

    def lower(self, driver: str, row: int, count: int) -> None:
        """Note that *row* has *count* volumes of *driver* by now; O(1)."""
        bound = self._bounds.get(driver)
        if bound is not None and self._limit_changes == self.csi_nodes.limit_changes:
            limit = self.csi_nodes.limit(driver)
            assert limit is not None, "a bound is that of a limit"
            self._bounds[driver] = min(bound, int(limit[row]) - count)

    def check_invariants(self, driver: str, count: Counts) -> None:
        """Raise :class:`InvariantError` if a row has less room than the bound; O(rows)."""
        bound, limit = self._bounds.get(driver), self.csi_nodes.limit(driver)
        if bound is None or limit is None or self._limit_changes != self.csi_nodes.limit_changes:
            return
        if (limit - count[: len(limit)] < bound).any():
            raise InvariantError(f"a row has less room for volumes of {driver} than {bound}")
