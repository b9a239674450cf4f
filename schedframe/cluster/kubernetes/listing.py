"""Lists: all objects of one kind at one moment, by a stream where the server offers one, else in pages."""

from __future__ import annotations

import logging
from typing import Any, Final
from urllib.parse import quote

from attrs import field

from ..._base.value import record
from .client import ApiClient
from .decoding import BOOKMARK, DELETED, LISTED, Decoder
from .errors import GONE, ApiError, NoAnswer
from .resources import Resource
from .unreadable import Unreadable, stand_in
from .view import View

logger = logging.getLogger("schedframe.kubernetes")

PAGE_OBJECTS: Final = 500
"""Objects in one page of a list: bounds the memory of an answer, and how long its decoding takes."""
LIST_SECONDS: Final = 60.0
"""Deadline of one page, and seconds without a line after which a streaming list is given up."""
LIST_SECONDS_WHOLE: Final = 300.0
"""Deadline of a list in one page, which is read only when pages take too long."""
AWAY_SECONDS: Final = 5.0
"""The same for all of these while the server answers nothing: one that hangs ends soon after it is back."""
_NO_STREAM: Final = frozenset({400, 406, 415, 422})
"""HTTP codes by which a server says that it has no streaming lists."""
WATCH_SECONDS: Final = 540
"""Seconds after which the server ends a watch (timeoutSeconds), so that load spreads over its replicas."""


@record(eq=False)
class Lister:
    """Reads the objects of one resource. All of it belongs to the thread of the loop."""

    client: ApiClient
    resource: Resource
    view: View = field(factory=View, repr=False)
    """What says whether the server is away."""
    can_stream: bool = False
    """Whether to ask for lists as streams; false once the server has refused that."""
    decoder: Decoder = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.decoder = Decoder(self.resource.cls, self.resource.version)

    async def read(self) -> list[Any]:
        """Return all objects once, without following them."""
        objects, _ = await self.read_all()
        read = (stand_in(obj, None) if isinstance(obj, Unreadable) else obj for obj in objects.values())
        return [obj for obj in read if obj is not None]

    async def read_all(self) -> tuple[dict[str, Any], str]:
        """Return all objects by key, and their resource version: by a stream where the server offers one."""
        if self.can_stream:
            try:
                return await self._read_stream()
            except (ApiError, NoAnswer) as error:
                if self.view.is_away or not _says_no_stream(error):
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
        path = self.path(
            "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
            f"&timeoutSeconds={WATCH_SECONDS}"
        )
        decode = self.decoder.event
        async with self.client.stream(path, quiet_seconds=self.deadline(LIST_SECONDS)) as batches:
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
            path = self.path(f"limit={limit}{following}")
            seconds = self.deadline(LIST_SECONDS if limit else LIST_SECONDS_WHOLE)
            page = self.decoder.page(await self.client.request("GET", path, seconds=seconds))
            for obj in (*page.objects, *page.unreadable):
                objects[obj.key] = obj
            more = page.more
            if not more:
                return objects, page.version

    def deadline(self, seconds: float) -> float:
        """Return *seconds*, or less while the server answers nothing."""
        return min(seconds, AWAY_SECONDS) if self.view.is_away else seconds

    def path(self, query: str) -> str:
        """Return the path of the collection with *query*, and with the selector of the resource."""
        resource = self.resource
        selector = f"&fieldSelector={resource.selector}" if resource.selector else ""
        return f"{resource.collection}?{query}{selector}"


def _says_no_stream(error: ApiError | NoAnswer) -> bool:
    """Return whether the server has no streaming lists: it refuses one, or takes it for an endless watch."""
    return error.is_quiet if isinstance(error, NoAnswer) else error.status in _NO_STREAM
