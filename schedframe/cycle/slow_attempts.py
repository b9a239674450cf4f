"""Slow attempts: which pod holds the scheduler up, and which plugin takes the time.

The core does nothing for it: the queue numbers pops anyway, and each pod in flight has the number of its own.
:class:`AttemptWatch` looks from the thread of the watchdog. If it meets the same number twice, and the pod is
neither rejected nor being bound, its attempt has been going on since the first of these looks, or since a
moment before it: times are exact to half the time between two looks. The stack of the core's thread tells
the plugin.

A pod whose attempt took long rests: it is not tried again within ``REST`` times that long, so it gets at most
a share of the scheduler's time. That needs a real clock; with a virtual one attempts take no time.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from inspect import getattr_static
from types import CodeType, FrameType
from typing import Any, Final

from attrs import field

from .._base.value import record
from ..api import group_of
from ..framework.points import HOOK_ARGUMENTS
from ..queue import QueuedPodInfo
from .core import Core
from .messages import Rest
from .runtime.clock import SystemClock

logger = logging.getLogger("schedframe")

FRAMES: Final = 3
"""Innermost frames that are named of a stack."""
REST: Final = 20
"""Times the length of a slow attempt before its pod is tried again: 5 % of the scheduler for one such pod."""


@record(frozen=True)
class SlowAttempt:
    """An attempt that takes longer than the limit, or did."""

    pod: str
    """Its key."""
    plugin: str
    """Whose hook was on the stack, most often if it ended; empty: none."""
    seconds: float
    """So far, or in all, as exact as the looks are frequent."""
    running: bool
    stack: str = ""
    """The innermost frames, if no plugin is on the stack."""

    def __str__(self) -> str:
        where = f" in plugin {self.plugin}" if self.plugin else f" at {self.stack}" if self.stack else ""
        if self.running:
            return (
                f"that of pod {self.pod} has been going on for {self.seconds:.1f} s, now{where or ' ending'}"
            )
        return f"that of pod {self.pod} took {self.seconds:.1f} s{', most of it' + where if where else ''}"


def log_slow_attempt(slow: SlowAttempt) -> None:
    """Log a warning."""
    logger.warning("slow attempt: %s", slow)


@record(eq=False)
class _Attempt:
    """The attempt that was under way at the last look, if any."""

    number: int
    since: float
    """Between the last look without it and the first one with it."""
    info: QueuedPodInfo | None = None
    """``None`` until it was met twice."""
    samples: Counter[tuple[str, str]] = field(factory=Counter)
    """Plugin, or innermost frames → looks, after the limit."""


@record(eq=False)
class AttemptWatch:
    """Looks at the attempt of a core that is under way; see the module."""

    core: Core
    limit: float
    report: Callable[[SlowAttempt], None] = log_slow_attempt
    _attempt: _Attempt = field(factory=lambda: _Attempt(-1, 0.0))
    _looked: float | None = None
    """When it looked last."""

    def look(self, now: float) -> None:
        """Report an attempt that is older than the limit, and again when it has ended. Any thread.

        O(1) where another attempt is under way than at the last look, else O(pods in flight + frames).
        """
        before, self._looked = self._looked, now
        between = now if before is None else (before + now) / 2
        number, attempt = self.core.queue.scheduling_cycle, self._attempt
        if number != attempt.number:
            self._end(attempt, between)
            self._attempt = _Attempt(number, between)
            return
        infos = self._under_way(number)
        if not infos:
            self._end(attempt, between)
            self._attempt = _Attempt(number, between)
            return
        attempt.info = info = infos[-1]
        seconds = now - attempt.since
        if seconds > self.limit:
            where = _where(self.core)
            if not attempt.samples:
                self.report(SlowAttempt(info.key, where[0], seconds, True, where[1]))
            attempt.samples[where] += 1
            if before is not None and isinstance(self.core.clock, SystemClock):
                self._let_rest(infos, seconds + now - before)

    def _under_way(self, number: int) -> list[QueuedPodInfo]:
        """Return the pod of the present attempt, and the other members of its group; none if it has ended."""
        core = self.core
        # One call that runs no bytecode: the core may change the mapping between any two of them.
        flights = list(core.queue.in_flight.flights.values())
        infos = [info for info, _ in flights if info.uid not in core.binding]
        last = next((info for info in infos if info.popped == number), None)
        if last is None:
            return []
        key = group_of(last.pod)
        members = [info for info in infos if info is not last and key and group_of(info.pod) == key]
        return [*members, last]

    def _let_rest(self, infos: list[QueuedPodInfo], seconds: float) -> None:
        """Let pods rest from an attempt that takes *seconds* at most up to the next look."""
        until = int(self.core.clock() + REST * seconds)
        self.core.inbox.note(Rest(tuple([info.pod for info in infos]), until))

    def _end(self, attempt: _Attempt, now: float) -> None:
        if attempt.info is not None and attempt.samples:
            ((plugin, stack), _) = attempt.samples.most_common(1)[0]
            seconds = now - attempt.since
            self.report(SlowAttempt(attempt.info.key, plugin, seconds, False, stack))


def _where(core: Core) -> tuple[str, str]:
    """Return the plugin whose hook is on the core's stack, the innermost one; else the innermost frames."""
    frame = sys._current_frames().get(core.owner)
    if frame is None:
        return "", ""
    plugins = dict(_hooks(core))
    for each in _outwards(frame):
        if (plugin := plugins.get(each.f_code)) is not None:
            return plugin, ""
    return "", innermost(frame)


def innermost(frame: FrameType) -> str:
    """Return the innermost frames of a stack, innermost first."""
    frames = traceback.extract_stack(frame)[: -FRAMES - 1 : -1]
    return " < ".join(f"{each.filename}:{each.lineno} ({each.name})" for each in frames)


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _hooks(core: Core) -> Iterator[tuple[CodeType, str]]:
    """Yield the code of each hook with the name of its plugin, with all names if a class has several."""
    names: dict[CodeType, dict[str, None]] = {}
    for framework in list(core.frameworks.values()):
        for name, plugin in framework.plan.plugins.items():
            for hook in HOOK_ARGUMENTS:
                code = _code_of(getattr_static(plugin, hook, None))
                if code is not None:
                    names.setdefault(code, {})[name] = None
    for code, found in names.items():
        yield code, " or ".join(found)


def _code_of(method: Any) -> CodeType | None:
    code = getattr(method, "__code__", None)
    return code if isinstance(code, CodeType) else None
