"""Waits between attempts: they double, and differ between clients so that not all come back at once."""

from __future__ import annotations

from random import Random
from typing import Final

from attrs import field

from ..._base.value import record

FIRST_SECONDS: Final = 0.2
LONGEST_SECONDS: Final = 3.0
LONGEST_RETRY_AFTER: Final = 30.0
"""Seconds of Retry-After that are observed; a server that asks for more gets a request earlier."""
JITTER: Final = 0.5
"""Share by which a wait is longer than its minimum, at most."""

_rng: Final = Random()  # not that of the scheduler: draws for waits must not change decisions


@record
class Backoff:
    """The waits after failures in a row."""

    first: float = FIRST_SECONDS
    longest: float = LONGEST_SECONDS
    failures: int = field(default=0, init=False)

    def next(self, at_least: float | None = None) -> float:
        """Return the seconds to wait after one more failure; *at_least* is the server's Retry-After."""
        seconds = min(self.first * 2.0 ** min(self.failures, 16), self.longest)
        self.failures += 1
        return max(seconds, min(at_least or 0.0, LONGEST_RETRY_AFTER)) * (1.0 + JITTER * _rng.random())

    def reset(self) -> None:
        """Begin again after a success."""
        self.failures = 0
