"""Immutable snapshot of the nodes, for code that runs outside of the core."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from .._base.brief import brief_of
from .._base.value import record
from .node_info import NodeInfo

if TYPE_CHECKING:
    from .node_table import NodeTable


@record(frozen=True, eq=False)
class Snapshot:
    """Node infos by name as of one moment. Copies: nothing here changes when the cluster does.

    They stand apart from the table: no row, and no image states (see ``node.status.images``).
    """

    generation: int
    """Grows with every change of the cluster; equal generations mean equal contents."""
    infos: MappingProxyType[str, NodeInfo]
    _row_version: int = 0
    _replaced_version: int = 0

    @classmethod
    def take(cls, table: NodeTable, previous: Snapshot | None = None) -> Snapshot:
        """Return the present state; copies only the nodes that changed since *previous*."""
        rows, exchanges = table.row_log, table.replaced_log
        versions = (rows.version, exchanges.version)
        generation = sum(versions)
        if previous is None:
            return cls(generation, _all(table), *versions)
        if previous.generation == generation:
            return previous
        changed = rows.since(previous._row_version)
        exchanged = exchanges.since(previous._replaced_version)
        if changed is None or exchanged is None:
            return cls(generation, _all(table), *versions)
        infos = previous.infos.copy()  # far cheaper than dict() of a proxy
        for row in {*changed, *exchanged}:
            if table.node_at(row) is not None:
                info = table.info(row)
                infos[info.name] = info.detached()
        if len(infos) != table.num_nodes:
            # A row has another node now, or none: its earlier name is not in the log.
            infos = {name: info for name, info in infos.items() if table.live_row(name) is not None}
        return cls(generation, MappingProxyType(infos), *versions)

    def get(self, name: str) -> NodeInfo | None:
        """Return the node of that name, ``None`` without one."""
        return self.infos.get(name)

    def __iter__(self) -> Iterator[NodeInfo]:
        return iter(self.infos.values())

    def __len__(self) -> int:
        return len(self.infos)

    def __repr__(self) -> str:
        return brief_of(self, generation=self.generation, nodes=len(self.infos))


def _all(table: NodeTable) -> MappingProxyType[str, NodeInfo]:
    return MappingProxyType({info.name: info.detached() for info in table.rows()})
