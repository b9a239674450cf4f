"""RowChangeReader: the rows that changed since a reader last asked."""

from __future__ import annotations

from collections.abc import Collection

from attrs import field

from .._base.value import record
from .node_table import NodeTable


@record(eq=False)
class RowChangeReader:
    """The rows of a table that changed since one reader last asked.

    For plugins that count something of the pods on nodes (members of a group, use of a quota, devices): such
    counts, recomputed for these rows, are right for pods that other schedulers placed, too. A row that is
    given back counts as changed: it has no node and no pods then.
    """

    table: NodeTable
    _touched: int = field(default=-1, init=False)
    _exchanged: int = field(default=-1, init=False)

    def changed(self) -> Collection[int]:
        """Dirty rows, each once: all rows in use at first, and whenever too much has happened since.

        A pod that was exchanged for another version of itself counts as a change, too. O(changes since the
        last call). The pods of a row are ``table.pods_at(row)``, its node is ``table.node_at(row)``.
        """
        rows, exchanges = self.table.row_log, self.table.replaced_log
        if self._touched == rows.version and self._exchanged == exchanges.version:
            return ()
        first = self._touched < 0
        touched = None if first else rows.since(self._touched)
        exchanged = None if first else exchanges.since(self._exchanged)
        self._touched, self._exchanged = rows.version, exchanges.version
        if touched is None or exchanged is None:
            return range(self.table.extent)
        return dict.fromkeys((*touched, *exchanged))
