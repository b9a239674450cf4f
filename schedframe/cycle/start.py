"""Start: the parts of a core that are given to it."""

from __future__ import annotations

from random import Random

from .._base.undo import UndoLog
from .._base.value import record
from ..api import Pod
from ..state import Cache, ObjectStore


@record(frozen=True, eq=False)
class Start:
    """The parts that a core does not make itself: those of a fork, whose trials can be reverted."""

    undo: UndoLog
    pending: dict[str, Pod]
    """Empty, or as ``cache`` and ``objects`` go with."""
    rng: Random
    cache: Cache | None = None
    """Nodes and pods; ``None``: none yet."""
    objects: ObjectStore | None = None
    next_start: int = 0
    """Where the next sample of nodes begins."""
