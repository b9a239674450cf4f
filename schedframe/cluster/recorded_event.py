"""An event about an object, as recorded by a cluster in memory."""

from __future__ import annotations

from attrs import frozen

from .._brief import brief_repr


@brief_repr
@frozen
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
