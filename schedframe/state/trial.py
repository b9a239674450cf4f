"""Let the table stand for a node info that somebody tries out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import InvariantError

if TYPE_CHECKING:
    from .node_info import NodeInfo
    from .node_table import NodeTable


@contextmanager
def standing_in(table: NodeTable, info: NodeInfo) -> Iterator[int]:
    """The row of *info*, holding for the duration exactly the pods that *info* holds.

    For columnar plugins that are asked about one node with pods added or removed. O(pods that differ); nothing
    for a node info of the table itself.
    """
    row = info.row
    if row < 0 or table.node_at(row) is None:
        raise InvariantError(f"node {info.name} has no row in the table, a columnar filter cannot look at it")
    present = table.pods_at(row)
    if present is info.pods:
        yield row
        return
    gone = [uid for uid in present if uid not in info.pods]
    come = [pod for uid, pod in info.pods.items() if uid not in present]
    mark = table.mark()
    try:
        for uid in gone:
            table.remove_pod(info.name, uid)
        for pod in come:
            table.add_pod(info.name, pod)
        yield row
    finally:
        table.rollback(mark)
