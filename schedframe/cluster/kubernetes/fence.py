"""Until when a replica may write: no request that changes the cluster leaves after the deadline.

Only the holder of a lease may write, and it cannot know that it has lost the lease while it is suspended. So
the deadline is in time that goes on while the process or the machine sleeps, and it is checked when the bytes
are handed to the connection: what waited for a turn, for a token or for a connection is checked after that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Final

from attrs import field

from ..._base.value import record
from .errors import NotLeading

_BOOT_CLOCK: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


def boot_time() -> float:
    """Return the seconds since some moment, those included in which the machine was suspended."""
    return time.monotonic() if _BOOT_CLOCK is None else time.clock_gettime(_BOOT_CLOCK)


@record(eq=False)
class Fence:
    """Closed until it is extended, and again from the deadline on."""

    clock: Callable[[], float] = boot_time
    deadline: float = field(default=-inf, init=False)
    """Time of the clock from which on nothing is written."""
    refused: int = field(default=0, init=False)
    """Number of requests that were not sent because of the fence."""

    def extend(self, deadline: float) -> None:
        """Allow writes until *deadline*, in time of the clock."""
        self.deadline = deadline

    def close(self) -> None:
        """Allow no writes."""
        self.deadline = -inf

    def is_open(self) -> bool:
        """Return whether a request may be written now."""
        return self.clock() < self.deadline

    def check(self) -> None:
        """Raise :class:`NotLeading` unless a request may be written now."""
        if not self.is_open():
            self.refused += 1
            raise NotLeading("this replica does not hold the lease, so nothing is written")
