"""Signals, answered by a thread of their own.

A handler in Python runs in the main thread, between two of its bytecodes; a signal that arrives just before
the main thread waits for a lock is not handled until the lock is free. The C part of a handler writes the
number into a socket at once, which a thread reads here.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

LONGEST_READ = 64
"""Signals that are read at a time."""


@contextmanager
def handling(actions: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Call the action of a signal inside, in a thread of its own. To be entered in the main thread."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    thread = threading.Thread(target=_serve, args=(reader, actions), name="schedframe-signals", daemon=True)
    before = {each: signal.signal(each, _nothing) for each in actions}
    descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(descriptor)
        for each, handler in before.items():
            signal.signal(each, handler)
        writer.close()
        thread.join()
        reader.close()


def _nothing(number: int, frame: FrameType | None) -> None:
    """Do nothing in the main thread: only a signal with a handler is written to the socket."""


def _serve(reader: socket.socket, actions: Mapping[signal.Signals, Callable[[], None]]) -> None:
    while numbers := reader.recv(LONGEST_READ):
        for number in numbers:
            action = actions.get(signal.Signals(number))
            if action is not None:
                action()
