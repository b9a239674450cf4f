"""The objects of one kind as watchers see them: for one that cannot be read, what is safe to decide on.

See :mod:`.unreadable`. A difference to what they saw before is one event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import field

from ..._base.value import record
from ..port import EventType, WatchEvent, WatchHandler
from .closed_nodes import ClosedNodes
from .unreadable import Unreadable, closed_node, stand_in


@record(eq=False)
class ShownObjects:
    """Objects of one kind as watchers see them. All of it belongs to the thread of the loop."""

    kind: str
    closed: ClosedNodes = field(factory=ClosedNodes, repr=False)
    """Shared by all kinds of a cluster."""
    objects: dict[str, Any] = field(factory=dict, init=False, repr=False)
    """By key, as of the last event."""
    unreadable: dict[str, Unreadable] = field(factory=dict, init=False, repr=False)
    """By key: objects whose present version cannot be read."""
    on_change: Callable[[WatchEvent], None] | None = field(default=None, init=False)
    """Called with each event, before the handlers."""
    _handlers: list[WatchHandler] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        if self.kind == "Node":
            self.closed.on_change = self._node_changed

    def add_handler(self, handler: WatchHandler) -> None:
        """Call *handler* with an ``ADDED`` for each object that is known, then with every change."""
        for obj in list(self.objects.values()):
            handler(WatchEvent("ADDED", self.kind, None, obj))
        self._handlers.append(handler)

    def remove_handler(self, handler: WatchHandler) -> None:
        """Call it no more."""
        self._handlers = [other for other in self._handlers if other is not handler]

    def replace(self, objects: dict[str, Any]) -> None:
        """Show *objects*, all there are, among them :class:`Unreadable` ones. O(objects)."""
        for key in [key for key in self.objects if key not in objects]:
            self._emit("DELETED", self.objects.pop(key), None, stale=True)
        for obj in objects.values():
            self.put(obj)
        for key in [key for key in self.unreadable if key not in objects]:
            self._no_longer_unreadable(key)

    def put(self, obj: Any) -> None:
        """Show *obj*, or what stands in for it if it is an :class:`Unreadable` one."""
        if isinstance(obj, Unreadable):
            self._put_in_place_of(obj)
            return
        self._show(obj.key, obj)
        if self.unreadable:
            self._no_longer_unreadable(obj.key)

    def remove(self, key: str) -> None:
        """Show the object no more."""
        self._show(key, None)
        self._no_longer_unreadable(key)

    def _put_in_place_of(self, left: Unreadable) -> None:
        """Show what stands in for an object that cannot be read."""
        key = left.key
        self.unreadable[key] = left
        last = self.objects.get(key)
        shown = stand_in(left, last)
        # Closed first, and opened last: in between the node would take pods that it has no room for.
        self.closed.close(closed_node(left, shown), f"{left.kind} {key}")
        if shown is not last:
            self._show(key, shown)

    def _no_longer_unreadable(self, key: str) -> None:
        if self.unreadable.pop(key, None) is not None:
            self.closed.close("", f"{self.kind} {key}")

    def _node_changed(self, name: str) -> None:
        """Show a node again that was closed or opened."""
        known = self.objects.get(name)
        if known is None:
            self.closed.forget(name)
            return
        self.objects[name] = shown = self.closed.shown_again(known)
        if shown is not known:
            self._emit("MODIFIED", known, shown)

    def _show(self, key: str, obj: Any) -> None:
        """Let watchers see *obj*, as it was read, under *key*; ``None``: nothing."""
        old = self.objects.get(key)
        if obj is old:
            return
        if obj is None:
            del self.objects[key]
            self._emit("DELETED", old, None)
            return
        if self.kind == "Node":
            obj = self.closed.shown(obj)
        self.objects[key] = obj
        if old is None:
            self._emit("ADDED", None, obj)
        elif old.metadata.resource_version != obj.metadata.resource_version or old.uid != obj.uid:
            self._emit("MODIFIED", old, obj)

    def _emit(self, type: EventType, old: Any, new: Any, *, stale: bool = False) -> None:
        event = WatchEvent(type, self.kind, old, new, stale)
        if self.on_change is not None:
            self.on_change(event)
        for handler in self._handlers:
            handler(event)
