"""Events for people (``kubectl describe``), in events.k8s.io/v1: in series, and the first to be dropped.

Equal events about one version of an object are one event with a series: the second occurrence is written as
such, later ones are only counted until the series has not been seen for a while. So an object that does not
change costs at most two requests in :data:`SERIES_SECONDS` for each reason.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from attrs import define, field, frozen

from ...api.times import format_micro_time
from ...errors import ClusterError
from .backoff import Backoff
from .client import METADATA_ONLY, STRATEGIC_PATCH, ApiClient
from .errors import NOT_FOUND, ApiError, NotLeading
from .lanes import Closed, Lanes, Priority

logger = logging.getLogger("schedframe.kubernetes")

WAITING_EVENTS: Final = 16_384
"""Events that wait to be written; when there are more, the oldest are dropped."""
SERIES_SECONDS: Final = 360.0
"""Seconds after its last occurrence at which a series ends."""
KEPT_SERIES: Final = 8192
"""Series that are remembered, the latest ones."""
SENDERS: Final = 24
"""Events that are written at a time, at most; the other turns of the gate are always free for binds."""
ATTEMPTS: Final = 4
EVENT_SECONDS: Final = 10.0
"""Deadline of one request."""
LONGEST_NOTE: Final = 1024


@frozen
class Occurrence:
    """What happened to an object, once."""

    regarding: Mapping[str, Any]
    type: str
    reason: str
    note: str
    action: str
    controller: str
    moment: float

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for events that are one series: about one version of an object, as with kube-scheduler."""
        regarding = self.regarding
        version = regarding.get("resourceVersion", "")
        return (regarding["kind"], regarding["uid"], version, self.type, self.reason, self.action)


@define(eq=False)
class _Series:
    namespace: str
    name: str
    last: float
    count: int = 1
    written: int = 0


@define(eq=False)
class EventRecorder:
    """Writes events in the background. All methods belong to the thread of the loop."""

    client: ApiClient
    lanes: Lanes
    dropped: int = field(default=0, init=False)
    """Number of events that were not written because there were too many, or the server did not take them."""
    _waiting: deque[Occurrence] = field(factory=deque, init=False)
    _series: OrderedDict[tuple[str, ...], _Series] = field(factory=OrderedDict, init=False)
    _senders: int = field(default=0, init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)
    _host: str = field(factory=socket.gethostname, init=False)
    _encode: Any = field(factory=lambda: msgspec.json.Encoder().encode, init=False)

    def record(self, occurrence: Occurrence) -> None:
        """Write the event as soon as nothing more important is to be sent. O(1)."""
        if len(self._waiting) >= WAITING_EVENTS:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(occurrence)
        if self._senders < SENDERS:
            self._senders += 1
            task = asyncio.get_running_loop().create_task(self._send())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def flush(self, seconds: float) -> None:
        """Wait until nothing waits any more, at most for so long."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)

    async def _send(self) -> None:
        try:
            while self._waiting:
                occurrence = self._waiting.popleft()
                request = self._request(occurrence)
                if request is not None:
                    await self._write(*request, occurrence)
        except Closed:
            self.dropped += len(self._waiting) + 1
            self._waiting.clear()
        finally:
            self._senders -= 1

    def _request(self, occurrence: Occurrence) -> tuple[str, str, bytes, str] | None:
        """Return method, path, body and content type; ``None`` if the series says it already."""
        moment = occurrence.moment
        series = self._series.get(occurrence.key)
        if series is not None and moment - series.last < SERIES_SECONDS:
            series.count, series.last = series.count + 1, moment
            self._series.move_to_end(occurrence.key)
            if series.count > 2:
                return None
            body = {"series": {"count": series.count, "lastObservedTime": format_micro_time(moment)}}
            path = f"/apis/events.k8s.io/v1/namespaces/{series.namespace}/events/{series.name}"
            return "PATCH", path, self._encode(body), STRATEGIC_PATCH
        regarding = occurrence.regarding
        namespace = regarding.get("namespace") or "default"
        name = f"{regarding['name']}.{time.time_ns():x}"
        self._series[occurrence.key] = _Series(namespace, name, moment)
        if len(self._series) > KEPT_SERIES:
            self._series.popitem(last=False)
        body = self._event(occurrence, namespace, name)
        return "POST", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", self._encode(body), ""

    def _event(self, occurrence: Occurrence, namespace: str, name: str) -> dict[str, Any]:
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": format_micro_time(occurrence.moment),
            "reportingController": occurrence.controller,
            "reportingInstance": f"{occurrence.controller}-{self._host}"[:128],
            "action": occurrence.action,
            "reason": occurrence.reason,
            "regarding": occurrence.regarding,
            "note": occurrence.note[:LONGEST_NOTE],
            "type": occurrence.type,
        }

    async def _write(
        self, method: str, path: str, body: bytes, content_type: str, occurrence: Occurrence
    ) -> None:
        backoff = Backoff()
        for attempt in range(ATTEMPTS):
            turn = await self.lanes.take(Priority.EVENT)
            try:
                await self.client.request(
                    method,
                    path,
                    body,
                    seconds=EVENT_SECONDS,
                    accept=METADATA_ONLY,
                    content_type=content_type or "application/json",
                )
                return
            except ClusterError as error:
                failure = error
            finally:
                self.lanes.give_back(turn)
            if isinstance(failure, NotLeading):
                break
            if isinstance(failure, ApiError) and not failure.is_transient:
                if method == "PATCH" and failure.status == NOT_FOUND:
                    self._series.pop(occurrence.key, None)  # it has expired; the next one begins a new series
                break
            if attempt + 1 < ATTEMPTS:
                await asyncio.sleep(backoff.next(getattr(failure, "retry_after", None)))
        self.dropped += 1
        logger.debug("event %s dropped: %s", occurrence.reason, failure)
