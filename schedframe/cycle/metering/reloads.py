"""How reloads of the configuration ended."""

from __future__ import annotations

from threading import Lock
from typing import Final

from attrs import field

from ..._value import record

ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"


@record(eq=False)
class ReloadCounts:
    """Reloads of one scheduler, which any thread counts."""

    accepted: int = 0
    refused: int = 0
    last_accepted: bool = True
    """Whether the last configuration that was given is in use; the first one is."""
    _lock: Lock = field(factory=Lock, init=False)

    def add(self, *, accepted: bool) -> None:
        """Count a reload."""
        with self._lock:
            if accepted:
                self.accepted += 1
            else:
                self.refused += 1
            self.last_accepted = accepted
