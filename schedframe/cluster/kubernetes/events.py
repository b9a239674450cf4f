"""Events for people (``kubectl describe``), in events.k8s.io/v1: in series, and the first to be dropped.

The rules of series are those of :mod:`schedframe.cluster.event_log`. The first event of a series is written
as it is, the second one as the beginning of a series; later ones are only counted. The count is written again
after :data:`REFRESH_SECONDS`, and once more when the series has ended. So an object that does not change
costs a few requests for each reason, however often it is tried.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from attrs import field

from ..._base.value import record
from ...api._text import without_surrogates
from ...api.times import format_micro_time
from ...errors import ClusterError
from ..event_log import SERIES_SECONDS, EventKey, EventLog, Series
from .backoff import Backoff
from .client import STRATEGIC_PATCH, UNREAD, ApiClient
from .encoding import encode
from .errors import CONFLICT, NOT_FOUND, ApiError, NotLeading
from .lanes import Closed, Lanes, Priority

logger = logging.getLogger("schedframe.kubernetes")

FLUSH_SECONDS: Final = 3.0
"""Seconds in which events that still wait are written when the cluster is closed."""
WAITING_EVENTS: Final = 16_384
"""Events that wait to be written; when there are more, the oldest are dropped."""
KEPT_SERIES: Final = 8192
"""Series that are remembered, the latest ones."""
REFRESH_SECONDS: Final = 1800.0
"""Seconds after which the count of a series that goes on is written again: events are kept for an hour."""
SENDERS: Final = 24
"""Events that are written at a time, at most; the other turns of the gate are always free for binds."""
GATHER_SECONDS: Final = 0.1
"""Seconds for which events are gathered. One that is sent alone costs the API server 1.8 ms of CPU time and
the scheduler 0.4, each of 24 that are sent together 1.2 and 0.15."""
ATTEMPTS: Final = 4
EVENT_SECONDS: Final = 10.0
"""Deadline of one request."""
LONGEST_NOTE: Final = 1024
"""Bytes of a note that the API takes, although its message says characters."""


@record(frozen=True)
class Occurrence:
    """One thing that happened to an object."""

    regarding: Mapping[str, Any]
    type: str
    reason: str
    note: str
    action: str
    controller: str
    moment: float

    @property
    def key(self) -> EventKey:
        """Return the fields that it shares with the events of its series."""
        regarding = self.regarding
        name = f"{regarding.get('namespace') or ''}/{regarding['name']}"
        version = regarding.get("resourceVersion", "")
        return EventKey(
            regarding["kind"],
            name,
            regarding["uid"],
            version,
            self.type,
            self.reason,
            self.action,
            self.controller,
        )


def reference_to(obj: Any) -> dict[str, Any]:
    """Return the reference to *obj* that an event has."""
    return {
        "apiVersion": getattr(obj, "api_version", "") or obj.API_VERSION,
        "kind": obj.KIND.rpartition("/")[2],
        "namespace": obj.namespace,
        "name": obj.name,
        "uid": obj.uid,
        "resourceVersion": obj.metadata.resource_version,
    }


@record(eq=False)
class _Stored:
    """The event on the server that stands for a series."""

    namespace: str
    name: str
    written_at: float
    written: int = 1
    """The count that was written last."""

    @property
    def collection(self) -> str:
        return f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"


class _Writing(NamedTuple):
    """A count of a series to be written."""

    stored: _Stored
    total: int
    """The count."""
    last: float
    occurrence: Occurrence | None
    """What to create the event from; ``None``: it is not created if it has expired."""

    @property
    def series(self) -> dict[str, Any]:
        return {"count": self.total, "lastObservedTime": format_micro_time(self.last)}


@record(eq=False)
class EventRecorder:
    """Writes events in the background. All methods belong to the thread of the loop."""

    client: ApiClient
    lanes: Lanes
    clock: Callable[[], float] = time.time
    dropped: int = field(default=0, init=False)
    """Number of events that were not written because there were too many, or the server did not take them."""
    _waiting: deque[Occurrence | _Writing] = field(factory=deque, init=False)
    _log: EventLog = field(init=False)
    _stored: dict[EventKey, _Stored] = field(factory=dict, init=False)
    """The event of each series of the log."""
    _ending: asyncio.TimerHandle | None = field(default=None, init=False)
    """The next look at the series that end; ``None`` without series."""
    _gathering: asyncio.TimerHandle | None = field(default=None, init=False)
    """Starts the senders; ``None`` while none wait for it."""
    _senders: int = field(default=0, init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)
    _host: str = field(factory=socket.gethostname, init=False)

    def __attrs_post_init__(self) -> None:
        self._log = EventLog(KEPT_SERIES, self._ended)

    def record(self, occurrence: Occurrence) -> None:
        """Write the event in a moment, when nothing more important is to be sent. O(1)."""
        self._enqueue(occurrence)

    async def flush(self, seconds: float) -> None:
        """Write at once what waits, and wait for that, at most for so long."""
        self._start_senders()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)

    def _enqueue(self, item: Occurrence | _Writing) -> None:
        if len(self._waiting) >= WAITING_EVENTS:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(item)
        if self._gathering is None and self._senders < SENDERS:
            loop = asyncio.get_running_loop()
            self._gathering = loop.call_later(GATHER_SECONDS, self._start_senders)

    def _start_senders(self) -> None:
        """Write what waits; the senders go on until nothing does."""
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        loop = asyncio.get_running_loop()
        for _ in range(min(len(self._waiting), SENDERS - self._senders)):
            self._senders += 1
            task = loop.create_task(self._send())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _send(self) -> None:
        try:
            while self._waiting:
                item = self._waiting.popleft()
                writing = self._counted(item) if isinstance(item, Occurrence) else item
                if writing is not None:
                    await self._write(writing)
        except Closed:
            self.dropped += len(self._waiting) + 1
            self._waiting.clear()
        finally:
            self._senders -= 1

    # ---- series ------------------------------------------------------------------------------------------

    def _counted(self, occurrence: Occurrence) -> _Writing | None:
        """Count an event, and return what is to be written; ``None`` if the count waits."""
        moment, key = occurrence.moment, occurrence.key
        series = self._log.add(key, "", moment)  # the note that is written is that of the first event
        if self._ending is None:
            self._expect_end(SERIES_SECONDS)
        if series.count == 1:
            regarding = occurrence.regarding
            name = f"{regarding['name']}.{time.time_ns():x}"
            stored = self._stored[key] = _Stored(regarding.get("namespace") or "default", name, moment)
        else:
            stored = self._stored[key]
            if series.count > 2 and moment - stored.written_at < REFRESH_SECONDS:
                return None
            stored.written, stored.written_at = series.count, moment
        return _Writing(stored, series.count, moment, occurrence)

    def _ended(self, key: EventKey, series: Series) -> None:
        stored = self._stored.pop(key)
        if series.count > stored.written:
            self._enqueue(_Writing(stored, series.count, series.last, None))

    def _expect_end(self, seconds: float) -> None:
        self._ending = asyncio.get_running_loop().call_later(seconds, self._end_series)

    def _end_series(self) -> None:
        """End the series whose time has come, and write their counts."""
        self._ending, now = None, self.clock()
        following = self._log.end_old(now)
        if following is not None:
            self._expect_end(max(following - now, 1.0))

    # ---- requests ----------------------------------------------------------------------------------------

    async def _write(self, writing: _Writing) -> None:
        """Create the first event of a series, or change its count; an event that expired is created again."""
        backoff, creates = Backoff(), writing.total == 1
        for attempt in range(ATTEMPTS):
            try:
                await self._request(writing, creates=creates)
                return
            except ClusterError as error:
                failure = error
            if isinstance(failure, NotLeading):
                break
            status = failure.status if isinstance(failure, ApiError) else None
            if status == NOT_FOUND and not creates and writing.occurrence is not None:
                creates = True
                continue
            if status == CONFLICT and creates and writing.total > 1:
                creates = False  # its first event was under way
            elif isinstance(failure, ApiError) and not failure.is_transient:
                break
            if attempt + 1 < ATTEMPTS:
                await asyncio.sleep(backoff.next(getattr(failure, "retry_after", None)))
        self.dropped += 1
        logger.debug("event %s dropped: %s", writing.stored.name, failure)

    async def _request(self, writing: _Writing, *, creates: bool) -> None:
        """Send one request. Raises :class:`ClusterError`."""
        stored = writing.stored
        if creates and writing.occurrence is not None:
            method, path, form = "POST", stored.collection, "application/json"
            body = self._event(writing.occurrence, writing)
        else:
            method, path, form = "PATCH", f"{stored.collection}/{stored.name}", STRATEGIC_PATCH
            body = {"series": writing.series}
        turn = await self.lanes.take(Priority.EVENT)
        try:
            await self.client.request(
                method,
                path,
                encode(body),
                seconds=EVENT_SECONDS,
                accept=UNREAD,
                content_type=form,
            )
        finally:
            self.lanes.give_back(turn)

    def _event(self, occurrence: Occurrence, writing: _Writing) -> dict[str, Any]:
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": writing.stored.name, "namespace": writing.stored.namespace},
            "eventTime": format_micro_time(occurrence.moment),
            "reportingController": occurrence.controller,
            "reportingInstance": f"{occurrence.controller}-{self._host}"[:128],
            "action": occurrence.action,
            "reason": occurrence.reason,
            "regarding": occurrence.regarding,
            "note": _note(occurrence.note),
            "type": occurrence.type,
        }
        return event if writing.total == 1 else event | {"series": writing.series}


def _note(text: str) -> str:
    """Return *text* as the note of an event: cut between two characters, with the mark of kube-scheduler."""
    encoded = without_surrogates(text).encode()
    if len(encoded) <= LONGEST_NOTE:
        return encoded.decode()
    return f"{encoded[: LONGEST_NOTE - 4].decode(errors='ignore')} ..."
