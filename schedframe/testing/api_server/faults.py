"""Faults of the server: by a script, request by request, or by a random plan under a seed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto
from fnmatch import fnmatchcase
from random import Random
from typing import Final, Self

from attrs import evolve, field

from ..._base.validators import number
from ..._base.value import record
from .requests import Request


class FaultKind(Enum):
    """Fault of a request, or of the stream of a watch."""

    ANSWER = auto()
    DELAY = auto()
    DISCONNECT = auto()
    HANG = auto()
    CUT = auto()
    HALF_CLOSE = auto()
    SILENCE = auto()
    END = auto()
    GONE = auto()
    PAGE = auto()


_SECONDS: Final = "give seconds"
OF_STREAMS: Final = frozenset(
    {FaultKind.CUT, FaultKind.HALF_CLOSE, FaultKind.SILENCE, FaultKind.END, FaultKind.GONE}
)
"""Faults of watches that are open; a watch that meets another fault is not opened."""


@record(frozen=True)
class Fault:
    """One thing that goes wrong. Make it by one of the class methods."""

    kind: FaultKind
    status: int = 0
    retry_after: float | None = None
    seconds: float = 0.0
    applied: bool = False
    """Whether the request takes effect before that."""
    events: int = 0
    """Events that a stream carries before that."""

    def __str__(self) -> str:
        what = self.kind.name.lower().replace("_", " ")
        details = [f"{self.status}"] * bool(self.status) + [f"{self.seconds:g} s"] * bool(self.seconds)
        when = ["after the effect"] if self.applied else []
        return " ".join([what, *details, *when])

    @classmethod
    def answer(cls, status: int, *, retry_after: float | None = None, applied: bool = False) -> Self:
        """Answer with that code of HTTP; *applied*: after the effect, as a proxy that loses patience."""
        if retry_after is not None:
            number("retry_after", retry_after, _SECONDS, least=0)
        return cls(FaultKind.ANSWER, status=status, retry_after=retry_after, applied=applied)

    @classmethod
    def delay(cls, seconds: float, *, applied: bool = False) -> Self:
        """Wait before the effect, or before the answer. The effect comes even if the client has left."""
        number("seconds", seconds, _SECONDS, least=0)
        return cls(FaultKind.DELAY, seconds=seconds, applied=applied)

    @classmethod
    def disconnect(cls, *, applied: bool = False) -> Self:
        """Close the connection without an answer."""
        return cls(FaultKind.DISCONNECT, applied=applied)

    @classmethod
    def hang(cls, *, applied: bool = False) -> Self:
        """Never answer, and keep the connection open."""
        return cls(FaultKind.HANG, applied=applied)

    @classmethod
    def page(cls) -> Self:
        """Answer 200 with a page of HTML, as a proxy whose session has ended; nothing takes effect."""
        return cls(FaultKind.PAGE)

    @classmethod
    def cut(cls, events: int = 0) -> Self:
        """Close the connection of a watch in the middle of an event."""
        return cls(FaultKind.CUT, events=events)

    @classmethod
    def half_close(cls, events: int = 0) -> Self:
        """Close the server's half of the connection of a watch."""
        return cls(FaultKind.HALF_CLOSE, events=events)

    @classmethod
    def silence(cls, events: int = 0) -> Self:
        """Send nothing more over a watch that stays open, as if the network had died."""
        return cls(FaultKind.SILENCE, events=events)

    @classmethod
    def end(cls, events: int = 0) -> Self:
        """End a watch properly."""
        return cls(FaultKind.END, events=events)

    @classmethod
    def gone(cls, events: int = 0) -> Self:
        """End a watch by the error that its resource version is too old (410)."""
        return cls(FaultKind.GONE, events=events)


Matcher = Callable[[Request], bool]

MIX: Final[tuple[Fault, ...]] = (
    Fault.answer(429, retry_after=1.0),
    Fault.answer(500),
    Fault.answer(503, retry_after=2.0),
    Fault.answer(504, applied=True),
    Fault.delay(0.5),
    Fault.delay(6.0),
    Fault.delay(6.0, applied=True),
    Fault.disconnect(),
    Fault.disconnect(applied=True),
    Fault.hang(),
    Fault.hang(applied=True),
)
"""Faults of requests, equally likely."""
STREAM_MIX: Final[tuple[Fault, ...]] = (
    Fault.cut(),
    Fault.half_close(),
    Fault.silence(),
    Fault.end(),
    Fault.gone(),
)
"""Faults of open watches, equally likely."""


@record(eq=False)
class RandomFaults:
    """A plan that a seed decides: equal seeds and equal requests have equal faults."""

    seed: int
    share: float = 0.1
    """Share of the requests, and of the watches, that go wrong."""
    mix: tuple[Fault, ...] = MIX
    stream_mix: tuple[Fault, ...] = STREAM_MIX
    most_events: int = 5
    """Events that a watch carries before its fault, at most."""
    _rng: Random = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._rng = Random(self.seed)

    def draw(self, request: Request) -> Fault | None:
        """Return what goes wrong with *request*, ``None`` if nothing does."""
        rng = self._rng
        if rng.random() >= self.share:
            return None
        if request.verb == "watch" and rng.random() < 0.5 and self.stream_mix:
            return evolve(rng.choice(self.stream_mix), events=rng.randint(0, self.most_events))
        return rng.choice(self.mix) if self.mix else None


@record(eq=False)
class _Scripted:
    fault: Fault
    verb: str
    resource: str
    times: int | None
    when: Matcher | None

    def concerns(self, request: Request) -> bool:
        return (
            fnmatchcase(request.verb, self.verb)
            and fnmatchcase(request.resource, self.resource)
            and (self.when is None or self.when(request))
            and (request.verb == "watch" or self.fault.kind not in OF_STREAMS)
        )


@record(eq=False)
class Faults:
    """The faults of a server: those of a script first, then the random plan. Any thread may call it."""

    random: RandomFaults | None = None
    """What goes wrong besides the script; ``None``: nothing."""
    met: int = field(default=0, init=False)
    """Number of requests that went wrong."""
    _script: list[_Scripted] = field(factory=list, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def add(
        self,
        fault: Fault,
        verb: str = "*",
        resource: str = "*",
        *,
        times: int | None = 1,
        when: Matcher | None = None,
    ) -> None:
        """Let the next *times* requests that match go wrong, or all of them (``None``).

        *verb* and *resource* (``pods``, ``pods/binding``) may contain ``*``; *when* looks at the request.
        """
        if times is not None and times < 1:
            raise ValueError(f"times is {times}; order at least one fault")
        with self._lock:
            self._script.append(_Scripted(fault, verb, resource, times, when))

    def clear(self) -> None:
        """Let nothing go wrong any more."""
        with self._lock:
            self._script.clear()
            self.random = None

    @property
    def waiting(self) -> int:
        """Number of entries of the script that have not met their last request."""
        return len(self._script)

    def take(self, request: Request) -> Fault | None:
        """Return what goes wrong with *request*, and count it; ``None`` if nothing does."""
        with self._lock:
            fault = self._scripted(request)
            if fault is None and self.random is not None:
                fault = self.random.draw(request)
            self.met += fault is not None
            return fault

    def _scripted(self, request: Request) -> Fault | None:
        for entry in self._script:
            if entry.concerns(request):
                if entry.times is not None:
                    entry.times -= 1
                    if not entry.times:
                        self._script.remove(entry)
                return entry.fault
        return None
