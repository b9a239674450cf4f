"""A timer of the kernel that ends a process which is suspended past its lease, before it runs again.

A fence that is checked in the program leaves a gap: the process may be suspended between the check and the
system call that sends, or with bytes in a buffer of the event loop. The kernel delivers the signal of an
expired timer before a process that was stopped executes anything, so nothing is sent from that gap.
"""

from __future__ import annotations

import ctypes
import signal
from typing import Final, Protocol

from ...._base.value import record

EXIT_CODE: Final = 14
"""Exit code of a process that the watchdog ended: the number of SIGALRM."""


class Watchdog(Protocol):
    """Ends the process when it is neither armed again nor disarmed in time."""

    def arm(self, seconds: float) -> None:
        """End the process after *seconds*, in place of any earlier moment."""
        ...

    def disarm(self) -> None:
        """Do not end the process."""
        ...


class NoWatchdog:
    """No watchdog: the process is never ended."""

    def arm(self, seconds: float) -> None:
        """See :class:`Watchdog`."""

    def disarm(self) -> None:
        """See :class:`Watchdog`."""


@record(eq=False)
class ProcessWatchdog:
    """The interval timer of the process, with SIGALRM handled by ``_exit``.

    The handler is a function of the C library, because a handler in Python would run after the next bytecode
    only, and the default action is ignored for the first process of a container.
    """

    def install(self) -> bool:
        """Take SIGALRM for this alone; return whether the platform has interval timers."""
        if not hasattr(signal, "setitimer"):
            return False
        library = ctypes.CDLL(None)
        library.signal.restype = ctypes.c_void_p
        library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        library.signal(signal.SIGALRM, ctypes.cast(library._exit, ctypes.c_void_p))
        return True

    def arm(self, seconds: float) -> None:
        """See :class:`Watchdog`."""
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))

    def disarm(self) -> None:
        """See :class:`Watchdog`."""
        signal.setitimer(signal.ITIMER_REAL, 0.0)
