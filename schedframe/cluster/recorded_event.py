"""An event about an object, as recorded by a cluster in memory."""

from __future__ import annotations

from .._base.value import record


@record(frozen=True)
class RecordedEvent:
    """A note about an object, for people. ``time`` is seconds since the epoch."""

    kind: str
    key: str
    uid: str
    type: str
    reason: str
    message: str
    action: str
    time: float
