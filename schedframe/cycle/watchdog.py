"""Watchdog: names the hooks that run longer than a limit, after they return and while they run."""

from __future__ import annotations

import logging
import sys
import threading
import weakref
from collections.abc import Callable
from time import perf_counter
from typing import Any

from attrs import field
from typing_extensions import override

from .._base.validators import optional_number
from .._base.value import record
from ..api import Pod
from ..framework.hook_calls import Call
from ..framework.points import HOOK_ARGUMENTS
from .core import Core
from .observer import SchedulerObserver
from .slow_attempts import AttemptWatch, innermost

logger = logging.getLogger("schedframe")
THREAD_NAME = "schedframe-watchdog"


@record(frozen=True)
class SlowHook:
    """A hook that ran longer than the limit, or still does."""

    plugin: str
    hook: str
    pod: str
    """Key of the pod that it was called for; empty if it gets none."""
    seconds: float
    """So far; without the hooks of other plugins that it ran."""
    running: bool
    """Whether it had not returned yet."""
    stack: str = ""
    """Where it is, if it is still running: the innermost frames, one line each."""

    def __str__(self) -> str:
        about = f" for pod {self.pod}" if self.pod else ""
        verb = "has been running for" if self.running else "took"
        where = f", at {self.stack}" if self.stack else ""
        return f"{self.hook} of plugin {self.plugin}{about} {verb} {self.seconds:.1f} s{where}"


def log_slow_hook(slow: SlowHook) -> None:
    """Log a warning."""
    logger.warning("slow plugin: %s", slow)


@record(eq=False)
class _Running:
    """A call that has not returned."""

    plugin: str
    hook: str
    pod: Pod | None
    start: float
    outer: _Running | None
    """The call in the same thread that led to this one."""
    inner_seconds: float = 0.0
    reported: bool = False


@record(eq=False)
class Watchdog(SchedulerObserver):
    """Reports hooks that run longer than ``limit`` seconds: ``observers=[Watchdog(0.5)]``.

    One thread looks at the running calls, four times in ``limit`` seconds; calls themselves start no thread.
    A microsecond for each call of a hook. The time of an ``async`` hook is that until it returns its
    coroutine.

    The same thread looks at the attempts of the core, see :mod:`.slow_attempts`. That costs the core nothing,
    so a scheduler with the machine's clock has one that does only this (``hooks=False``), unless it is given
    another one.
    """

    limit: float = field(default=1.0, validator=optional_number("give a millisecond or more", least=0.001))
    """Seconds, 0.001 or more."""
    report: Callable[[SlowHook], None] = log_slow_hook
    """Called once for a hook that is still running, in the watchdog's thread, and once after it returned."""
    timer: Callable[[], float] = perf_counter
    """Seconds; never goes back."""
    threaded: bool = True
    """Whether to look at running calls from a thread; otherwise whenever :meth:`look` is called."""
    hooks: bool = True
    """Whether to watch hooks; otherwise attempts alone."""
    _followed: list[Callable[[float], None]] = field(factory=list, init=False)
    """Called with the time of each look."""
    _running: dict[int, _Running] = field(factory=dict, init=False)
    """Identity of a thread → its innermost call."""
    _thread: threading.Thread | None = field(default=None, init=False)
    _stopped: threading.Event = field(factory=threading.Event, init=False)

    @override
    def attach(self, core: Core) -> Watchdog:
        self._followed.append(AttemptWatch(core, self.limit).look)
        return self

    @override
    def guard_of(self, profile: str) -> Watchdog | None:
        return self if self.hooks else None

    @override
    def began(self) -> None:
        """Start the thread, unless it runs or ``threaded`` is false."""
        if self.threaded and self._thread is None:
            self._stopped.clear()
            arguments = (weakref.ref(self), self._stopped, self.limit / 4)
            self._thread = threading.Thread(target=_watch, args=arguments, name=THREAD_NAME, daemon=True)
            self._thread.start()

    @override
    def closed(self) -> None:
        """Stop the thread; safe to call twice."""
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._look_at_followed(self.timer())  # what ended since the last look
        self._followed.clear()

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return *call*, watched."""
        running, timer = self._running, self.timer
        names = HOOK_ARGUMENTS[hook]
        position = names.index("pod") if "pod" in names else None

        def watched(*arguments: Any) -> Any:
            thread = threading.get_ident()
            outer = running.get(thread)
            pod = None if position is None else arguments[position]
            current = running[thread] = _Running(plugin, hook, pod, timer(), outer)
            try:
                return call(*arguments)
            finally:
                if outer is None:
                    del running[thread]
                else:
                    running[thread] = outer
                self._ended(current, timer())

        return watched

    def look(self) -> None:
        """Report the calls and attempts that have been going on for longer than the limit. Any thread."""
        now = self.timer()
        for thread, current in list(self._running.items()):
            seconds = now - current.start - current.inner_seconds
            if seconds > self.limit and not current.reported:
                current.reported = True
                self.report(_slow(current, seconds, running=True, stack=_stack_of(thread)))
        self._look_at_followed(now)

    def _look_at_followed(self, now: float) -> None:
        for look in self._followed:
            look(now)

    def _ended(self, current: _Running, now: float) -> None:
        seconds = now - current.start
        if current.outer is not None:
            current.outer.inner_seconds += seconds
        own = seconds - current.inner_seconds
        if own > self.limit:
            self.report(_slow(current, own, running=False))


def _watch(reference: weakref.ref[Watchdog], closed: threading.Event, period: float) -> None:
    """Look every *period* seconds until *closed*, or until a scheduler that was never closed is gone."""
    while not closed.wait(period):
        watchdog = reference()
        if watchdog is None:
            return
        watchdog.look()
        del watchdog


def _slow(current: _Running, seconds: float, *, running: bool, stack: str = "") -> SlowHook:
    pod = current.pod.key if isinstance(current.pod, Pod) else ""
    return SlowHook(current.plugin, current.hook, pod, seconds, running, stack)


def _stack_of(thread: int) -> str:
    """Return the innermost frames of a thread, innermost first; empty if it has ended."""
    frame = sys._current_frames().get(thread)
    if frame is None:
        return ""
    return innermost(frame)
