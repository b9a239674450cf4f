"""NominatedOverlay: the verdicts of a class for pods that must leave room for nominated ones."""

from __future__ import annotations

import numpy as np

from ...api import Pod
from ...errors import InvariantError
from ...framework import CycleState, Framework, Status
from ...state import NodeTable
from .columns import ClassColumns
from .status_codes import Codes


class NominatedOverlay:
    """The codes of a class for pods of one priority, nominated pods of at least that priority considered.

    ``sync`` costs O(dirty rows + nodes whose nominations changed since the last visit). Only for pods about
    which no uncached filter has anything to say.
    """

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.codes: Codes = np.empty(0, np.int32)
        """As those of the class."""
        self.feasible = 0
        self._counts: list[int] = []
        self._rows: set[int] = set()
        self._columns: ClassColumns | None = None
        self._row_version = self._nomination_version = -1

    @property
    def any(self) -> bool:
        """Whether there is any row for which nominated pods count."""
        return bool(self._rows)

    @property
    def nbytes(self) -> int:
        """Memory, in bytes."""
        return self.codes.nbytes

    def rejections(self, statuses: list[Status]) -> list[tuple[Status, int]]:
        """Each status with the number of rows it rejects; O(statuses)."""
        return [(status, n) for status, n in zip(statuses, self._counts[1:], strict=False) if n]

    def sync(self, framework: Framework, state: CycleState, pod: Pod, columns: ClassColumns) -> None:
        """Catch up with dirty rows, nominations and the *columns* of the class, which must be up to date."""
        nominator, table = framework.handle.nominator, self.table
        touched = table.row_log.since(self._row_version) if self._columns is columns else None
        changed = nominator.changed_since(self._nomination_version)
        if touched is None or changed is None:
            self._rebuild(columns)
            rows = {table.live_row(name) for name in nominator.node_names}
        else:
            rows = {table.live_row(name) for name in changed}
            rows.update(touched)
        for row in rows:
            if row is not None:
                self._set(row, self._code(framework, state, pod, row))
        self._row_version, self._nomination_version = table.row_log.version, nominator.version

    def _rebuild(self, columns: ClassColumns) -> None:
        self._columns = columns
        self.codes = columns.codes.copy()
        self.feasible = columns.feasible
        self._counts = columns.counts()
        self._rows.clear()

    def _code(self, framework: Framework, state: CycleState, pod: Pod, row: int) -> int:
        columns = self._columns
        assert columns is not None
        code = int(columns.codes[row])
        name = self.table.name_of(row) if code >= 0 else ""
        if not name or not framework.nominated.pods_for(pod, name):
            self._rows.discard(row)
            return code
        self._rows.add(row)
        status = framework.nominated.run(state, pod, self.table.info(row))
        return 0 if status is None else columns.node_columns.status_codes.code_of(status)

    def _set(self, row: int, code: int) -> None:
        old = int(self.codes[row])
        if old == code:
            return
        counts = self._counts
        while len(counts) <= max(code, 0):
            counts.append(0)
        if old >= 0:
            counts[old] -= 1
        if code >= 0:
            counts[code] += 1
        self.feasible += (code == 0) - (old == 0)
        self.codes[row] = code

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if the counts are not those of the codes; O(rows)."""
        codes = self.codes[self.codes >= 0]
        counts = np.bincount(codes, minlength=len(self._counts)).tolist()
        if counts != self._counts or self.feasible != int((codes == 0).sum()):
            raise InvariantError("counts of an overlay of nominated pods are not those of its codes")
