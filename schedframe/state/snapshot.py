"""An immutable picture of the nodes, for code that runs outside of the core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from attrs import frozen

from .node_info import NodeInfo

if TYPE_CHECKING:
    from .node_table import NodeTable


@frozen(eq=False)
class Snapshot:
    """Node infos by name as of one moment. Copies: nothing here changes when the cluster does."""

    generation: int
    """Grows with every change of the cluster; equal generations mean equal contents."""
    infos: Mapping[str, NodeInfo]

    @classmethod
    def take(cls, table: NodeTable, previous: Snapshot | None = None) -> Snapshot:
        """The present state; copies only the nodes that changed since *previous*."""
        generation = table.row_log.version
        if previous is not None and previous.generation == generation:
            return previous
        changed = table.row_log.since(previous.generation) if previous is not None else None
        if previous is None or changed is None:
            infos = {info.name: info.clone() for info in table.rows()}
            return cls(generation, MappingProxyType(infos))
        infos = dict(previous.infos)
        for row in set(changed):
            _renew(table, row, infos)
        if len(infos) != table.num_nodes:
            # A row changed hands: its earlier name is not in the log.
            infos = {name: info for name, info in infos.items() if table.live_row(name) is not None}
        return cls(generation, MappingProxyType(infos))

    def get(self, name: str) -> NodeInfo | None:
        """The node of that name."""
        return self.infos.get(name)

    def __iter__(self) -> Iterator[NodeInfo]:
        return iter(self.infos.values())

    def __len__(self) -> int:
        return len(self.infos)


def _renew(table: NodeTable, row: int, infos: dict[str, NodeInfo]) -> None:
    if table.node_at(row) is not None:
        info = table.info(row)
        infos[info.name] = info.clone()
