"""A row that takes the pods of another node info for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import InvariantError
from .node_info import NodeInfo
from .table_store import TableStore


@contextmanager
def substituted_row(table: TableStore, info: NodeInfo) -> Iterator[int]:
    """Yield the row of that node, with exactly the pods of *info* for the duration.

    For columnar plugins and one node with pods added or removed. O(pods of the node), O(1) for a node info of
    the table itself. Raises :class:`InvariantError` if the table has no such node.
    """
    row = table.live_row(info.name)
    if row is None:
        raise InvariantError(f"node {info.name} is not in the table, a columnar filter cannot evaluate it")
    present = table.pods_at(row)
    wanted = info.pods
    if present is wanted:
        yield row
        return
    removed = [uid for uid, pod in present.items() if wanted.get(uid) is not pod]
    added = [pod for uid, pod in wanted.items() if present.get(uid) is not pod]
    mark = table.mark()
    try:
        for uid in removed:
            table.remove_pod(info.name, uid)
        for pod in added:
            table.add_pod(info.name, pod)
        yield row
    finally:
        table.rollback(mark)
