"""Connections that wait for another request."""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, Protocol, TypeVar

from attrs import field

from .._base.value import record
from .address import Address

KEEP_ALIVE_SECONDS: Final = 50.0
"""Seconds for which an idle connection is kept."""
_MOST: Final = 16
"""Addresses from which on all are forgotten when another one is needed: redirects cannot fill the memory."""


class Keepable(Protocol):
    """A connection that carries one request after another."""

    def is_idle(self) -> bool:
        """Return whether it may carry a request: it is open, and nothing came unasked."""
        ...

    def close(self) -> None:
        """Close it, without sending more."""
        ...


C = TypeVar("C", bound=Keepable)


@record(eq=False)
class KeptConnections(Generic[C]):
    """Connections by the address that they lead to. Several threads may use it: each step is atomic."""

    _idle: dict[Address, deque[tuple[float, C]]] = field(factory=dict, init=False)
    """With the time since when they are idle, the last one used last."""
    _closed: bool = field(default=False, init=False)

    def take(self, address: Address, now: float) -> C | None:
        """Return one that may carry a request, ``None`` if there is none; those idle for long are closed."""
        idle = self._idle.get(address)
        if idle is None:
            return None
        try:
            while idle[0][0] < now - KEEP_ALIVE_SECONDS:
                idle.popleft()[1].close()
            while True:
                _, connection = idle.pop()
                if connection.is_idle():
                    return connection
                connection.close()
        except IndexError:
            return None  # also if another thread took the last one

    def put(self, address: Address, connection: C, now: float) -> None:
        """Keep *connection* for the next request, unless all were closed."""
        idle = self._idle.get(address)
        if idle is None:
            if len(self._idle) >= _MOST:
                self._close_idle()
            idle = self._idle.setdefault(address, deque())
        idle.append((now, connection))
        if self._closed:  # by another thread, perhaps only now
            self._close_idle()

    def close(self) -> None:
        """Close all; no other is kept from now on."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        former, self._idle = self._idle, {}
        for idle in former.values():
            while True:
                try:
                    _, connection = idle.pop()
                except IndexError:
                    break
                connection.close()

    def __len__(self) -> int:
        """Return how many are idle."""
        return sum([len(idle) for idle in list(self._idle.values())])
