"""How a connection waits for its socket, and how that may end."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from time import monotonic

from ..framework import ExtenderError

Wait = Callable[[socket.socket, bool, float], bool]
"""Waits until a socket can be read, or written to if the flag is set, at most until a time of ``monotonic``.

Returns whether it is ready.
"""


class Timeout(ExtenderError):
    """The deadline passed."""


class Broken(ExtenderError):
    """The connection failed, or what came is not HTTP."""


class NothingSent(Broken):
    """The connection was broken before any byte of a request was sent."""


def wait_blocking(sock: socket.socket, writing: bool, deadline: float) -> bool:
    """Wait in this thread, doing nothing else."""
    poll = select.poll()
    poll.register(sock, select.POLLOUT if writing else select.POLLIN)
    return bool(poll.poll(max(0.0, deadline - monotonic()) * 1000))
