"""Writes about pods to the cluster: off the core, those about one pod in order."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from attrs import field

from ..._base.value import record
from ...api import Pod, PodCondition
from ...framework import Status
from ..messages import WorkKind
from ..observers import Observers
from ..runtime.executors import Done, Executor, Work

PATCH = "pod_status_patch"
"""The kind of call that metrics name."""


class WrittenStatus(NamedTuple):
    """Status that was written of a pending pod and not shown by an event so far."""

    condition: PodCondition | None
    nominated_node_name: str


class WriteContext(Protocol):
    """Parts of the core that writing needs."""

    executor: Executor
    on_loop: bool
    written: dict[str, tuple[WrittenStatus, ...]]
    observers: Observers

    def submit(self, kind: WorkKind, work: Work, done: Done) -> None:
        """Run work off the core."""
        ...

    def report(self, status: Status, pod: Pod | None, where: str) -> None:
        """Report a failure."""
        ...


@record(frozen=True)
class _Write:
    """One change to make."""

    action: Callable[[], Any]
    pod: Pod
    what: str
    plugin: str
    then: Callable[[], None] | None
    harmless: type[Exception] | None


@record(eq=False)
class _Writes:
    """The writes about one pod, and the one that is under way."""

    present: _Write
    started: float = 0.0
    """Seconds of ``perf_counter``; 0 without metrics."""
    later: deque[_Write] = field(factory=deque)
    failed: bool = False


@record(eq=False)
class PodWriteQueue:
    """Changes of pods in the cluster; those of one pod are made one after another, in order.

    A failure is reported, and what was believed to be written is forgotten: the next event of the pod, or its
    next attempt, says what stands there.
    """

    _context: WriteContext
    _by_uid: dict[str, _Writes] = field(factory=dict)
    """Only of pods about which something is being written."""

    def submit(
        self,
        action: Callable[[], Any],
        pod: Pod,
        what: str,
        *,
        plugin: str = "",
        then: Callable[[], None] | None = None,
        harmless: type[Exception] | None = None,
    ) -> None:
        """Change something about *pod* in the cluster, off the core; then call *then*, whatever came of it.

        An error of the class *harmless* is none.
        A report of a failure names *what* was done, and the *plugin* whose answer asked for it, if one did.
        """
        context = self._context
        if context.executor.inline:
            error = _attempted(action, then, plugin, harmless)
            if error is not None:
                context.written.pop(pod.uid, None)
                context.report(error, pod, what)
            return
        write = _Write(action, pod, what, plugin, then, harmless)
        writes = self._by_uid.get(pod.uid)
        if writes is not None:
            writes.later.append(write)
            return
        writes = self._by_uid[pod.uid] = _Writes(write)
        self._start(writes)

    def is_writing(self, pod: Pod) -> bool:
        """Return whether something about *pod* is still to be written. O(1)."""
        return pod.uid in self._by_uid

    def __len__(self) -> int:
        """Return the number of writes that are under way or wait for one."""
        return sum([1 + len(writes.later) for writes in list(self._by_uid.values())])

    def _start(self, writes: _Writes) -> None:
        write = writes.present
        if self._context.observers.write_ended is not None:
            writes.started = perf_counter()
        attempt = _attempted_on_loop if self._context.on_loop else _attempted
        self._context.submit(
            WorkKind.WRITE,
            partial(attempt, write.action, write.then, write.plugin, write.harmless),
            partial(self._finished, writes),
        )

    def _finished(self, writes: _Writes, failure: Status | None) -> None:
        uid = writes.present.pod.uid
        if self._context.observers.write_ended is not None:
            seconds = perf_counter() - writes.started
            self._context.observers.write_ended(PATCH, failure is not None, seconds)
        if failure is not None:
            writes.failed = True
            self._context.report(failure, writes.present.pod, writes.present.what)
        if writes.later:
            writes.present = writes.later.popleft()
            self._start(writes)
            return
        del self._by_uid[uid]
        if writes.failed:
            self._context.written.pop(uid, None)


def _attempted(
    action: Callable[[], Any],
    then: Callable[[], None] | None,
    plugin: str,
    harmless: type[Exception] | None,
) -> Status | None:
    """Make one write; return the failure to report."""
    try:
        try:
            action()
        finally:
            if then is not None:
                then()
    except Exception as error:  # noqa: BLE001 - whatever the cluster raises is reported, not fatal
        return _failure(error, plugin, harmless)
    return None


async def _attempted_on_loop(
    action: Callable[[], Any],
    then: Callable[[], None] | None,
    plugin: str,
    harmless: type[Exception] | None,
) -> Status | None:
    try:
        try:
            written = action()
            if inspect.isawaitable(written):
                await written
        finally:
            if then is not None:
                then()
    except Exception as error:  # noqa: BLE001 - whatever the cluster raises is reported, not fatal
        return _failure(error, plugin, harmless)
    return None


def _failure(error: Exception, plugin: str, harmless: type[Exception] | None) -> Status | None:
    """Return the failure to report, ``None`` for one that is harmless."""
    if harmless is not None and isinstance(error, harmless):
        return None
    return Status.from_error(error, plugin)
