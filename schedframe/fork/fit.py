"""Fit: the answer whether a pod finds a node."""

from __future__ import annotations

from typing_extensions import override

from .._base.value import record
from ..api import Pod


@record(frozen=True)
class Fit:
    """Place of a pod, or why it has none. True if there is a node; ``str()`` is one line."""

    pod: Pod
    """As admission completes it."""
    node_name: str | None
    """The node that the scheduler would choose, ``None`` if there is none."""
    message: str = ""
    """Why no node fits; empty if one does."""

    def __bool__(self) -> bool:
        """Return whether there is a node."""
        return self.node_name is not None

    @override
    def __str__(self) -> str:
        where = f"fits on {self.node_name}" if self.node_name is not None else f"fits nowhere: {self.message}"
        return f"{self.pod.key} {where}"
