"""One connection in an event loop: the protocol that asyncio calls, and the answer that a request awaits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Any, Final, cast

from typing_extensions import override

from .parser import Reply, ReplyParser

MOST_UNTAKEN: Final = 1 << 18
"""Bytes of a stream that wait to be taken, from which on no more is read: the server has to wait then."""


class Connection(asyncio.BufferedProtocol):
    """One connection; it carries one request at a time.

    *buffer* takes what is read until it is parsed, so the connections of a loop may share one. Without it the
    loop would allocate 256 KiB for each read, which costs as much as the rest of a request where the memory
    comes from the kernel each time.
    """

    def __init__(self, made: socket.socket, all_of_them: set[Any], buffer: memoryview) -> None:
        self.socket = made
        self.parser = ReplyParser()
        self.is_usable = True
        """Whether it may carry another request."""
        self._buffer = buffer
        self._all = all_of_them
        self._all.add(self)
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Reply] | None = None
        """The answer that is waited for."""

    def is_idle(self) -> bool:
        """Return whether it may carry another request."""
        return self.is_usable

    def send(self, data: bytes) -> asyncio.Future[Reply]:
        """Send a request, and return its answer to be awaited."""
        assert self._transport is not None
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return self._reply

    def time_out(self) -> None:
        """Give the request up."""
        self._fail(TimeoutError())

    def close(self) -> None:
        """Close the connection without sending more."""
        self.is_usable = False
        self._all.discard(self)
        if self._transport is not None:
            self._transport.abort()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # That of uvloop has the methods of the class, but is none.
        self._transport = cast("asyncio.Transport", transport)

    @override
    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    @override
    def buffer_updated(self, nbytes: int) -> None:
        if self._reply is None or self._reply.done():
            self.close()  # no request has asked for it
            return
        try:
            reply = self.parser.feed(bytes(self._buffer[:nbytes]))
        except OSError as error:
            self._fail(error)
            return
        if reply is not None:
            self.is_usable = self.is_usable and self.parser.keeps_alive
            self._reply.set_result(reply)

    @override
    def eof_received(self) -> None:
        """Called before the loop closes the connection: with TLS that may take 30 s."""
        self._end(None)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)

    def _end(self, error: Exception | None) -> None:
        """No more bytes come. An answer without a length is complete then."""
        self.is_usable = False
        if self._reply is None or self._reply.done():
            return
        try:
            reply = None if error is not None else self.parser.end()
        except OSError as failure:
            self._fail(failure)
            return
        if reply is not None:
            self._reply.set_result(reply)
        else:
            self._fail(ConnectionResetError(str(error or "the connection ended before the answer")))

    def _fail(self, error: OSError) -> None:
        self.is_usable = False
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)


class Stream(Connection):
    """An answer whose body is taken as it comes, if its status is 200."""

    def __init__(self, made: socket.socket, all_of_them: set[Any], buffer: memoryview) -> None:
        super().__init__(made, all_of_them, buffer)
        self.parser = ReplyParser(sink=self._add)
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._untaken: list[bytes] = []
        self._size = 0
        self._is_paused = False
        self._event: asyncio.Future[None] | None = None
        """Done when something has come, while that is waited for."""
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        """Ends the waiting. It is made once for many waits: each looks at the deadline of the last one."""

    async def begin(self, data: bytes) -> None:
        """Send the request, and wait for the head of the answer."""
        reply = self.send(data)
        reply.add_done_callback(self._end_waiting)
        while not reply.done() and not self.parser.status:
            await self._something()
        head = self.parser if self.parser.status else reply.result()
        self.status, self.headers = head.status, head.headers

    async def whole(self) -> Reply:
        """Return the answer, once it has come to its end; without a body if the status is 200."""
        assert self._reply is not None
        return await self._reply

    async def read(self, deadline: float) -> bytes:
        """Return what has come since, nothing at the end of the answer.

        Raises :class:`TimeoutError` from *deadline* on, in time of the loop, and another ``OSError``.
        """
        assert self._reply is not None
        if asyncio.get_running_loop().time() >= deadline:
            raise TimeoutError
        self._deadline = deadline
        while not self._untaken:
            if self._reply.done():
                self._reply.result()
                return b""
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_at(deadline, self._look_at_deadline)
            await self._something()
        data, self._size = b"".join(self._untaken), 0
        self._untaken.clear()
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    @override
    def close(self) -> None:
        super().close()
        if self._timer is not None:
            self._timer.cancel()

    @override
    def buffer_updated(self, nbytes: int) -> None:
        super().buffer_updated(nbytes)
        self._wake()

    def _add(self, piece: bytes) -> None:
        self._untaken.append(piece)
        self._size += len(piece)
        if self._size > MOST_UNTAKEN and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    async def _something(self) -> None:
        """Wait until something has come, or the answer has ended."""
        self._event = asyncio.get_running_loop().create_future()
        try:
            await self._event
        finally:
            self._event = None

    def _wake(self) -> None:
        if self._event is not None and not self._event.done():
            self._event.set_result(None)

    def _end_waiting(self, reply: asyncio.Future[Reply]) -> None:
        if not reply.cancelled():
            reply.exception()  # read() and whole() raise it, unless they are not called any more
        self._wake()

    def _look_at_deadline(self) -> None:
        self._timer = None
        if self._event is None or self._event.done():
            return
        if asyncio.get_running_loop().time() >= self._deadline:
            self._event.set_exception(TimeoutError())
        else:
            self._timer = asyncio.get_running_loop().call_at(self._deadline, self._look_at_deadline)
