"""For whoever keeps something of their own about every row: which rows to look at again."""

from __future__ import annotations

from collections.abc import Collection

from attrs import define, field

from .node_table import NodeTable


@define(eq=False)
class RowFollower:
    """Tells one reader which rows of a table changed since it last asked.

    What a plugin counts of the pods on nodes (members of a group, use of a quota, devices) is right whoever
    placed them, if it is computed from the table and made anew for these rows alone. A row that is given
    back counts as changed: it has no node and no pods then.
    """

    table: NodeTable
    _seen: int = field(default=-1, init=False)

    def changed(self) -> Collection[int]:
        """Rows to look at, each once: all rows in use at first, and whenever too much has happened since.

        O(changes since the last call). Their pods are ``table.pods_at(row)``, their node ``node_at(row)``.
        """
        log = self.table.row_log
        if self._seen == log.version:
            return ()
        rows = log.since(self._seen) if self._seen >= 0 else None
        self._seen = log.version
        return range(self.table.size) if rows is None else dict.fromkeys(rows)
