"""A remembered class as pods see it that must leave room for nominated ones: the few rows that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...api import Pod
from ...errors import InvariantError
from ...framework import CycleState, Framework, Status

if TYPE_CHECKING:
    from .equivalence_class import PodClass


class ExpectedPods:
    """The codes of a class for pods of one priority, nominated pods of at least that priority considered.

    ``sync`` costs O(rows touched + nodes whose nominations changed since the last visit). Only for pods about
    which no live filter has anything to say.
    """

    def __init__(self, found: PodClass) -> None:
        self._found = found
        self.codes: npt.NDArray[np.int32] = np.empty(0, np.int32)
        """As those of the class: 0 passes, *k* is rejected with ``statuses[k - 1]``, -1 has no node."""
        self.feasible = 0
        self._counts: list[int] = []
        self._rows: set[int] = set()
        self._builds = -1
        self._row_version = self._nomination_version = -1

    @property
    def any(self) -> bool:
        """Whether there is any row at which pods are expected that count."""
        return bool(self._rows)

    def counts(self) -> list[tuple[Status, int]]:
        """Each status with the number of rows that it rejects; O(statuses)."""
        statuses = self._found.statuses
        return [(status, n) for status, n in zip(statuses, self._counts[1:], strict=False) if n]

    def sync(self, framework: Framework, state: CycleState, pod: Pod) -> None:
        """Catch up with rows, nominations and the class, which must be up to date itself."""
        found, nominator = self._found, framework.handle.nominator
        table = found.table
        touched = table.row_log.since(self._row_version) if self._builds == found.builds else None
        renamed = nominator.changed_since(self._nomination_version)
        if touched is None or renamed is None:
            self._rebuild()
            rows = {table.live_row(name) for name in nominator.node_names}
        else:
            rows = {table.live_row(name) for name in renamed}
            rows.update(touched)
        for row in rows:
            if row is not None:
                self._set(row, self._code(framework, state, pod, row))
        self._row_version, self._nomination_version = table.row_log.version, nominator.version

    def _rebuild(self) -> None:
        found = self._found
        self.codes = found.codes.copy()
        self.feasible = found.feasible
        self._counts = found.all_counts()
        self._rows.clear()
        self._builds = found.builds

    def _code(self, framework: Framework, state: CycleState, pod: Pod, row: int) -> int:
        found = self._found
        code = int(found.codes[row])
        name = found.table.name_of(row) if code >= 0 else ""
        if not name or not framework.nominated.pods_for(pod, name):
            self._rows.discard(row)
            return code
        self._rows.add(row)
        status = framework.nominated.run(state, pod, found.table.info(row))
        return 0 if status is None else found.numbering.number_of(status)

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
            raise InvariantError("counts of rows with expected pods are not those of their codes")
