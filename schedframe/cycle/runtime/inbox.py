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

    def sampling_poster(
        self, method: Callable[[Any], None], instead: Callable[[Any], None], gap: Callable[[], int]
    ) -> Callable[[Any], None]:
        """Return what :meth:`poster` returns, but some messages are handled by *instead*.

        *gap* returns after how many messages the next one is chosen, from 1 on.
        """
        add, left = self._messages.append, gap()

        def post(argument: Any) -> None:
            nonlocal left
            left -= 1
            if left <= 0:  # less if several threads post at once
                left = gap()
                add((instead, argument))
            else:
                add((method, argument))
            wake_up = self.wake_up
            if wake_up is not None:
                wake_up()

        return post

    def drain(self) -> None:
        """Handle all messages, including those that arrive during the call."""
        messages = self._messages
        while messages:
            method, argument = messages.popleft()
            method(argument)

    def __len__(self) -> int:
        return len(self._messages)
