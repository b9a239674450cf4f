"""Scheduling of tasks on workers, in words other than pods and nodes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Self, Unpack

from .._base.brief import brief_of
from .._base.validators import collection, has
from .._base.wording import described
from ..cycle import Clock, Decision, Scheduler, SystemClock
from ..cycle.messages import Activation, Fault
from ..cycle.runtime.interrupts import Hold, held
from ..errors import InputError
from .amounts import Amounts
from .callbacks import call, fault_of, reasons_of
from .embedded_cluster import EmbeddedCluster, Evicted, Placed, PlacementEvent
from .ledger import Ledger, Placement
from .options import EmbeddingOptions, embedding_options, options_of_scheduler
from .profile import GROUP_GATES, configuration
from .retry import Backoff, Retry, checked_seconds
from .translation import Translator, pod_key
from .values import Group, Limits, NotStarted, PlacementFailure, Requirements, T, TaskState, W, Waiting

if TYPE_CHECKING:
    from .fork import EmbeddingFork


class Embedding(Generic[T, W]):
    """A scheduler for an orchestrator of yours.

    ``workers`` and ``tasks`` are any objects with a key, amounts and labels, see :class:`TaskLike` and
    :class:`WorkerLike`; more are added with :meth:`add_worker` and :meth:`submit`. Options: see
    :class:`EmbeddingOptions`.

    One thread at a time drives it, by :meth:`run`, :meth:`run_until_idle` or :meth:`step`, and runs the
    callbacks, between two decisions. All other methods may be called from any thread, and from callbacks. An
    error that a callback raises (other than :class:`NotStarted`) is a fault, reported with the key of the
    task; what was decided stays decided, and the rest goes on. Raises :class:`ConfigError` and
    :class:`InputError`.
    """

    def __init__(
        self,
        workers: Iterable[W] = (),
        tasks: Iterable[T] = (),
        **given: Unpack[EmbeddingOptions[T, W]],
    ) -> None:
        options = embedding_options(given)
        workers = collection("workers", workers, "give a list of workers")
        tasks = collection("tasks", tasks, "give a list of tasks")
        self._options = options
        self.clock: Clock = options["clock"] if options["clock"] is not None else SystemClock()
        self._retry: Retry = options["retry"] if options["retry"] is not None else Backoff()
        self._events: deque[PlacementEvent] = deque()
        self._dispatching = False
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._driving = threading.RLock()
        cluster = EmbeddedCluster(
            clock=self.clock,
            event_capacity=0,
            publish=self._events.append,
            can_evict=options["on_evict"] is not None,
        )
        self._ledger: Ledger[T, W] = Ledger(cluster, self.clock)
        self.scheduler = self._scheduler_of(cluster, workers)
        if self.scheduler.groups is not None:
            self.scheduler.groups.max_stay = None  # all that may help a group is an event here
        self.profiles: tuple[str, ...] = tuple(self.scheduler.core.frameworks)
        self._translate = Translator(Amounts(options["steps"] or {}), self.profiles[0])
        try:
            for worker in workers:
                self.add_worker(worker)
            for task in tasks:
                self.submit(task)
        except BaseException:
            self.scheduler.close()  # the caller has no object to close
            raise

    def _scheduler_of(self, cluster: EmbeddedCluster, workers: tuple[W, ...]) -> Scheduler:
        options = self._options
        shared = options_of_scheduler(options)
        if options["groups"] and shared["feature_gates"] is None:
            shared["feature_gates"] = GROUP_GATES
        config = options["config"] if options["config"] is not None else _default_config(workers, options)
        return Scheduler(cluster, config, clock=self.clock, wake_up=self._wake, **shared)

    # ---- workers -----------------------------------------------------------------------------------------

    def add_worker(self, worker: W, limits: Limits | None = None) -> None:
        """Add a worker. Raises :class:`Conflict` if its key is taken, :class:`InputError`."""
        self._ledger.add_worker(
            worker, self._translate.worker_to_node(worker, limits or self._limits_of(worker))
        )
        if len(self._ledger.workers) == 1:
            # Without a worker no plugin rejected the waiting tasks, so no hint would move them.
            self.scheduler.core.inbox.put(Activation(None))

    def update_worker(self, worker: W, limits: Limits | None = None) -> None:
        """Replace a worker that changed: capacity, labels, limits. Its tasks stay, even if room is short now.

        Raises :class:`NotFound`, :class:`InputError`.
        """
        node = self._translate.worker_to_node(worker, limits or self._limits_of(worker))
        self._ledger.update_worker(worker, node)

    def remove_worker(self, worker: W | str) -> tuple[T, ...]:
        """Remove a worker and return its tasks, which wait again at once. Raises :class:`NotFound`."""
        return self._ledger.remove_worker(_key_of(worker))

    def _limits_of(self, worker: W) -> Limits | None:
        return self._options["limits"](worker) if self._options["limits"] is not None else None

    # ---- tasks -------------------------------------------------------------------------------------------

    def submit(self, task: T, needs: Requirements | None = None) -> None:
        """Add a task. Raises :class:`Conflict` if its key is taken, :class:`InputError`."""
        self._ledger.submit(task, self._translate.task_to_pod(task, self._needs_of(task, needs)))

    def submit_group(self, group: Group[T], needs: Requirements | None = None) -> None:
        """Add tasks that start together; *needs* holds for each of them.

        Raises :class:`Conflict` if a key is taken, and :class:`InputError`, without ``groups=True`` too.
        """
        if not self._options["groups"]:
            raise InputError("group", "groups are off", "make the embedding with groups=True")
        if not isinstance(group, Group):
            raise InputError("group", f"{described(group)} is not a group", "give Group([…])")
        made, pods = self._translate.group_to_pods(group, lambda task: self._needs_of(task, needs))
        self._ledger.submit_group(group.tasks, made, pods)

    def _needs_of(self, task: T, needs: Requirements | None) -> Requirements | None:
        """Return *needs*, or what ``options["needs"]`` says. Raises :class:`InputError`."""
        if needs is None and self._options["needs"] is not None:
            needs = self._options["needs"](task)
        if needs is not None and not isinstance(needs, Requirements):
            raise InputError("needs", f"{described(needs)} is not what a task needs", "give Requirements")
        if needs is not None and needs.profile and needs.profile not in self.profiles:
            known = ", ".join(self.profiles)
            raise InputError("needs.profile", f"there is no profile {needs.profile!r}", f"known are: {known}")
        return needs

    def finish(self, task: T | str, *, on: str | None = None) -> bool:
        """Remove a task that is done or no longer wanted, and free its room.

        ``on``: the worker that reports it; without effect if the task is no longer placed there. Return
        whether there was an effect: the task may be gone already.
        """
        return self._ledger.finish(_key_of(task), on)

    def fail(self, task: T | str, *, on: str | None = None, retry_after: float | None = None) -> bool:
        """Free the room of a task that failed, or was stopped after ``on_evict``, and let it wait again.

        ``retry_after``: seconds until it waits again, in place of what ``retry`` returns. ``on`` and the
        result as for :meth:`finish`; no effect on a task that is not placed. ``finish`` gives a task up.
        Raises :class:`InputError` if ``retry_after`` is not a number, infinite or below 0.
        """
        delay = None if retry_after is None else checked_seconds(retry_after, "retry_after")
        placement = self._ledger.placement_of(_key_of(task), on)
        if placement is None:
            return False
        if delay is None:
            delay = 0.0 if placement.is_stopping else self._delay_of(placement)
        changed = self._ledger.fail(placement, delay)
        if changed:
            # The scheduler does not know of held tasks, so it reports no new deadline itself.
            self.scheduler.core.inbox.wake()
        return changed

    def _delay_of(self, placement: Placement) -> float:
        """Return what ``retry`` answers; what the default answers, and report the fault, if that is wrong."""
        failures = placement.failures + 1
        try:
            return checked_seconds(self._retry(failures), "")
        except Exception as error:  # noqa: BLE001  # any error of the caller's function is a fault
            fault = fault_of(f"retry({failures})", placement.pod, error)
            self.scheduler.core.inbox.put(Fault(fault, placement.pod, "embedding"))
            return Backoff()(failures)

    # ---- looking -----------------------------------------------------------------------------------------

    def worker_of(self, task: T | str) -> W | None:
        """Return where the task is placed; ``None`` if it waits, or is not there. O(1)."""
        return self._ledger.worker_of(_key_of(task))

    def task_of(self, key: str) -> T | None:
        """Return the task of that key; ``None`` if it is not there (any more). O(1)."""
        entry = self._ledger.tasks.get(key)
        return entry.task if entry is not None else None

    def tasks_on(self, worker: W | str) -> tuple[T, ...]:
        """Return the tasks on a worker. Raises :class:`NotFound`."""
        return self._ledger.tasks_on(_key_of(worker))

    def state_of(self, task: T | str) -> TaskState | None:
        """Return the state of a task; ``None`` if it is not there. O(1)."""
        entry = self._ledger.tasks.get(_key_of(task))
        return entry.state if entry is not None else None

    def failures_of(self, task: T | str) -> int:
        """Return how often a task failed since it was submitted; 0 if it is not there. O(1)."""
        entry = self._ledger.tasks.get(_key_of(task))
        return entry.failures if entry is not None else 0

    @held
    def waiting(self) -> tuple[Waiting[T], ...]:
        """Return the tasks without a worker and why, in order of submission. O(tasks).

        To be called by the thread that drives.
        """
        queued = {pod.key: pod for pod in self.scheduler.pending()}
        if self._options["on_unplaced"] is None:
            self._dispatch_all(None)  # the reasons that changed
        waiting = []
        for entry in self._ledger.entries():
            if entry.state in (TaskState.WAITING, TaskState.HELD):
                pod = queued.get(pod_key(entry.key))
                wakes_at = entry.due if pod is None else pod.wake_at
                attempts = pod.attempts if pod is not None else 0
                waiting.append(
                    Waiting(entry.task, entry.state, attempts, entry.failures, entry.why, wakes_at)
                )
        return tuple(waiting)

    def fork(self) -> EmbeddingFork[T, W]:
        """Return a copy to try things out in, which this embedding knows nothing of. Any thread.

        Raises :class:`PluginError` for a plugin that a fork cannot have, see :meth:`.Fork.of`.
        """
        from .fork import EmbeddingFork, Translation  # what asks nothing imports nothing of it

        entries, workers = self._ledger.entries(), dict(self._ledger.workers)
        return EmbeddingFork(
            self.scheduler,
            {entry.key: entry.task for entry in entries},
            {key: entry.worker for key, entry in workers.items()},
            Translation(
                lambda task, needs: self._translate.task_to_pod(task, self._needs_of(task, needs)),
                lambda worker, limits: self._translate.worker_to_node(
                    worker, limits or self._limits_of(worker)
                ),
            ),
        )

    def __len__(self) -> int:
        """Return the number of tasks, placed or not."""
        return len(self._ledger.tasks)

    def __repr__(self) -> str:
        return brief_of(self, workers=len(self._ledger.workers), waiting=len(self.scheduler.core.pending))

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless all parts agree; between steps, in the thread that drives."""
        self._ledger.check_invariants()

    # ---- driving -----------------------------------------------------------------------------------------

    @held
    def step(self) -> float | None:
        """Process what happened, place at most one task, run the callbacks that are due.

        Return when to call again, in seconds of the clock: now if there is more to do, ``None`` if only a
        call of another method can change anything (then ``wake_up`` is called).
        """
        self._ledger.release_due()
        scheduler = self.scheduler
        decision = scheduler.schedule_one()
        if decision is None and self._options["on_unplaced"] is not None:
            # Without the callback reasons are seen in waiting() alone, which brings them up to date.
            scheduler.refresh_conditions(rarely=True)
        self._dispatch_all(decision)
        if decision is not None or scheduler.core.inbox:
            return self.clock()
        return self.next_deadline()

    def next_deadline(self) -> float | None:
        """Return when something is due without any call, in seconds of the clock; ``None`` if nothing is.

        That is the end of a retry or of a delay of the scheduler. What can be done now has no deadline:
        :meth:`step` tells. Between steps, in the thread that drives.
        """
        held, queued = self._ledger.next_due(), self.scheduler.next_deadline()
        return queued if held is None else held if queued is None else min(held, queued)

    def run_until_idle(self) -> int:
        """Step until nothing is left that can be done now; return the number of steps. Never sleeps."""
        steps = 1
        with self._driving, Hold() as hold:
            while (deadline := self.step()) is not None and deadline <= self.clock():
                steps += 1
                if hold.arrived:
                    hold.check()
        return steps

    def run(self) -> None:
        """Place tasks until :meth:`stop` is called, sleeping when there is nothing to do."""
        with self._driving, Hold() as hold:
            while True:
                # Clear first: a stop() after the flag was read sets the event again.
                self._woken.clear()
                if self._stopping.is_set():
                    break
                deadline = self.step()
                if deadline is None:
                    hold.wait(self._woken, None)
                elif (remaining := deadline - self.clock()) > 0:
                    hold.wait(self._woken, remaining)
                elif hold.arrived:
                    hold.check()
            self._stopping.clear()

    def stop(self) -> None:
        """Make :meth:`run` return after the present step; the next run, if none is under way. Any thread."""
        self._stopping.set()
        self._woken.set()

    def close(self) -> None:
        """Stop, wait for a :meth:`run` in another thread, close plugins. No callbacks after that."""
        self.stop()
        with self._driving:
            self.scheduler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wake(self) -> None:
        if not self._woken.is_set():  # looking is cheaper than setting, and each event comes here
            self._woken.set()
        if self._options["wake_up"] is not None:
            self._options["wake_up"]()

    # ---- callbacks ---------------------------------------------------------------------------------------

    def _dispatch_all(self, decision: Decision | None) -> None:
        if self._dispatching or not self._events:
            return  # if a callback drives: the dispatch that runs it goes on when it returns
        self._dispatching = True
        try:
            while self._events:
                self._dispatch(self._events.popleft(), decision)
        finally:
            self._dispatching = False

    def _dispatch(self, event: PlacementEvent, decision: Decision | None) -> None:
        pod, core, ledger, options = event.pod, self.scheduler.core, self._ledger, self._options
        if isinstance(event, Placed):
            started = ledger.placed(pod.uid, pod.name, event.worker)
            if started is not None and options["on_place"] is not None:
                try:
                    call(core, "on_place", pod, options["on_place"], *started)
                except NotStarted as refusal:
                    self._not_started(pod.name, event.worker, refusal)
        elif isinstance(event, Evicted):
            stopped = ledger.evicted(pod.uid, pod.name)
            if stopped is not None and options["on_evict"] is not None:
                call(core, "on_evict", pod, options["on_evict"], *stopped)
        else:
            why = reasons_of(event, decision, self.scheduler.rejections)
            task = ledger.unplaced(pod.uid, pod.name, why)
            if task is not None and options["on_unplaced"] is not None:
                call(core, "on_unplaced", pod, options["on_unplaced"], task, why)

    def _not_started(self, key: str, worker: str, refusal: NotStarted) -> None:
        entry = self._ledger.tasks.get(key)
        if self.fail(key, on=worker) and entry is not None:
            entry.why = PlacementFailure(str(refusal))


def _default_config(workers: tuple[W, ...], options: EmbeddingOptions[T, W]) -> dict[str, Any]:
    for worker in workers:
        has("worker", worker, ["capacity"], "give a Worker, or an object with key, capacity and labels")
    resources = tuple(dict.fromkeys(name for worker in workers for name in worker.capacity))
    return configuration(
        resources or ("cpu", "memory"),
        preemption=options["on_evict"] is not None,
        groups=options["groups"],
    )


def _key_of(thing: Any) -> str:
    if isinstance(thing, str):
        return thing
    has("key", thing, ["key"], "give the key as a text, or an object that has it")
    return str(thing.key)
