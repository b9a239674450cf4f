"""NominatedOverlay: the verdicts of a class for pods that must leave room for nominated ones."""

from __future__ import annotations

import numpy as np

from ...api import Pod
from ...errors import InvariantError
from ...framework import CycleState, Framework
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
        self.rows: set[int] = set()
        """Those for which nominated pods count."""
        self._columns: ClassColumns | None = None
        self._row_version = self._nomination_version = -1

    @property
    def nbytes(self) -> int:
        """Memory, in bytes."""
        return self.codes.nbytes

    def sync(self, framework: Framework, state: CycleState, pod: Pod, columns: ClassColumns) -> None:
        """Catch up with dirty rows, nominations and the *columns* of the class, which must be up to date."""
        nominator, table = framework.handle.nominator, self.table
        touched = table.row_log.since(self._row_version) if self._columns is columns else None
        changed = nominator.changed_since(self._nomination_version)
        if touched is None or changed is None:
            self._columns, self.codes = columns, columns.codes.copy()
            self.rows.clear()
            rows = {table.live_row(name) for name in nominator.node_names}
        else:
            rows = {table.live_row(name) for name in changed}
            rows.update(touched)
        for row in rows:
            if row is not None:
                self.codes[row] = self._code(framework, state, pod, row)
        self._row_version, self._nomination_version = table.row_log.version, nominator.version

    def _code(self, framework: Framework, state: CycleState, pod: Pod, row: int) -> int:
        columns = self._columns
        assert columns is not None
        code = int(columns.codes[row])
        name = self.table.name_of(row) if code >= 0 else ""
        if not name or not framework.nominated.pods_for(pod, name):
            self.rows.discard(row)
            return code
        self.rows.add(row)
        status = framework.nominated.run(state, pod, self.table.info(row))
        return 0 if status is None else columns.node_columns.status_codes.code_of(status)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if a row without nominated pods has another code; O(rows)."""
        columns = self._columns
        if columns is None or self._row_version != self.table.row_log.version:
            return
        different = (self.codes != columns.codes).nonzero()[0].tolist()
        if not self.rows.issuperset(different):
            raise InvariantError("an overlay of nominated pods differs where there are none")
