"""Trials on the table: the log that undoes them."""

from __future__ import annotations

from attrs import field

from .._base.value import record
from ..api import Pod
from ..errors import InvariantError


@record(eq=False)
class UndoLog:
    """Pod changes of the trials under way. Trials nest; each is identified by its depth."""

    marks: list[int] = field(factory=list)
    """Length of ``entries`` at the beginning of each trial under way, the outermost first."""
    entries: list[tuple[int, Pod, tuple[str, ...] | None]] = field(factory=list)
    """Row, pod, and ``None`` if it was added, else all uids before it was removed (none if it was last)."""
    vacant: set[int] = field(factory=set)
    """Rows left empty, to be released when the outermost trial ends."""
    undoing: bool = False
    """Whether a trial is being undone."""

    def begin(self) -> int:
        """Begin a trial; return its depth."""
        self.marks.append(len(self.entries))
        return len(self.marks) - 1

    def end(self, depth: int) -> list[tuple[int, Pod, tuple[str, ...] | None]]:
        """Remove the trial at *depth* and those within it; return their entries, last first."""
        if not 0 <= depth < len(self.marks):
            raise InvariantError(f"rollback to mark {depth}, but {len(self.marks)} trials are under way")
        start = self.marks[depth]
        entries = self.entries[: start - 1 if start else None : -1]
        del self.marks[depth:], self.entries[start:]
        return entries


def put_back(pods: dict[str, Pod], pod: Pod, order: tuple[str, ...]) -> None:
    """Insert a removed pod again at its old position."""
    pods[pod.uid] = pod
    if order:
        before = {uid: pods[uid] for uid in order}
        pods.clear()
        pods.update(before)
