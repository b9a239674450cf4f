"""One run of a workload: the loop that schedules its pods, and what is measured in it.

Templates and files of scheduler_perf share this loop. Waits are skipped on the scheduler's clock; only the
time of the machine counts as elapsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter_ns, process_time_ns
from typing import Final

from attrs import field

from .._base.value import record
from ..cycle.runtime.interrupts import Hold
from ..errors import SchedframeError
from .fixture import ClusterFixture
from .interference import Interference, Unit
from .measurement import Measurement
from .memory import frozen_heap
from .pod_tracker import PodSelection, PodTracker

TIMEOUT_S: Final = 600.0
"""Seconds on the scheduler's clock without a placement until a run is given up; as in scheduler_perf."""


class StalledError(SchedframeError):
    """Pods that the workload waits for are not scheduled, and no event is left that could change that."""


class NotDeliveredError(SchedframeError):
    """The workload needs something that this release does not have."""


def _never() -> bool:
    return False


@record(eq=False)
class BenchRun:
    """State of a workload that its operations act on: a cluster, its scheduler, the measurement so far."""

    fixture: ClusterFixture
    measurement: Measurement = field(factory=Measurement)
    tracker: PodTracker = field(init=False)
    measuring: bool = field(default=False, init=False)
    """Whether cycles are timed at present."""
    _interferences: list[Interference] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.tracker = PodTracker(self.fixture.clock, self.measurement)

    # ---- what is measured --------------------------------------------------------------------------------

    def start_measuring(self, selection: PodSelection | None = None) -> None:
        """Time scheduling from now on, and let the tracker count the pods of *selection*."""
        self.measuring = True
        self.tracker.selection = selection

    def stop_measuring(self) -> None:
        """End the measurement; another one may follow and adds to the figures."""
        self.measuring = False
        self.tracker.selection = None

    # ---- what happens besides ----------------------------------------------------------------------------

    def start(self, interference: Interference) -> None:
        """Repeat *interference* from now on, in every loop."""
        interference.start(self._position(interference.unit))
        self._interferences.append(interference)

    def finish(self, interference: Interference) -> None:
        """Schedule until *interference* has made its last change. Raises :class:`StalledError`."""
        self._wait_until(lambda: interference not in self._interferences, "an operation to finish")

    # ---- scheduling --------------------------------------------------------------------------------------

    def schedule_until_idle(self, patience: float = 0.0) -> None:
        """Schedule until no pod is ready.

        *patience*: longest backoff in seconds that is waited for; the wait is skipped and does not count.
        After :data:`TIMEOUT_S` of skipped waits, pods that are retried for ever are given up.
        """
        end = self.fixture.clock.skipped + TIMEOUT_S * 1e9

        def skip_backoff() -> bool:
            deadline = self.fixture.scheduler.next_deadline() if patience else None
            if deadline is None or deadline - self.fixture.clock() > patience:
                return False
            if self.fixture.clock.skipped > end:
                return False
            self.fixture.clock.skip_to(deadline)
            return True

        self._drive(None, skip_backoff)

    def schedule_pods(self, keys: Iterable[str]) -> None:
        """Schedule until these pods have a node or are deleted. Raises :class:`StalledError`."""
        self.tracker.await_pods(keys)
        self._wait_until(lambda: not self.tracker.awaited, "pods to be scheduled")

    def schedule_batches(self, next_batch: Callable[[], Iterable[str]], seconds: float) -> None:
        """Schedule batch after batch until *seconds* have passed. Raises :class:`StalledError`.

        *next_batch* creates the pods of the next batch and returns their keys; its time counts.
        """
        end = self.fixture.clock() + seconds

        def done() -> bool:
            if not self.tracker.awaited:
                if self.fixture.clock() >= end:
                    return True
                self.tracker.await_pods(next_batch())
            return False

        self._wait_until(done, "pods to be scheduled")

    def schedule_for(self, seconds: float) -> None:
        """Schedule until *seconds* of the scheduler's clock have passed."""
        end = self.fixture.clock() + seconds
        self.start(Interference(seconds, Unit.SECONDS, _never))
        self._wait_until(lambda: self.fixture.clock() >= end, "time to pass")

    # ---- the loop ----------------------------------------------------------------------------------------

    def _wait_until(self, done: Callable[[], bool], what: str) -> None:
        """Schedule until *done*, skipping the time in which nothing is ready."""

        def skip_idle_time() -> bool:
            moments = [each.due for each in self._interferences if each.unit is Unit.SECONDS]
            deadline = self.fixture.scheduler.next_deadline()
            if deadline is not None:
                moments.append(deadline)
            if not moments or min(moments) - self.tracker.last_placed > TIMEOUT_S:
                raise StalledError(
                    f"waiting for {what}, but {len(self.tracker.awaited)} of them never will be"
                )
            self.fixture.clock.skip_to(min(moments))
            return True

        self.tracker.last_placed = self.fixture.clock()
        self._drive(done, skip_idle_time)

    def _drive(self, done: Callable[[], bool] | None, skip_wait: Callable[[], bool]) -> None:
        if not self.measuring:
            self._loop(done, skip_wait)
            return
        with self._timed():
            self._loop(done, skip_wait)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Add the time that passes inside to the measurement; freezing the heap before takes no time."""
        clock, measurement = self.fixture.clock, self.measurement
        with ExitStack() as stack:
            with clock.stopped():
                stack.enter_context(frozen_heap())
            skipped, cpu, started = clock.skipped, process_time_ns(), perf_counter_ns()
            try:
                yield
            finally:
                measurement.elapsed += perf_counter_ns() - started
                measurement.cpu += process_time_ns() - cpu
                measurement.waited += clock.skipped - skipped

    def _loop(self, done: Callable[[], bool] | None, skip_wait: Callable[[], bool]) -> None:
        """Schedule pod after pod until *done*, or until nothing is ready and *skip_wait* returns False.

        One look at the clock for each cycle: what is done here besides counts as part of the next cycle.
        """
        scheduler, measuring, attempts = self.fixture.scheduler, self.measuring, self.measurement.attempts
        scheduler.sync()
        with Hold() as hold:  # once for all pods, as in run()
            started = perf_counter_ns()
            while done is None or not done():
                if self._interferences:
                    self._interfere()
                    started = perf_counter_ns()
                if scheduler.schedule_one() is not None:
                    if measuring:
                        ended = perf_counter_ns()
                        attempts.append(ended - started)
                        started = ended
                elif (done is not None and done()) or not skip_wait():
                    break
                else:
                    started = perf_counter_ns()
                if hold.arrived:
                    hold.check()

    def _interfere(self) -> None:
        for each in tuple(self._interferences):
            if not each.act_if_due(self._position(each.unit)):
                self._interferences.remove(each)

    def _position(self, unit: Unit) -> float:
        return self.fixture.clock() if unit is Unit.SECONDS else len(self.measurement.attempts)
