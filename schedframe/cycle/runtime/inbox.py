"""Inbox: messages of other threads to the core. It is the only structure that they may write to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from attrs import field

from ..._base.value import record

Message = TypeVar("Message")


@record(frozen=True)
class Interruption:
    """An exception that is raised where the inbox is drained, put by the core for the end of its step."""

    error: BaseException


def _raise(interruption: Interruption) -> None:
    raise interruption.error


@record(eq=False)
class Inbox(Generic[Message]):
    """Messages in order of arrival. ``put`` may be called from any thread, everything else is the core's."""

    wake_up: Callable[[], None] | None = None
    """Called after a message came, in the thread that put it; must be thread-safe and quick."""
    handlers: dict[type, Callable[[Any], None]] = field(factory=lambda: {Interruption: _raise})
    """By type of message."""
    _messages: deque[Message | Interruption] = field(factory=deque)

    def put(self, message: Message | Interruption) -> None:
        """Let the core handle *message*."""
        self._messages.append(message)
        wake_up = self.wake_up  # read once: the core may be taking it away
        if wake_up is not None:
            wake_up()

    def note(self, message: Message) -> None:
        """Let the core handle *message*, without waking it."""
        self._messages.append(message)

    def put_first(self, message: Message) -> None:
        """Let the core handle *message* before all that waits. Core only."""
        self._messages.appendleft(message)

    def interrupt(self, error: BaseException) -> None:
        """Let the next :meth:`drain` raise *error*: the end of the step is the place for it. Core only."""
        self._messages.appendleft(Interruption(error))

    def wake(self) -> None:
        """Let the core look again whether there is something to do, without a message."""
        wake_up = self.wake_up
        if wake_up is not None:
            wake_up()

    def drain(self) -> None:
        """Handle all messages, including those that arrive during the call.

        One whose handling fails is gone. One that is interrupted, as by Ctrl-C, is put back: handled twice,
        it does no harm.
        """
        messages, handlers = self._messages, self.handlers
        try:
            while messages:
                message = messages.popleft()
                handlers[type(message)](message)
        except Exception:
            raise
        except BaseException:
            if type(message) is not Interruption:
                messages.appendleft(message)
            raise

    def __len__(self) -> int:
        return len(self._messages)
