"""Signals that arrive in the middle of a step are held back until the step is over.

Python runs the handler of a signal in the main thread, between any two of its bytecodes, and that of Ctrl-C
raises ``KeyboardInterrupt`` there. No code is safe from that: a message may have left the inbox and not be
handled, or a pod be in no pool. So the methods that drive a scheduler enter a :class:`Hold`. Inside, the
handler of a signal is called when the step is over, or at once while the thread sleeps, and what it raises
leaves the method that drives.

A signal breaks through, whatever that interrupts, if it comes a second time, or when the step has gone on for
``LONGEST_SECONDS`` since it came: a hook may hang. Outside of a hold each signal has the handler that it had
before. Other threads have nothing to hold back, since handlers do not run in them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from _signal import getsignal  # type: ignore[import-not-found]  # typeshed has no stub
from _signal import signal as set_handler
from _thread import get_ident, start_new_thread
from collections.abc import Callable
from functools import partial, wraps
from types import FrameType
from typing import Final, Self, TypeVar

from attrs import field

from ..._base.value import record

# The functions of the module signal convert numbers to enums and back, which takes ten times as long.

S = TypeVar("S")
T = TypeVar("T")
Handler = Callable[[int, FrameType | None], object]

SAME_PRESS_SECONDS: float = 0.05
"""Signals this close together count as one: commands that wrap others pass Ctrl-C on once more."""
LONGEST_SECONDS: float = 10.0
"""How long a signal is held back at most; the longest attempt that was measured took 9 s."""

_NAMES: Final = "INT TERM HUP QUIT ALRM VTALRM USR1 USR2 XCPU BREAK"
"""Signals whose handlers may raise. Not SIGPROF: the handler of a profiler looks at the present frame."""
_NUMBERS: Final = tuple(
    [int(getattr(signal, f"SIG{name}")) for name in _NAMES.split() if hasattr(signal, f"SIG{name}")]
)


@record(eq=False)
class Receiver:
    """Handler of one signal during a hold. Outside of one, it is the handler that it replaced."""

    number: int
    before: Handler
    since: float = 0.0
    """When the signal that is held back came, in seconds of ``monotonic``."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Hold the signal back, or let it through."""
        arrived = HELD.arrived
        if HELD.is_on and self not in arrived:
            self.since = time.monotonic()
            arrived.append(self)
            HELD.watch()
        elif not HELD.is_on or time.monotonic() - self.since >= SAME_PRESS_SECONDS:
            if self in arrived:
                arrived.remove(self)
            self.before(number, frame)


@record(eq=False)
class Held:
    """State of the process: what the main thread holds back."""

    main: int = field(factory=lambda: threading.main_thread().ident or 0)
    is_on: bool = False
    """Whether the main thread is in a step."""
    arrived: list[Receiver] = field(factory=list)
    """Signals that are held back, in the order in which they came. One and the same list at all times."""
    receivers: dict[int, Receiver] = field(factory=dict)
    """By number, the last one of each."""
    is_watched: bool = False
    """Whether a thread looks after signals that are held back for long."""

    def watch(self) -> None:
        """Let the signals that have arrived break through some day, to be called when one arrives."""
        if not self.is_watched:
            self.is_watched = True
            # Not as a Thread: what was interrupted may hold the lock for starting one.
            start_new_thread(self._break_through, ())

    def _break_through(self) -> None:
        while True:
            time.sleep(LONGEST_SECONDS)
            self.is_watched = False  # first: a signal that comes after the look at the others is looked after
            for receiver in tuple(self.arrived):
                if self.is_on and time.monotonic() - receiver.since >= LONGEST_SECONDS:
                    signal.pthread_kill(self.main, receiver.number)
            if not self.arrived:
                return
            self.is_watched = True

    def call(self) -> None:
        """Call the handlers of the signals that arrived, all of them, also if one raises."""
        while self.arrived:
            receiver = self.arrived.pop(0)
            try:
                receiver.before(receiver.number, sys._getframe())
            finally:
                self.call()

    def receiver_of(self, number: int, handler: Handler) -> Receiver:
        """Return what is to replace *handler*."""
        if type(handler) is Receiver:
            return handler  # left behind by a hold that was interrupted at its end
        receiver = self.receivers.get(number)
        if receiver is None or receiver.before is not handler:
            receiver = self.receivers[number] = Receiver(number, handler)
        return receiver

    def forget(self) -> None:
        """Hold nothing back any more: this is a new process, which was forked in a step."""
        self.main = get_ident()
        self.is_on = self.is_watched = False
        self.arrived.clear()


HELD: Final = Held()

os.register_at_fork(after_in_child=HELD.forget)


def letting_through(call: Callable[[], T]) -> T:
    """Return the result of *call*, which may be interrupted at any moment, also within a hold."""
    if not HELD.is_on or get_ident() != HELD.main:
        return call()
    try:
        HELD.is_on = False
        HELD.call()
        return call()
    finally:
        HELD.is_on = True


class Hold:
    """Block in which signals are held back; inside another one, and in other threads, it does nothing.

    It takes 2 to 4 µs, so a loop enters it once and calls :meth:`check` between its steps.
    """

    __slots__ = ("_installed", "_is_outermost", "arrived")

    def __init__(self) -> None:
        self.arrived = HELD.arrived
        """True if there is something to do for :meth:`check`, which costs a call."""
        self._installed: list[Receiver] = []
        self._is_outermost = False

    def __enter__(self) -> Self:
        self._is_outermost = not HELD.is_on and get_ident() == HELD.main
        if self._is_outermost:
            HELD.arrived.clear()
            try:
                HELD.is_on = True
                self._install()
            except BaseException:  # of a handler that was not replaced yet
                HELD.is_on = False
                self._restore()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_outermost:
            HELD.is_on = False  # first: what a signal interrupts from here on may stay as it is
            try:
                self._restore()
            finally:
                HELD.call()

    def check(self) -> None:
        """Call the handlers of the signals that arrived during the step that is over."""
        if self._is_outermost:
            HELD.call()

    def wait(self, event: threading.Event, seconds: float | None) -> None:
        """Wait for *event*, for *seconds* at most, unless a signal arrives whose handler raises."""
        if seconds is not None:
            seconds = min(max(0.0, seconds), threading.TIMEOUT_MAX)
        if self._is_outermost:
            letting_through(partial(event.wait, seconds))
        else:
            event.wait(seconds)

    def _install(self) -> None:
        for number in _NUMBERS:
            handler = getsignal(number)
            if callable(handler):
                receiver = HELD.receiver_of(number, handler)
                try:
                    set_handler(number, receiver)
                except ValueError:  # in a subinterpreter, which gets no signals
                    return
                self._installed.append(receiver)

    def _restore(self) -> None:
        for receiver in self._installed:
            if getsignal(receiver.number) is receiver:  # else a hook has set another one
                set_handler(receiver.number, receiver.before)


def held(step: Callable[[S], T]) -> Callable[[S], T]:
    """Return the method *step* within a :class:`Hold`; 0.1 µs if the caller has entered one."""

    @wraps(step)
    def whole(self: S) -> T:
        if HELD.is_on or get_ident() != HELD.main:
            return step(self)
        with Hold():
            return step(self)

    return whole
