"""Inbox: messages of other threads to the core. It is the only structure that they may write to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from attrs import define, field

Message = tuple[Callable[..., None], Any]
"""A method of the core and the one argument to call it with."""


@define(eq=False)
class Inbox:
    """Messages in order of arrival. ``put`` may be called from any thread, everything else is the core's."""

    wake_up: Callable[[], None] | None = None
    """Called after a message came, in the thread that put it; must be thread-safe and quick."""
    _messages: deque[Message] = field(factory=deque)

    def put(self, method: Callable[..., None], argument: Any) -> None:
        """Ask the core to call ``method(argument)``."""
        self._messages.append((method, argument))
        wake_up = self.wake_up  # read once: the core may be taking it away
        if wake_up is not None:
            wake_up()

    def put_first(self, method: Callable[..., None], argument: Any) -> None:
        """Ask the core to call ``method(argument)`` before all that waits. The core's thread only."""
        self._messages.appendleft((method, argument))

    def wake(self) -> None:
        """Let the core look again whether there is something to do, without a message."""
        wake_up = self.wake_up
        if wake_up is not None:
            wake_up()

    def poster(self, method: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a function that does what :meth:`put` does for *method*, at a lower price."""
        add = self._messages.append

        def post(argument: Any) -> None:
            add((method, argument))
            wake_up = self.wake_up
            if wake_up is not None:
                wake_up()

        return post

    def diverting_poster(
        self, method: Callable[[Any], None], other: Callable[[Any], None]
    ) -> tuple[Callable[[Any], None], Callable[[bool], None]]:
        """Return what :meth:`poster` returns, and a function: called with true, it lets *other* handle.

        That is for messages posted from then on, until it is called with false.
        """
        add, handle = self._messages.append, method

        def post(argument: Any) -> None:
            add((handle, argument))
            wake_up = self.wake_up
            if wake_up is not None:
                wake_up()

        def divert(diverted: bool) -> None:
            nonlocal handle
            handle = other if diverted else method

        return post, divert

    def drain(self) -> None:
        """Handle all messages, including those that arrive during the call."""
        messages = self._messages
        while messages:
            method, argument = messages.popleft()
            method(argument)

    def __len__(self) -> int:
        return len(self._messages)
