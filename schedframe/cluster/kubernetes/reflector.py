"""Reflectors: the objects of one kind as the API server has them, kept by a list and a watch.

A watch is resumed at the last resource version when its connection ends. The objects are listed again after
an outage, and when the server has lost that part of the history (410); watchers get the difference: an object
deleted in between is a ``DELETED`` with ``old_is_stale``, one deleted and created again is one ``MODIFIED``
with two uids. A watch without any line for a while is opened again, because a dead connection looks the same.
Before a broken watch is resumed the versions are compared: the server's go back when etcd is restored from a
backup. The :class:`View` gets to know from when to when the kind is stale: a list that is complete makes it
current, a resumed watch does when it has carried what happened before it was opened.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

from attrs import field

from ..._base.value import record
from ...api.metadata import version_number
from ...errors import ClusterError
from .backoff import Backoff
from .client import ApiClient
from .closed_nodes import ClosedNodes
from .decoding import BOOKMARK, DELETED, WatchFailure
from .errors import FORBIDDEN, GONE, NOT_FOUND, UNAUTHORIZED, ApiError, NoAnswer, SyncError
from .listing import WATCH_SECONDS, Lister
from .loop_time import loop_time
from .resources import Resource
from .rights import rule
from .shown_objects import ShownObjects
from .view import View

logger = logging.getLogger("schedframe.kubernetes")

CHECK_SECONDS: Final = 2.0
"""Deadline of the look at the server's version before a watch is resumed after a failure."""
QUIET_SECONDS: Final = 75.0
"""Seconds without a line after which a watch is opened again; the server sends a bookmark every minute."""
QUIET_SECONDS_BUSY: Final = 5.0
"""The same for pods and nodes: how long the scheduler may be blind when a connection dies silently."""
BUSY_KINDS: Final = frozenset({"Pod", "Node"})
OPEN_SECONDS: Final = 10.0
"""Deadline for the answer with which a watch begins."""
OUTAGE_SECONDS: Final = 1.0
"""Seconds without an open watch after which the objects are listed: a resumed watch has no mark that says
where its backlog ends, and another replica of the server may lag behind."""
CAUGHT_UP_SECONDS: Final = 0.02
"""Seconds without a line after which a resumed watch has carried its backlog, which comes at once."""
BACKLOG_SECONDS: Final = 1.0
"""The same for a watch that is never quiet: seconds since it was opened."""
LEAST_SECONDS_OF_WATCH: Final = 1.0
"""A watch that ends sooner counts as a failure, so that a broken proxy does not make the reflector spin."""


@record(eq=False)
class Reflector:
    """Keeps ``objects`` of one resource. All of it belongs to the thread of the loop."""

    client: ApiClient
    resource: Resource
    can_stream: bool = False
    """Whether to ask for lists as streams, unless the server refuses that."""
    view: View = field(factory=View, repr=False)
    """What gets to know when the kind is stale."""
    closed: ClosedNodes = field(factory=ClosedNodes, repr=False)
    """Shared by the reflectors of a cluster."""
    shown: ShownObjects = field(init=False, repr=False)
    """What watchers see."""
    synced: asyncio.Event = field(factory=asyncio.Event, init=False)
    """Set once the first list is complete."""
    failure: ClusterError | None = field(default=None, init=False)
    """Why the last attempt failed, ``None`` while all is well."""
    lists: int = field(default=0, init=False)
    """Number of complete lists."""
    watches: int = field(default=0, init=False)
    """Number of watches that were opened."""
    lister: Lister = field(init=False, repr=False)
    """Reads all objects at once."""
    _version: str = field(default="", init=False)
    """Where to resume the watch."""
    _must_list: bool = field(default=True, init=False)
    """Whether the objects are to be listed before the next watch."""
    _backoff: Backoff = field(factory=Backoff, init=False)
    _is_open: bool = field(default=False, init=False)
    """Whether the present round has opened its watch."""
    _ended_at: float = field(default=0.0, init=False)
    """When the last watch, or the list after it, ended."""
    _is_broken: bool = field(default=False, init=False)
    """Whether that watch ended by an error."""
    _shown_version: str = field(default="", init=False)
    """The server's version just before the watch was resumed, empty if it was not asked."""
    _opened_at: float = field(default=0.0, init=False)
    """When the last watch was opened."""
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)
    """While no watch is open: makes the kind stale. While one is resumed: makes it current."""

    def __attrs_post_init__(self) -> None:
        self.shown = ShownObjects(self.resource.kind, self.closed)
        self.lister = Lister(self.client, self.resource, self.view, self.can_stream)

    async def run(self) -> None:
        """List and watch until cancelled. Failures are retried, and logged when they begin."""
        while True:
            try:
                await self._follow()
            except ClusterError as error:
                await self._failed(error)
            except Exception:
                # Without its reflector the scheduler would be blind to a kind for ever.
                logger.exception("a fault while following %s; listing again", self.resource.plural)
                self._must_list = True
                self._lost("a fault of its reflector")
                await self._sleep(self._backoff.next())

    async def _follow(self) -> None:
        """Read what is to be read before a watch, then run one until it ends well or is quiet."""
        self._is_open, self._shown_version = False, ""
        if loop_time() - self._ended_at > OUTAGE_SECONDS:
            self._must_list = True
        if not self._must_list and self._is_broken:
            await self._check_version()
        if self._must_list:
            if self.failure is not None and self.view.is_away:
                await self._probe()
            await self._list()
        await self._watch_once()

    async def _check_version(self) -> None:
        """List again if the versions of the server have gone back: etcd was restored from a backup.

        A watch at a version that is yet to come is no error: it is silent until the server gets there. Raises
        :class:`ClusterError` if the server does not answer.
        """
        path = self.lister.path("limit=1")
        page = self.lister.decoder.page(await self.client.request("GET", path, seconds=CHECK_SECONDS))
        self._shown_version = page.version
        if _is_lower(page.version, self._version):
            logger.warning("%s: the server has gone back in time; listing again", self.resource.plural)
            self._must_list = True

    async def _probe(self) -> None:
        """Return once the server answers a watch: it costs a server that has just come back less than a list.

        Raises :class:`ClusterError` if it does not answer.
        """
        try:
            async with AsyncExitStack() as stack:
                batches = await self._enter(stack)
                with suppress(TimeoutError):
                    async with asyncio.timeout(CAUGHT_UP_SECONDS):
                        async for lines in batches:
                            self.lister.decoder.event(
                                next(filter(None, lines))
                            )  # raises what the server says
                            break
        except (ApiError, WatchFailure) as error:
            if _code_of(error) != GONE:
                raise
        self.view.answered()

    async def _failed(self, error: ClusterError) -> None:
        why = self._explained(error)
        if isinstance(error, WatchFailure | ApiError) and _code_of(error) == GONE:
            logger.info("%s: the server has lost the history; listing again", self.resource.plural)
            self._must_list = True
            self._lost(why)
            self.view.answered()
            await self._sleep(self._backoff.next() / 4)
            return
        if self.failure is None and not isinstance(error, NoAnswer):
            logger.warning("cannot follow %s, trying again: %s", self.resource.plural, why)
        self.failure = error
        self._is_broken = True
        if not self._is_open or self.view.is_stale(self.resource.kind):
            self._must_list = True  # resuming has failed
        if self.synced.is_set():
            self._stop_timer()
            self.view.failed(self.resource.kind, error, why)
        await self._sleep(self._backoff.next(getattr(error, "retry_after", None)))

    async def _sleep(self, seconds: float) -> None:
        """Wait before the next attempt, at most until the server answers others again."""
        if await self.view.sleep(seconds):
            self._backoff.reset()

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
        objects, version = await self.lister.read_all()
        self.shown.replace(objects)
        self._version, self._must_list = version, False
        self.lists += 1
        self._well()
        self.synced.set()
        self._is_broken = False
        self._ended_at = loop_time()
        self._current()
        self._expect_watch()

    def _well(self) -> None:
        if self.failure is not None:
            logger.info("following %s again", self.resource.plural)
        self.failure = None

    # ---- watch -------------------------------------------------------------------------------------------

    async def _watch_once(self) -> None:
        """Run one watch until it ends well or is quiet. Raises :class:`ClusterError` if it does otherwise."""
        began = loop_time()
        try:
            await self._carry()
        finally:
            self._stop_timer()
            self._ended_at = loop_time()
            is_short = self._ended_at - began < LEAST_SECONDS_OF_WATCH
            if not is_short:
                self._backoff.reset()
        self._is_broken = False
        if is_short:
            self._lost("its watch ends at once")
            await self._sleep(self._backoff.next())
        elif not self.view.is_stale(self.resource.kind):
            self._expect_watch()

    async def _carry(self) -> None:
        """Open a watch, and take in what it carries."""
        try:
            async with AsyncExitStack() as stack:
                batches = await self._opened(stack)
                decode = self.lister.decoder.event
                async for lines in batches:
                    for line in lines:
                        if line:
                            self._take(*decode(line))
                    self._backoff.reset()
                    if self._timer is not None or self.view.holds:
                        self._carried()
        except NoAnswer as error:
            if not (error.is_quiet and self._is_open):
                raise
            self._lost("its watch is quiet")

    async def _enter(self, stack: AsyncExitStack) -> AsyncIterator[list[bytes]]:
        """Open a watch at the last version."""
        path = self.lister.path(
            f"watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}"
            f"&resourceVersion={self._version}"
        )
        quiet = QUIET_SECONDS_BUSY if self.resource.kind in BUSY_KINDS else QUIET_SECONDS
        seconds = self.lister.deadline(OPEN_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                return await stack.enter_async_context(self.client.stream(path, quiet_seconds=quiet))
        except TimeoutError:
            raise NoAnswer(f"WATCH {self.resource.plural}: no answer within {seconds:g} s") from None

    async def _opened(self, stack: AsyncExitStack) -> AsyncIterator[list[bytes]]:
        batches = await self._enter(stack)
        self._is_open, self._opened_at = True, loop_time()
        self.watches += 1
        self._well()
        self._stop_timer()
        self.view.answered()
        if self.view.is_stale(self.resource.kind):
            self._catch_up()
        return batches

    # ---- stale and current -------------------------------------------------------------------------------

    def _lost(self, why: str) -> None:
        """Make the kind stale; nothing before the first list is complete, for which others wait."""
        self._stop_timer()
        if self.synced.is_set():
            self.view.lost(self.resource.kind, why)

    def _expect_watch(self) -> None:
        """Make the kind stale unless a watch is open in time."""
        self._set_timer(OUTAGE_SECONDS, lambda: self._lost("its watch has ended and is not open again"))

    def _catch_up(self) -> None:
        """Make the kind current once the resumed watch has carried its backlog."""
        if self._shown_version and not _is_lower(self._version, self._shown_version):
            self._current()
        else:
            self._set_timer(CAUGHT_UP_SECONDS, self._current)

    def _carried(self) -> None:
        """Take note that the watch has carried something."""
        self.view.carried()
        if self._timer is None:
            return
        if loop_time() - self._opened_at > BACKLOG_SECONDS:
            self._current()
        else:
            self._catch_up()

    def _current(self) -> None:
        self._stop_timer()
        self.view.current(self.resource.kind)

    def _set_timer(self, seconds: float, action: Callable[[], None]) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, action)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- events ------------------------------------------------------------------------------------------

    def _take(self, type: str, obj: Any) -> None:
        if type == BOOKMARK:
            self._version = obj or self._version
            return
        version, known = obj.metadata.resource_version, self.shown.objects.get(obj.key)
        if known is not None and _is_lower(version, known.metadata.resource_version):
            return  # an old event that comes again, as from a proxy or a server that lags behind
        self._version = version or self._version
        if type == DELETED:
            self.shown.remove(obj.key)
        else:
            self.shown.put(obj)


async def until_synced(reflectors: Iterable[Reflector], seconds: float) -> None:
    """Wait until the first list of each is complete. Raises :class:`SyncError` with what is missing."""
    unsynced = {asyncio.ensure_future(each.synced.wait()): each for each in reflectors}
    _, late = await asyncio.wait(unsynced, timeout=seconds)
    for waiting in late:
        waiting.cancel()
    if late:
        missing = [unsynced[waiting] for waiting in late]
        raise SyncError(
            f"not synced within {seconds:g} s: "
            + "; ".join(f"{each.resource.plural} ({each.failure or 'still listing'})" for each in missing)
        )


def _is_lower(version: str, than: str) -> bool:
    """Return whether it is the lower one of two versions; never for those that are no numbers."""
    lower, higher = version_number(version), version_number(than)
    return lower is not None and higher is not None and lower < higher


def _code_of(error: ClusterError) -> int:
    if isinstance(error, WatchFailure):
        return error.code
    return error.status if isinstance(error, ApiError) else 0
