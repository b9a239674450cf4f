"""Scheduling tasks on workers, without a word about pods and nodes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Self

from ..api import Pod
from ..cycle import Clock, Decision, Scheduler, SystemClock
from ..errors import InputError
from ..framework import Code, Status
from ..framework.registry import Factory
from .amounts import Amount, Amounts
from .ledger import Ledger, Placement
from .profile import configuration
from .retry import Backoff, Retry, checked_seconds
from .translation import Translator, in_words_of_tasks, pod_key, sentence
from .values import Limits, Needs, NotStarted, T, TaskState, W, Waiting, Why
from .world import Evicted, Placed, Unplaced, Word, World


class Embedding(Generic[T, W]):
    """A scheduler for an orchestrator of yours.

    ``workers`` and ``tasks`` are any objects with a key, amounts and labels, see :class:`TaskLike` and
    :class:`WorkerLike`; more come with :meth:`add_worker` and :meth:`submit`.

    ``on_place(task, worker)``: start it there; raise :class:`NotStarted` if that fails.
    ``on_unplaced(task, why)``: no worker can take it now; called again when the reason changes.
    ``on_evict(task, worker)``: stop it for one of higher priority, then say :meth:`fail` (it waits again, at
    once) or :meth:`finish`. Without it nothing is driven out.
    ``needs(task)`` and ``limits(worker)``: what is not given with :meth:`submit` and :meth:`add_worker`.
    ``retry(failures)``: seconds until a failed task is tried again, finite and not below 0. If it raises an
    error or returns anything else, that is a fault, reported with the key of the task, and the task waits as
    :class:`Backoff` says.
    ``config``: a KubeSchedulerConfiguration; :func:`configuration` for the resources of ``workers`` if
    ``None``, with all of ``plugins`` (name → class) enabled.
    ``steps``: resource → smallest step in which it is counted, see :class:`Amounts`.
    ``clock``, ``seed``, ``wake_up``, ``on_fault``: as for :class:`Scheduler`; ties are reproducible unless
    the seed is ``None``.

    One thread at a time drives it, by :meth:`run`, :meth:`run_until_idle` or :meth:`step`, and makes the
    calls back, between two decisions. All other methods may be called from any thread, and from the calls
    back. An error that a call back raises (but :class:`NotStarted`) leaves the method that drives; what was
    decided stays decided. Raises :class:`ConfigError` and :class:`InputError`.
    """

    def __init__(
        self,
        workers: Iterable[W] = (),
        tasks: Iterable[T] = (),
        *,
        on_place: Callable[[T, W], None] | None = None,
        on_unplaced: Callable[[T, Why], None] | None = None,
        on_evict: Callable[[T, W], None] | None = None,
        needs: Callable[[T], Needs] | None = None,
        limits: Callable[[W], Limits] | None = None,
        retry: Retry | None = None,
        config: Any = None,
        plugins: Mapping[str, Factory] | None = None,
        steps: Mapping[str, Amount] | None = None,
        clock: Clock | None = None,
        seed: int | None = 0,
        wake_up: Callable[[], None] | None = None,
        on_fault: Callable[[Status, Pod | None], None] | None = None,
    ) -> None:
        workers = tuple(workers)
        if config is None:
            resources = dict.fromkeys(name for worker in workers for name in worker.capacity)
            config = configuration(
                resources or ("cpu", "memory"), preemption=on_evict is not None, plugins=plugins or ()
            )
        self.clock: Clock = clock if clock is not None else SystemClock()
        self._on_place, self._on_unplaced, self._on_evict = on_place, on_unplaced, on_evict
        self._needs, self._limits = needs, limits
        self._retry: Retry = retry if retry is not None else Backoff()
        self._words: deque[Word] = deque()
        self._telling = False
        self._wake_up = wake_up
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._driving = threading.RLock()
        world = World(
            clock=self.clock, event_capacity=0, tell=self._words.append, evicts=on_evict is not None
        )
        self._ledger: Ledger[T, W] = Ledger(world, self.clock)
        self.scheduler = Scheduler(
            world,
            config,
            plugins=plugins,
            clock=self.clock,
            seed=seed,
            wake_up=self._wake,
            on_fault=on_fault,
        )
        self.profiles: tuple[str, ...] = tuple(self.scheduler.core.frameworks)
        self._translate = Translator(Amounts(steps or {}), self.profiles[0])
        for worker in workers:
            self.add_worker(worker)
        for task in tasks:
            self.submit(task)

    # ---- workers -----------------------------------------------------------------------------------------

    def add_worker(self, worker: W, limits: Limits | None = None) -> None:
        """A worker joins. Raises :class:`Conflict` if its key is taken, :class:`InputError`.

        The first one is tried for all waiting tasks at once: without any worker they were not rejected by
        anybody who would take note of it.
        """
        self._ledger.add_worker(
            worker, self._translate.worker_to_node(worker, limits or self._limits_of(worker))
        )

        if len(self._ledger.workers) == 1:
            self.scheduler.core.inbox.put(_try_all, self.scheduler)

    def update_worker(self, worker: W, limits: Limits | None = None) -> None:
        """A worker changed: capacity, labels, limits. Tasks that are there stay, even if room is short now.

        Raises :class:`NotFound`, :class:`InputError`.
        """
        node = self._translate.worker_to_node(worker, limits or self._limits_of(worker))
        self._ledger.update_worker(worker, node)

    def remove_worker(self, worker: W | str) -> tuple[T, ...]:
        """A worker is gone. The tasks that it had, which are returned, wait again at once.

        Raises :class:`NotFound`.
        """
        return self._ledger.remove_worker(_key_of(worker))

    def _limits_of(self, worker: W) -> Limits | None:
        return self._limits(worker) if self._limits is not None else None

    # ---- tasks -------------------------------------------------------------------------------------------

    def submit(self, task: T, needs: Needs | None = None) -> None:
        """A task arrives. Raises :class:`Conflict` if its key is taken, :class:`InputError`."""
        if needs is None and self._needs is not None:
            needs = self._needs(task)
        if needs is not None and needs.profile and needs.profile not in self.profiles:
            known = ", ".join(self.profiles)
            raise InputError("needs.profile", f"there is no profile {needs.profile!r}", f"known are: {known}")
        self._ledger.submit(task, self._translate.task_to_pod(task, needs))

    def finish(self, task: T | str, *, on: str | None = None) -> bool:
        """The task is over, done or no longer wanted: its room is free, it is forgotten.

        ``on``: the worker that says so; without effect if the task is no longer placed there. Whether it had
        an effect: the task may be gone already.
        """
        return self._ledger.finish(_key_of(task), on)

    def fail(self, task: T | str, *, on: str | None = None, retry_after: float | None = None) -> bool:
        """The task failed, or was stopped as ``on_evict`` asked: its room is free, it waits again.

        ``retry_after``: seconds until it does, instead of what ``retry`` says. ``on`` and the result as for
        :meth:`finish`; no effect on a task that is not placed. To give it up instead, ``finish`` it. Raises
        :class:`InputError` if ``retry_after`` is not a number, infinite or below 0.
        """
        delay = None if retry_after is None else checked_seconds(retry_after, "retry_after")
        placement = self._ledger.placement_of(_key_of(task), on)
        if placement is None:
            return False
        if delay is None:
            delay = 0.0 if placement.is_stopping else self._delay_of(placement)
        changed = self._ledger.fail(placement, delay)
        if changed:
            self._wake()  # the scheduler does not know of held tasks, so it reports no new deadline itself
        return changed

    def _delay_of(self, placement: Placement) -> float:
        """Return what ``retry`` answers; what the default answers, and report the fault, if that is wrong."""
        failures = placement.failures + 1
        try:
            return checked_seconds(self._retry(failures), "")
        except Exception as error:  # noqa: BLE001  # any error of the caller's function is a fault
            pod, core = placement.pod, self.scheduler.core
            fault = Status(Code.ERROR, (f"retry({failures}) of task {pod.name}: {error}",), "retry", error)
            core.inbox.put(lambda pod: core.report(fault, pod, "embedding"), pod)
            return Backoff()(failures)

    # ---- looking -----------------------------------------------------------------------------------------

    def worker_of(self, task: T | str) -> W | None:
        """Where the task is placed; ``None`` if it waits, or is not there. O(1)."""
        return self._ledger.worker_of(_key_of(task))

    def task_of(self, key: str) -> T | None:
        """The task of that key; ``None`` if it is not there (any more). O(1)."""
        entry = self._ledger.tasks.get(key)
        return entry.task if entry is not None else None

    def tasks_on(self, worker: W | str) -> tuple[T, ...]:
        """What is placed on a worker. Raises :class:`NotFound`."""
        return self._ledger.tasks_on(_key_of(worker))

    def state_of(self, task: T | str) -> TaskState | None:
        """Where the task is; ``None`` if it is not there. O(1)."""
        entry = self._ledger.tasks.get(_key_of(task))
        return entry.state if entry is not None else None

    def failures_of(self, task: T | str) -> int:
        """How often the task failed since it was submitted; 0 if it is not there. O(1)."""
        entry = self._ledger.tasks.get(_key_of(task))
        return entry.failures if entry is not None else 0

    def waiting(self) -> tuple[Waiting[T], ...]:
        """Tasks without a worker, in order of submission, and why. O(tasks); in the thread that drives."""
        queued = {pod.key: pod for pod in self.scheduler.pending()}
        found = []
        for entry in self._ledger.entries():
            if entry.state in (TaskState.WAITING, TaskState.HELD):
                pod = queued.get(pod_key(entry.key))
                wakes_at = entry.due if pod is None else pod.wake_at
                attempts = pod.attempts if pod is not None else 0
                found.append(Waiting(entry.task, entry.state, attempts, entry.failures, entry.why, wakes_at))
        return tuple(found)

    def __len__(self) -> int:
        """How many tasks there are, placed or not."""
        return len(self._ledger.tasks)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless all parts agree; between steps, in the thread that drives."""
        self._ledger.check_invariants()

    # ---- driving -----------------------------------------------------------------------------------------

    def step(self) -> float | None:
        """Take in what happened, place at most one task, make the calls back that are due.

        Returns when to call again, in seconds of the clock: now if there is more to do, ``None`` if only a
        call of another method can change anything (``wake_up`` tells).
        """
        self._ledger.release_due()
        scheduler = self.scheduler
        decision = scheduler.schedule_one()
        self._tell_all(decision)
        if decision is not None or scheduler.core.inbox:
            return self.clock()
        deadlines = (self._ledger.next_due(), scheduler.next_deadline())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def run_until_idle(self) -> int:
        """Step until nothing is left that can be done now; how many steps that took. Waits for no time."""
        steps = 1
        with self._driving:
            while (deadline := self.step()) is not None and deadline <= self.clock():
                steps += 1
        return steps

    def run(self) -> None:
        """Place tasks until :meth:`stop` is called, sleeping when there is nothing to do."""
        with self._driving:
            while True:
                # In this order: who stops us after the look at the flag also wakes us.
                self._woken.clear()
                if self._stopping.is_set():
                    break
                deadline = self.step()
                if deadline is None:
                    self._woken.wait()
                elif (remaining := deadline - self.clock()) > 0:
                    self._woken.wait(min(remaining, threading.TIMEOUT_MAX))
            self._stopping.clear()

    def stop(self) -> None:
        """Make :meth:`run` return after the present step; the next run, if none is under way. Any thread."""
        self._stopping.set()
        self._woken.set()

    def close(self) -> None:
        """End it: waits for a :meth:`run` in another thread, closes plugins. No calls back after that."""
        self.stop()
        with self._driving:
            self.scheduler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wake(self) -> None:
        self._woken.set()
        if self._wake_up is not None:
            self._wake_up()

    # ---- calling back ------------------------------------------------------------------------------------

    def _tell_all(self, decision: Decision | None) -> None:
        if self._telling:
            return  # driven from a call back: the one who makes it goes on
        self._telling = True
        try:
            while self._words:
                self._tell(self._words.popleft(), decision)
        finally:
            self._telling = False

    def _tell(self, word: Word, decision: Decision | None) -> None:
        pod, ledger = word.pod, self._ledger
        if isinstance(word, Placed):
            started = ledger.placed(pod.uid, pod.name, word.worker)
            if started is not None and self._on_place is not None:
                try:
                    self._on_place(*started)
                except NotStarted as refusal:
                    self._not_started(pod.name, word.worker, refusal)
        elif isinstance(word, Evicted):
            stopped = ledger.evicted(pod.uid, pod.name)
            if stopped is not None and self._on_evict is not None:
                self._on_evict(*stopped)
        else:
            why = _why(word, decision)
            task = ledger.explained(pod.uid, pod.name, why)
            if task is not None and self._on_unplaced is not None:
                self._on_unplaced(task, why)

    def _not_started(self, key: str, worker: str, refusal: NotStarted) -> None:
        entry = self._ledger.tasks.get(key)
        if self.fail(key, on=worker) and entry is not None:
            entry.why = Why(str(refusal))


def _try_all(scheduler: Scheduler) -> None:
    core = scheduler.core
    core.queue.activate([*core.pending.values()])


def _why(word: Unplaced, decision: Decision | None) -> Why:
    """The reasons with their numbers if this very search found no worker, else what was said about it."""
    diagnosis = decision.diagnosis if decision is not None and decision.pod.uid == word.pod.uid else None
    fault = word.condition.reason != "Unschedulable"
    reasons = (
        {in_words_of_tasks(why): count for why, count in diagnosis.reasons().items()} if diagnosis else {}
    )
    if diagnosis is None or not reasons:
        return Why(in_words_of_tasks(word.condition.message), fault=fault)
    more = f"room is being made on {word.nominated}" if word.nominated else ""
    return Why(sentence(reasons, diagnosis.num_nodes, more), reasons, fault)


def _key_of(thing: Any) -> str:
    return thing if isinstance(thing, str) else str(thing.key)
