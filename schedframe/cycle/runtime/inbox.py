"""Inbox: messages of other threads to the core. It is the only structure that they may write to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
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

    def note(self, method: Callable[..., None], argument: Any) -> None:
        """Ask the core to call ``method(argument)`` without waking it."""
        self._messages.append((method, argument))

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
        """Handle all messages, including those that arrive during the call.

        One whose handling is interrupted, as by Ctrl-C, is put back: handled twice, it does no harm.
        """
        messages = self._messages
        try:
            while messages:
                method, argument = messages.popleft()
                method(argument)
        except Exception:
            raise
        except BaseException:
            if method is not _raise:
                messages.appendleft((method, argument))
            raise

    def handle_all(self, method: Callable[..., None], arguments: Iterable[Any]) -> None:
        """Call *method* with each of *arguments*; if one call raises, those after it become messages."""
        left = deque(arguments)
        try:
            while left:
                method(left.popleft())
        except BaseException:
            self._messages.extendleft((method, argument) for argument in reversed(left))
            raise

    def interrupt(self, error: BaseException) -> None:
        """Let the next :meth:`drain` raise *error*: the end of the step is the place for it. Core only."""
        self.put_first(_raise, error)

    def __len__(self) -> int:
        return len(self._messages)


def _raise(error: BaseException) -> None:
    raise error
