"""Nodes that must take no more pods because an object that counts there cannot be read.

Each is shown with a taint and without room for a pod: the taint says why, and the room keeps away pods that
tolerate everything. Its pods, labels and volumes still count for decisions about other nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import evolve, field

from ..._base.value import record
from ...api import NO_SCHEDULE, Node, Quantity, Taint

TAINT: Final = Taint("schedframe/unreadable", "", NO_SCHEDULE)
"""Never written to the cluster."""
_NO_PODS: Final = {"pods": Quantity()}


@record(eq=False)
class ClosedNodes:
    """Closed nodes, and the objects that close them. Belongs to the thread of the loop; O(1)."""

    on_change: Callable[[str], None] = lambda name: None
    """Callback with the name of a node that was closed or opened; set by the reflector of nodes."""
    _node_of: dict[str, str] = field(factory=dict, init=False)
    """Object → the node that it closes."""
    _objects_at: dict[str, set[str]] = field(factory=dict, init=False)
    """The same by node."""
    _as_read: dict[str, Node] = field(factory=dict, init=False)
    """Closed nodes as they were read."""

    def close(self, name: str, obj: str) -> None:
        """Close the node *name* because of *obj*, in place of the node that it closed before; empty: none."""
        before = self._node_of.pop(obj, "")
        if before:
            self._objects_at[before].discard(obj)
        if name:
            self._node_of[obj] = name
            self._objects_at.setdefault(name, set()).add(obj)
        for each in dict.fromkeys((before, name)):
            if each and not self._objects_at[each]:
                del self._objects_at[each]
        if before != name:
            for each in (before, name):
                if each:
                    self.on_change(each)

    def __contains__(self, name: object) -> bool:
        return name in self._objects_at

    def shown(self, node: Node) -> Node:
        """Return *node*, as it was read, as watchers get to see it."""
        if node.name not in self._objects_at:
            if self._as_read:
                self._as_read.pop(node.name, None)
            return node
        self._as_read[node.name] = node
        spec = evolve(node.spec, taints=(*node.spec.taints, TAINT))
        status = evolve(node.status, allocatable={**node.status.allocatable, **_NO_PODS})
        return evolve(node, spec=spec, status=status)

    def forget(self, name: str) -> None:
        """Forget a node that is gone. Objects that close it close the next one of that name."""
        self._as_read.pop(name, None)

    def shown_again(self, node: Node) -> Node:
        """Return what watchers get to see in place of *node*, which they see now."""
        as_read = self._as_read.get(node.name, node)
        return node if (as_read is not node) == (node.name in self) else self.shown(as_read)
