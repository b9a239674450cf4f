"""Try things out on the table: what undoes them, and the table standing in for a node info."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import define, field

from ..api import Pod
from ..errors import InvariantError

if TYPE_CHECKING:
    from .node_info import NodeInfo
    from .node_table import NodeTable


@define(eq=False)
class UndoLog:
    """What trials changed, so that it can be undone. Trials nest; each is known by its depth."""

    marks: list[int] = field(factory=list)
    """Length of ``entries`` at the beginning of each trial under way, the outermost first."""
    entries: list[tuple[int, Pod, tuple[str, ...] | None]] = field(factory=list)
    """Row, pod, and ``None`` if it was added, else all uids before it was removed (none if it was last)."""
    vacant: set[int] = field(factory=set)
    """Rows left empty, to be given back when the outermost trial ends."""
    undoing: bool = False
    """Whether a trial is being undone at the moment."""

    def begin(self) -> int:
        """Begin a trial; its depth."""
        self.marks.append(len(self.entries))
        return len(self.marks) - 1

    def end(self, depth: int) -> list[tuple[int, Pod, tuple[str, ...] | None]]:
        """Forget the trial at *depth* and those within it; their entries, last first."""
        if not 0 <= depth < len(self.marks):
            raise InvariantError(f"rollback to mark {depth}, but {len(self.marks)} trials are under way")
        start = self.marks[depth]
        entries = self.entries[: start - 1 if start else None : -1]
        del self.marks[depth:], self.entries[start:]
        return entries


def put_back(pods: dict[str, Pod], pod: Pod, order: tuple[str, ...]) -> None:
    """Insert a removed pod again, where it was."""
    pods[pod.uid] = pod
    if order:
        before = {uid: pods[uid] for uid in order}
        pods.clear()
        pods.update(before)


@contextmanager
def substituted_row(table: NodeTable, info: NodeInfo) -> Iterator[int]:
    """The row of the node of that name, holding for the duration exactly the pods that *info* holds.

    For columnar plugins that are asked about one node with pods added or removed. O(pods of the node), O(1)
    for a node info of the table itself. Raises :class:`InvariantError` if the table has no such node.
    """
    row = table.live_row(info.name)
    if row is None:
        raise InvariantError(f"node {info.name} is not in the table, a columnar filter cannot look at it")
    present = table.pods_at(row)
    wanted = info.pods
    if present is wanted:
        yield row
        return
    gone = [uid for uid, pod in present.items() if wanted.get(uid) is not pod]
    come = [pod for uid, pod in wanted.items() if present.get(uid) is not pod]
    mark = table.mark()
    try:
        for uid in gone:
            table.remove_pod(info.name, uid)
        for pod in come:
            table.add_pod(info.name, pod)
        yield row
    finally:
        table.rollback(mark)
