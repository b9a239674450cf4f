"""Reflectors: the objects of one kind as the API server has them, kept by a list and a watch.

A watch is resumed at the last resource version after any end of its connection. Only when the server has
lost that part of the history (410) are the objects listed again, and watchers get the difference: an object
deleted in between is a ``DELETED`` with ``old_is_stale``, one deleted and created again is one ``MODIFIED``
with two uids. A watch without any line for a while is opened again, because a dead connection looks the same.
After a failure the versions are compared: the server's go back when etcd is restored from a backup.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from attrs import define, field

from ...errors import ClusterError
from ..port import EventType, WatchEvent, WatchHandler
from .backoff import Backoff
from .client import ApiClient
from .decoding import BOOKMARK, DELETED, LISTED, Decoder, WatchFailure
from .errors import FORBIDDEN, GONE, NOT_FOUND, UNAUTHORIZED, ApiError, NoAnswer
from .loop_time import loop_time
from .resources import Resource
from .rights import rule

logger = logging.getLogger("schedframe.kubernetes")

PAGE_OBJECTS: Final = 500
"""Objects in one page of a list: bounds the memory of an answer, and how long its decoding takes."""
LIST_SECONDS: Final = 60.0
"""Deadline of one page, and seconds without a line after which a streaming list is given up."""
LIST_SECONDS_WHOLE: Final = 300.0
"""Deadline of a list in one page, which is read only when pages take too long."""
CHECK_SECONDS: Final = 2.0
"""Deadline of the look at the server's version before a watch is resumed after a failure."""
_NO_STREAM: Final = frozenset({400, 406, 415, 422})
"""HTTP codes by which a server says that it has no streaming lists."""
WATCH_SECONDS: Final = 540
"""Seconds after which the server ends a watch (timeoutSeconds), so that load spreads over its replicas."""
QUIET_SECONDS: Final = 75.0
"""Seconds without a line after which a watch is opened again; the server sends a bookmark every minute."""
QUIET_SECONDS_BUSY: Final = 5.0
"""The same for pods and nodes: how long the scheduler may be blind when a connection dies silently."""
BUSY_KINDS: Final = frozenset({"Pod", "Node"})
LEAST_SECONDS_OF_WATCH: Final = 1.0
"""A watch that ends sooner counts as a failure, so that a broken proxy does not make the reflector spin."""


@define(eq=False)
class Reflector:
    """Keeps ``objects`` of one resource. All of it belongs to the thread of the loop."""

    client: ApiClient
    resource: Resource
    can_stream: bool = False
    """Whether to ask for lists as streams; false once the server has refused that."""
    objects: dict[str, Any] = field(factory=dict, init=False, repr=False)
    """By key, as of the last event."""
    synced: asyncio.Event = field(factory=asyncio.Event, init=False)
    """Set once the first list is complete."""
    failure: ClusterError | None = field(default=None, init=False)
    """Why the last attempt failed, ``None`` while all is well."""
    lists: int = field(default=0, init=False)
    """Number of complete lists."""
    watches: int = field(default=0, init=False)
    """Number of watches that were opened."""
    on_change: Callable[[Any], None] | None = field(default=None, init=False)
    """Called with each new state of an object, before the handlers."""
    _handlers: list[WatchHandler] = field(factory=list, init=False)
    _decoder: Decoder = field(init=False, repr=False)
    _version: str = field(default="", init=False)
    _backoff: Backoff = field(factory=Backoff, init=False)

    def __attrs_post_init__(self) -> None:
        self._decoder = Decoder(self.resource.cls, self.resource.version)

    def add_handler(self, handler: WatchHandler) -> None:
        """Call *handler* with an ``ADDED`` for each object that is known, then with every change."""
        for obj in list(self.objects.values()):
            handler(WatchEvent("ADDED", self.resource.kind, None, obj))
        self._handlers.append(handler)

    def remove_handler(self, handler: WatchHandler) -> None:
        """Call it no more."""
        self._handlers = [other for other in self._handlers if other is not handler]

    async def run(self) -> None:
        """List and watch until cancelled. Failures are retried, and logged when they begin."""
        while True:
            try:
                if self._version and self.failure is not None:
                    await self._check_version()
                if not self._version:
                    await self._list()
                await self._watch_once()
            except ClusterError as error:
                await self._failed(error)
            except Exception:
                # Without its reflector the scheduler would be blind to a kind for ever.
                logger.exception("a fault while following %s; listing again", self.resource.plural)
                self._version = ""
                await asyncio.sleep(self._backoff.next())

    async def _check_version(self) -> None:
        """List again if the versions of the server have gone back: etcd was restored from a backup.

        A watch at a version that is yet to come is no error: it is silent until the server gets there.
        """
        path = self._path("limit=1")
        try:
            page = self._decoder.page(await self.client.request("GET", path, seconds=CHECK_SECONDS))
        except ClusterError as error:
            # The watch must not wait for it; should that fail as well, there is another check.
            logger.debug("%s: the version is not known: %s", self.resource.plural, error)
            return
        if _is_lower(page.version, self._version):
            logger.warning("%s: the server has gone back in time; listing again", self.resource.plural)
            self._version = ""

    async def _failed(self, error: ClusterError) -> None:
        if isinstance(error, WatchFailure | ApiError) and _code_of(error) == GONE:
            logger.info("%s: the server has lost the history; listing again", self.resource.plural)
            self._version = ""
            await asyncio.sleep(self._backoff.next() / 4)
            return
        if self.failure is None and not isinstance(error, NoAnswer):
            logger.warning("cannot follow %s, trying again: %s", self.resource.plural, self._explained(error))
        self.failure = error
        await asyncio.sleep(self._backoff.next(getattr(error, "retry_after", None)))

    def _explained(self, error: ClusterError) -> str:
        """Return the message of *error*, with the remedy where there is a usual one."""
        code = _code_of(error)
        resource = self.resource
        if code == FORBIDDEN:
            return f"{error}; {rule(resource.group, resource.plural, 'get', 'list', 'watch')}"
        if code == UNAUTHORIZED:
            return f"{error}; the credentials of {self.client.access.source} are refused"
        if code == NOT_FOUND:
            return f"{error}; the API server does not serve {resource.base}"
        return str(error)

    # ---- list --------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        """Read all pages, then deliver what differs from what is known."""
        objects, version = await self._read_all()
        self._replace(objects)
        self._version = version
        self.lists += 1
        self._well()
        self.synced.set()

    async def read(self) -> list[Any]:
        """Return all objects once, without following them."""
        objects, _ = await self._read_all()
        return [*objects.values()]

    async def _read_all(self) -> tuple[dict[str, Any], str]:
        """Return all objects by key, and their resource version: by a stream where the server offers one."""
        if self.can_stream:
            try:
                return await self._read_stream()
            except (ApiError, NoAnswer) as error:
                if not _says_no_stream(error):
                    raise
                logger.debug("%s: no streaming list: %s", self.resource.plural, error)
                self.can_stream = False
        try:
            return await self._read_pages(PAGE_OBJECTS)
        except ApiError as error:
            if error.status != GONE:
                raise
        # Reading page by page takes longer than the server keeps its history.
        logger.info("%s: the list grew too old while it was read; reading it whole", self.resource.plural)
        return await self._read_pages(0)

    async def _read_stream(self) -> tuple[dict[str, Any], str]:
        objects: dict[str, Any] = {}
        path = self._path(
            "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
            f"&timeoutSeconds={WATCH_SECONDS}"
        )
        decode = self._decoder.event
        async with self.client.stream(path, quiet_seconds=LIST_SECONDS) as batches:
            async for lines in batches:
                for line in lines:
                    if not line:
                        continue
                    type, obj = decode(line)
                    if type == LISTED:
                        return objects, obj
                    if type == DELETED:
                        objects.pop(obj.key, None)
                    elif type != BOOKMARK:
                        objects[obj.key] = obj
        raise NoAnswer(f"the list of {self.resource.plural} ended before it was complete")

    async def _read_pages(self, limit: int) -> tuple[dict[str, Any], str]:
        """Return all objects, in pages of *limit*; 0: in one. Raises :class:`ApiError`."""
        objects: dict[str, Any] = {}
        more = ""
        while True:
            following = f"&continue={quote(more)}" if more else ""
            path = self._path(f"limit={limit}{following}")
            seconds = LIST_SECONDS if limit else LIST_SECONDS_WHOLE
            page = self._decoder.page(await self.client.request("GET", path, seconds=seconds))
            for obj in page.objects:
                objects[obj.key] = obj
            more = page.more
            if not more:
                return objects, page.version

    def _path(self, query: str) -> str:
        resource = self.resource
        selector = f"&fieldSelector={resource.selector}" if resource.selector else ""
        return f"{resource.collection}?{query}{selector}"

    def _replace(self, objects: dict[str, Any]) -> None:
        for key in [key for key in self.objects if key not in objects]:
            self._emit("DELETED", self.objects.pop(key), None, stale=True)
        for obj in objects.values():
            self._put(obj)

    def _well(self) -> None:
        if self.failure is not None:
            logger.info("following %s again", self.resource.plural)
        self.failure = None

    # ---- watch -------------------------------------------------------------------------------------------

    async def _watch_once(self) -> None:
        """Run one watch until it ends, which is no failure."""
        opened = loop_time()
        try:
            await self._follow()
        finally:
            is_short = loop_time() - opened < LEAST_SECONDS_OF_WATCH
            if not is_short:
                self._backoff.reset()
        if is_short:
            await asyncio.sleep(self._backoff.next())

    async def _follow(self) -> None:
        path = self._path(
            f"watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}"
            f"&resourceVersion={self._version}"
        )
        quiet = QUIET_SECONDS_BUSY if self.resource.kind in BUSY_KINDS else QUIET_SECONDS
        decode = self._decoder.event
        try:
            async with self.client.stream(path, quiet_seconds=quiet) as batches:
                self.watches += 1
                self._well()
                async for lines in batches:
                    for line in lines:
                        if line:
                            self._take(*decode(line))
                    self._backoff.reset()
        except NoAnswer as error:
            if not error.is_quiet:
                raise

    def _take(self, type: str, obj: Any) -> None:
        if type == BOOKMARK:
            self._version = obj
            return
        version, known = obj.metadata.resource_version, self.objects.get(obj.key)
        if known is not None and _is_lower(version, known.metadata.resource_version):
            return  # an old event that comes again, as from a proxy or a server that lags behind
        self._version = version
        if type != DELETED:
            self._put(obj)
            return
        old = self.objects.pop(obj.key, None)
        if old is not None:
            self._emit("DELETED", old, None)

    def _put(self, obj: Any) -> None:
        key = obj.key
        old = self.objects.get(key)
        self.objects[key] = obj
        if old is None:
            self._emit("ADDED", None, obj)
        elif old.metadata.resource_version != obj.metadata.resource_version or old.uid != obj.uid:
            self._emit("MODIFIED", old, obj)

    def _emit(self, type: EventType, old: Any, new: Any, *, stale: bool = False) -> None:
        event = WatchEvent(type, self.resource.kind, old, new, stale)
        if self.on_change is not None:
            self.on_change(event)
        for handler in self._handlers:
            handler(event)


def _says_no_stream(error: ApiError | NoAnswer) -> bool:
    """Return whether the server has no streaming lists: it refuses one, or takes it for an endless watch."""
    return error.is_quiet if isinstance(error, NoAnswer) else error.status in _NO_STREAM


def _is_lower(version: str, than: str) -> bool:
    """Return whether it is the lower one of two versions; never for those that are no numbers."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)


def _code_of(error: ClusterError) -> int:
    if isinstance(error, WatchFailure):
        return error.code
    return error.status if isinstance(error, ApiError) else 0
