"""Time as the scheduler sees it: injected, so that a simulation or a test owns it."""

from __future__ import annotations

import time
from typing import Protocol

from attrs import field

from ..._base.checked import checked
from ..._base.validators import number, optional_number
from ..._base.value import record


class Clock(Protocol):
    """Seconds since the epoch, never going back."""

    def __call__(self) -> float:
        """Return the time now."""
        ...


@checked
@record(eq=False)
class SystemClock:
    """The machine's time, immune to being set back while the scheduler runs."""

    _offset: float = field(factory=lambda: time.time() - time.monotonic())

    def __call__(self) -> float:
        """Return seconds since the epoch."""
        return self._offset + time.monotonic()


@checked
@record(eq=False)
class VirtualClock:
    """A clock that moves only by :meth:`advance` and :meth:`advance_to`."""

    now: float = field(default=1_700_000_000.0, validator=optional_number("give seconds since the epoch"))

    def __call__(self) -> float:
        """Return seconds since the epoch."""
        return self.now

    @checked
    def advance(self, seconds: float) -> None:
        """Let time pass."""
        number("seconds", seconds, "give a finite number from 0")
        if seconds < 0:
            raise ValueError(f"time cannot go back by {-seconds} s; advance by a positive number")
        self.now += seconds

    @checked
    def advance_to(self, moment: float) -> None:
        """Let time pass until *moment*; nothing if that is over."""
        number("moment", moment, "give seconds since the epoch")
        self.now = max(self.now, moment)
