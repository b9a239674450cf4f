"""Waiting for a socket in the core's thread, which handles messages and what is due until it is ready."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, ParamSpec, Protocol, TypeVar

from attrs import field

from ..._base.value import record
from .clock import Clock
from .inbox import Inbox, Interruption

P = ParamSpec("P")
T = TypeVar("T")


class TimedWork(Protocol):
    """The other work of the core."""

    def next_deadline(self) -> float | None:
        """Return when something is due, in seconds of the clock."""
        ...

    def take_in(self) -> None:
        """Handle messages and do what is due."""
        ...


@record(eq=False)
class SocketWait:
    """Function that waits for a socket and does the other work of the core until it is ready.

    It is a ``Wait`` of the extenders: called with a socket, whether it is to be written to, and the latest
    time of ``monotonic``. Messages are handled in the middle of a scheduling cycle, so the caller must expect
    anything to have changed. An error in there is raised by the next ``drain`` of the inbox, not by the call.
    """

    inbox: Inbox[Any]
    clock: Clock
    work: TimedWork
    is_suspended: bool = True
    """Whether to do nothing but wait: outside of scheduling cycles, and in dry runs."""
    _signal: tuple[socket.socket, socket.socket] | None = field(default=None, init=False)
    """A message in the inbox makes the first one readable."""

    def working(self, cycle: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
        """Call *cycle*, in which waiting is not suspended, and return its result."""
        self.is_suspended = False
        try:
            return cycle(*args, **keywords)
        finally:
            self.is_suspended = True

    def __call__(self, sock: socket.socket, writing: bool, deadline: float) -> bool:
        """Return whether the socket is ready; ``False`` at the deadline."""
        poll = select.poll()
        poll.register(sock, select.POLLOUT if writing else select.POLLIN)
        if self.is_suspended:
            return bool(poll.poll(_milliseconds(deadline)))
        signal = self._begin()
        poll.register(signal, select.POLLIN)
        before, self.inbox.wake_up = self.inbox.wake_up, self._wake
        self.is_suspended = True
        try:
            return self._wait(poll, sock.fileno(), signal, deadline)
        finally:
            self.is_suspended = False
            self.inbox.wake_up = before

    def _wait(self, poll: select.poll, wanted: int, signal: socket.socket, deadline: float) -> bool:
        while self._work():
            until, due = deadline, self.work.next_deadline()
            if due is not None:
                until = min(until, monotonic() + max(0.0, due - self.clock()))
            ready = [fd for fd, _ in poll.poll(_milliseconds(until))]
            if wanted in ready:
                return True
            if ready:
                _consume(signal)
            elif monotonic() >= deadline:
                return False
        poll.unregister(signal)
        return bool(poll.poll(_milliseconds(deadline)))

    def _work(self) -> bool:
        """Handle messages and what is due; return whether to go on with that."""
        try:
            self.work.take_in()
        except Exception as error:  # noqa: BLE001 - raised again where the core handles messages otherwise
            self.inbox.put(Interruption(error))
            return False
        return True

    def _begin(self) -> socket.socket:
        if self._signal is None:
            self._signal = socket.socketpair()
            for end in self._signal:
                end.setblocking(False)
        _consume(self._signal[0])
        return self._signal[0]

    def _wake(self) -> None:
        signal = self._signal
        if signal is not None:
            with suppress(BlockingIOError):  # it is readable already
                signal[1].send(b"!")

    def close(self) -> None:
        """Release what it holds; it may be used again."""
        signal, self._signal = self._signal, None
        for end in signal or ():
            end.close()


def _milliseconds(until: float) -> float:
    return max(0.0, until - monotonic()) * 1000


def _consume(signal: socket.socket) -> None:
    with suppress(BlockingIOError):
        while signal.recv(4096):
            pass
