"""Watches: a stream of events after a resource version, with bookmarks, until a deadline or a fault."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from aiohttp import web
from attrs import field

from ..._base.validators import number
from ..._base.value import record
from .faults import Fault, FaultKind
from .kinds import ServedKind
from .refusals import Refusal
from .requests import Request
from .selectors import Matcher
from .store import Change, Store

Obj = dict[str, Any]

END_OF_INITIAL_EVENTS: Final = "k8s.io/initial-events-end"
"""Annotation of the bookmark after the present state in a streaming list."""

_encode: Final = msgspec.json.Encoder().encode


@record(frozen=True)
class WatchOptions:
    """Options of a watch."""

    version: int
    sends_state: bool
    """Whether the objects of now come first."""
    marks_state: bool
    """Whether a bookmark says that the objects of now have all come (a streaming list)."""
    bookmark_seconds: float | None
    """Seconds between bookmarks, ``None`` without."""
    seconds: float | None
    """Seconds after which the server ends the watch, ``None``: never."""


def watch_options(request: Request, store: Store, bookmark_seconds: float) -> WatchOptions:
    """Return what *request* asks for. Raises :class:`Refusal`."""
    query = request.query
    streams = query.get("sendInitialEvents") == "true"
    if streams and query.get("resourceVersionMatch") != "NotOlderThan":
        raise Refusal(422, "resourceVersionMatch: Forbidden: sendInitialEvents needs NotOlderThan")
    given = query.get("resourceVersion", "")
    sends_state = streams or given in ("", "0")
    bookmarks = query.get("allowWatchBookmarks") in ("true", "1")
    return WatchOptions(
        version=store.version if sends_state else version_of(given),
        sends_state=sends_state,
        marks_state=streams and bookmarks,
        bookmark_seconds=bookmark_seconds if bookmarks else None,
        seconds=_timeout_of(query.get("timeoutSeconds", "")),
    )


def _timeout_of(text: str) -> float | None:
    """Return the seconds after which a watch ends, ``None`` for never. Raises :class:`Refusal`."""
    if not text:
        return None
    try:
        seconds = float(text)
        number("timeoutSeconds", seconds, "", least=0)
    except ValueError:
        raise Refusal(400, f"timeoutSeconds: {text!r} is no number of seconds") from None
    return seconds


def version_of(text: str) -> int:
    """Return a resource version as a number. Raises :class:`Refusal`."""
    if not text.isdigit():
        raise Refusal(400, f"invalid resource version {text!r}")
    return int(text)


class _Ended(Exception):
    """The stream ends by a fault."""


@record(eq=False)
class WatchStream:
    """One watch, from its first to its last event."""

    store: Store
    kind: ServedKind
    selects: Matcher
    options: WatchOptions
    fault: Fault | None
    closing: asyncio.Event
    """Set when the server ends."""
    raw: web.BaseRequest
    _response: web.StreamResponse = field(init=False)
    _sent: int = field(default=0, init=False)
    _woken: asyncio.Event = field(factory=asyncio.Event, init=False)

    async def run(self) -> web.StreamResponse:
        """Send events until the watch ends, and return the response that carried them."""
        self._response = response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(self.raw)
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._woken.set)

        self.store.listeners.add(wake)
        try:
            async with asyncio.timeout(self.options.seconds):
                await self._follow()
        except (TimeoutError, _Ended, ConnectionError):
            pass
        finally:
            self.store.listeners.discard(wake)
        return response

    async def _follow(self) -> None:
        cursor = self.options.version
        if self.options.sends_state:
            cursor = await self._send_state()
        while not self.closing.is_set():
            self._woken.clear()
            try:
                with self.store.lock:
                    changes, latest = self.store.since(cursor), self.store.version
            except Refusal as refusal:
                await self._send("ERROR", refusal.manifest())
                return
            for change in changes:
                await self._send_change(change)
            cursor = max(cursor, latest)  # a watch may wait for a version that is to come
            await self._meet_fault()
            try:
                async with asyncio.timeout(self.options.bookmark_seconds):
                    await self._woken.wait()
            except TimeoutError:
                await self._bookmark(cursor)

    async def _send_state(self) -> int:
        with self.store.lock:
            objects, version = self.store.all(self.kind), self.store.version
        for key in sorted(objects):
            if self.selects(objects[key]):
                await self._send("ADDED", objects[key])
        if self.options.marks_state:
            await self._bookmark(version, {END_OF_INITIAL_EVENTS: "true"})
        return version

    async def _bookmark(self, version: int, annotations: dict[str, str] | None = None) -> None:
        metadata: Obj = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        marked = {"kind": self.kind.kind, "apiVersion": self.kind.api_version, "metadata": metadata}
        await self._send("BOOKMARK", marked)

    async def _send_change(self, change: Change) -> None:
        if change.kind is not self.kind:
            return
        event = event_of(change, self.selects)
        if event is not None:
            await self._send(*event)

    async def _send(self, type: str, obj: Obj) -> None:
        await self._meet_fault()
        line = _encode({"type": type, "object": obj}) + b"\n"
        if self._is_due(FaultKind.CUT):
            await self._response.write(line[: len(line) // 2])
            self._close()
            raise _Ended
        await self._response.write(line)
        self._sent += 1

    def _is_due(self, kind: FaultKind) -> bool:
        fault = self.fault
        return fault is not None and fault.kind is kind and self._sent >= fault.events

    async def _meet_fault(self) -> None:
        """Do what goes wrong between two events, if it is time for that."""
        if self._is_due(FaultKind.END):
            raise _Ended
        if self._is_due(FaultKind.GONE):
            refusal = Refusal(410, "too old resource version: 1 (2)")
            await self._response.write(_encode({"type": "ERROR", "object": refusal.manifest()}) + b"\n")
            raise _Ended
        is_half_closed = self._is_due(FaultKind.HALF_CLOSE)
        if is_half_closed and self.raw.transport is not None and self.raw.transport.can_write_eof():
            self.raw.transport.write_eof()
        if is_half_closed or self._is_due(FaultKind.SILENCE):
            await self.closing.wait()
            raise _Ended

    def _close(self) -> None:
        if self.raw.transport is not None:
            self.raw.transport.close()


def event_of(change: Change, selects: Matcher) -> tuple[str, Obj] | None:
    """Return type and object of the event that a watch with that selector gets, ``None`` for no event.

    An object that the selector does not select any more is ``DELETED`` for this watch.
    """
    old, new = change.old, change.new
    was = old is not None and selects(old)
    if new is not None and selects(new):
        return ("MODIFIED" if was else "ADDED"), new
    if not was or old is None:
        return None
    return "DELETED", {**old, "metadata": {**old["metadata"], "resourceVersion": str(change.version)}}
