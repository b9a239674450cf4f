"""Inbox: messages of other threads to the core. It is the only structure that they may write to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from attrs import define, field
from typing_extensions import override

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

    def drain(self) -> int:
        """Handle all messages, including those that arrive during the call; return their number."""
        messages = self._messages
        count = 0
        while messages:
            method, argument = messages.popleft()
            method(argument)
            count += 1
        return count

    def __len__(self) -> int:
        return len(self._messages)


@define(eq=False)
class SamplingInbox(Inbox):
    """Handles some messages, chosen by their number, in another way."""

    gap: Callable[[], int] = field(kw_only=True)
    """Returns after how many messages the next one is chosen, from 1 on."""
    instead: dict[Callable[[Any], None], Callable[[Any], None]] = field(factory=dict, init=False)
    """Method → what is called in its place for a message that is chosen."""
    _left: int = field(init=False)
    """Messages up to the next one that is chosen, that one included."""

    def __attrs_post_init__(self) -> None:
        self._left = self.gap()

    @override
    def drain(self) -> int:
        messages = self._messages
        count, chosen = 0, self._left
        while messages:
            method, argument = messages.popleft()
            count += 1
            if count == chosen:
                chosen += self.gap()
                method = self.instead.get(method, method)
            method(argument)
        self._left = chosen - count
        return count
