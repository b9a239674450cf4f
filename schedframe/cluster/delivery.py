"""Delivery of events: one order for all watchers, and no lock held while handlers run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from attrs import field

from .._base.value import record
from .port import WatchEvent, WatchHandler

_FAILED: Final = "handlers of cluster events failed"


@record(eq=False)
class Watch:
    """One watcher; ``kinds`` None is all kinds. Closing it stops delivery with the event under way."""

    handler: WatchHandler
    kinds: frozenset[str] | None
    _owner: Delivery
    open: bool = True

    def close(self) -> None:
        """No further event."""
        self._owner.leave(self)

    def wants(self, kind: str) -> bool:
        """Return whether events of *kind* are for this watcher."""
        return self.kinds is None or kind in self.kinds


@record(eq=False)
class _Joining:
    """A watcher's place in the order of events: it gets *state*, and every event after it."""

    watch: Watch
    state: list[Any]


@record(eq=False)
class Delivery:
    """A queue of events and the watchers that get them.

    A thread that changes the store puts events while holding ``lock``, so their order is that of the changes,
    and calls :meth:`deliver` after releasing it. One thread delivers at a time. A handler that changes the
    store, or another thread that does so during a delivery, only adds to the queue: the event is delivered
    after those before it, to all watchers in the same order, and no thread waits for another.
    """

    lock: threading.Lock = field(factory=threading.Lock)
    _queue: deque[WatchEvent | _Joining] = field(factory=deque)
    _telling: threading.Lock = field(factory=threading.Lock)
    watches: tuple[Watch, ...] = ()
    """Those that get events, or will; as long as there are none, no event need be made. Read-only."""
    _joined: list[Watch] = field(factory=list)
    _recipients: dict[str, tuple[Watch, ...]] = field(factory=dict)
    put: Callable[[WatchEvent], None] = field(init=False)
    """Add an event; the lock must be held."""

    def __attrs_post_init__(self) -> None:
        self.put = self._queue.append

    def join(self, handler: WatchHandler, kinds: Iterable[str] | None, state: list[Any]) -> Watch:
        """Add a watcher that gets the objects in *state* first; the lock must be held."""
        watch = Watch(handler, None if kinds is None else frozenset(kinds), self)
        self.watches = (*self.watches, watch)
        self._queue.append(_Joining(watch, state))
        return watch

    def leave(self, watch: Watch) -> None:
        """Remove a watcher; harmless if it has left."""
        with self.lock:
            watch.open = False
            watch.handler = _ignore  # the watch is dropped with the next event of a kind, its handler at once
            self.watches = tuple(other for other in self.watches if other is not watch)
            self._recipients = {}

    def deliver(self) -> None:
        """Deliver what is in the queue, unless a delivery is under way.

        Errors of handlers are raised after the delivery: the error itself, or several in a group.
        """
        errors: list[Exception] = []
        queue, telling = self._queue, self._telling
        # A thread that adds to the queue after it was seen empty here gets the lock and delivers itself.
        while queue and telling.acquire(False):
            try:
                while queue:
                    item = queue.popleft()
                    if isinstance(item, _Joining):
                        self._admit(item, errors)
                        continue
                    for watch in self._recipients.get(item.kind) or self._recipients_of(item.kind):
                        if watch.open:
                            try:
                                watch.handler(item)
                            except Exception as error:  # noqa: BLE001 - raised after the delivery
                                errors.append(error)
            finally:
                telling.release()
        if errors:
            raise errors[0] if len(errors) == 1 else ExceptionGroup(_FAILED, errors)

    def _admit(self, joining: _Joining, errors: list[Exception]) -> None:
        watch = joining.watch
        for obj in joining.state:
            if watch.open:
                try:
                    watch.handler(WatchEvent("ADDED", obj.KIND, None, obj))
                except Exception as error:  # noqa: BLE001 - raised after the delivery
                    errors.append(error)
        self._joined.append(watch)
        self._recipients = {}

    def _recipients_of(self, kind: str) -> tuple[Watch, ...]:
        """Return the watchers of *kind* in the order in which they joined; cached until that changes."""
        self._joined = [watch for watch in self._joined if watch.open]
        found = self._recipients[kind] = tuple(watch for watch in self._joined if watch.wants(kind))
        return found


def _ignore(event: WatchEvent) -> None:
    """Handle an event for a watcher that has left."""
