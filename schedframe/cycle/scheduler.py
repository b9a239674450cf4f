"""The scheduler: one thread, one inbox, for each pod the same path. This file is its table of contents."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import Self, Unpack

from .._base.brief import brief_of
from .._base.validators import has
from ..api import group_of
from ..cluster import ClusterPort
from ..config import ConfigSource, EffectiveConfig
from ..framework import Framework
from ..queue import QueuedPodInfo
from .binding.assume import place
from .binding.attempt import Attempt
from .binding.ended import end
from .binding.failure import handle_failure, requeue_interrupted
from .binding.permit import PermitDesk
from .binding.pod_status import write_delayed_nominations
from .build import build_core, close_frameworks, groups_and_handlers, load, registry_with
from .core import Core
from .dispatch import connect_inbox
from .due import DueWork
from .events import EventRecorder
from .findings import log_findings
from .no_node import end_without_node
from .observer import SchedulerObserver
from .options import SchedulerOptions, scheduler_options
from .outcomes import GONE
from .pending import PendingPods, pending_pods
from .rejections import KnownRejections
from .reload import Reloader, refuse_within_step
from .runtime.executors import InlineExecutor
from .runtime.interrupts import Hold, held
from .runtime.socket_wait import SocketWait
from .search.decision import Decision
from .wake_up import contained_wake_up
from .watching import Watching


class Scheduler:
    """Places the pending pods of a cluster as kube-scheduler would.

    ``cluster``: the world, such as an :class:`InMemoryCluster`.
    ``config``: a KubeSchedulerConfiguration (path, text, dict or value), a :class:`Profile` or several of
    them, ``None`` for the default.
    ``options``: see :class:`SchedulerOptions`.

    ``registry`` has the factories of its plugins, ``observers`` are those of the options. ``core`` is its
    state and ``groups`` the cycles of pod groups, ``None`` without the feature gate GenericWorkload: for
    tools of this library, which may change with any version.

    One thread at a time drives it, by ``run``, ``run_until_idle``, ``schedule_one`` or ``step``. Raises
    :class:`ConfigError` for a configuration that is refused.
    """

    def __init__(
        self,
        cluster: ClusterPort,
        config: ConfigSource = None,
        **given: Unpack[SchedulerOptions],
    ) -> None:
        options = scheduler_options(given)
        has("cluster", cluster, ("watch", "bind"), "give a ClusterPort such as InMemoryCluster()")
        self.registry, self._passed = registry_with(options)
        self.options = options
        """What it was made with, and the defaults of the rest."""
        self.observers: tuple[SchedulerObserver, ...] = tuple(options["observers"])
        effective = load(config, self.registry, self._passed, options["feature_gates"])
        self.core = self._build(cluster, effective, options)
        self._observed = self.core.observers if self.core.observers.follow_attempts else None
        permits = PermitDesk(self.core)
        self.groups, self._handlers = groups_and_handlers(
            self.core, wait_together=options["tuning"].wait_together
        )
        self._due = DueWork(self.core, permits, self._handlers)
        self._watching = Watching(self.core, self._handlers)
        self._socket_wait = SocketWait(self.core.inbox, self.core.clock, self._due)
        self._reloader = Reloader(
            effective, self.core, self.registry, options, self._watching, self._socket_wait, self._take_in
        )
        connect_inbox(self.core, self._handlers, permits, self._reloader)
        self._driving = threading.RLock()
        """Held while ``run`` or ``run_until_idle`` is at work, so that ``close`` waits for it."""
        self._runs = self._closed = False
        """Whether one of these was called, and ``close``."""
        self._stopping, self._woken = threading.Event(), threading.Event()
        self._wake_up = contained_wake_up(self.core, options["wake_up"])
        self.core.inbox.wake_up = self._wake_up

    def _build(self, cluster: ClusterPort, config: EffectiveConfig, options: SchedulerOptions) -> Core:
        return build_core(cluster, config, self.registry, options)

    # ---- the loop ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to follow the cluster; done by the first step otherwise. Nothing once it is closed."""
        self.core.owner = threading.get_ident()
        if not self._watching.begun and not self._closed:
            if self.core.observers.began is not None:
                self.core.observers.began()
            self._watching.follow()
            for framework in self.core.frameworks.values():
                log_findings(framework)

    def sync(self) -> None:
        """Take in everything that has happened, a reload included; schedule nothing."""
        with self._driving, Hold():
            self.start()
            self._take_in()

    def _take_in(self) -> None:
        try:
            self.core.begin_turn()
            self._reloader.exchange()
        finally:
            self.core.end_turn()

    @held
    def step(self) -> float | None:
        """Take in what happened, do what is due, schedule at most one pod.

        Returns when to call again, in seconds of the clock: now if there is more to do, ``None`` if only a
        message can change anything (``wake_up`` is called for each).
        """
        worked = self.schedule_one() is not None
        if not worked:
            self.refresh_conditions(rarely=True)
        return self.core.now if worked or self.core.inbox else self.next_deadline()

    @held
    def schedule_one(self) -> Decision | None:
        """Take in what happened, then the scheduling cycle of the next pod; ``None`` if no pod is ready."""
        if not self._watching.begun:
            self.start()
        core = self.core
        core.owner = threading.get_ident()
        try:
            return self._turn(core)
        finally:
            core.end_turn()

    def _turn(self, core: Core) -> Decision | None:
        """Take in what happened, do what is due, then decide the next pod, if one may be decided now."""
        core.begin_turn()
        # Attempts that wait or are paused are among those that bind.
        waits = core.binding and (core.waiting or core.paused)
        if waits or core.timers.actions or core.cache.assume_ttl is not None:
            self._due.do()
        else:
            core.queue.flush()
        if self._reloader.requests:
            self._reloader.exchange()
        if core.view.holds or (
            core.binding_limit is not None and self.binds_under_way() >= core.binding_limit
        ):
            return None
        while (info := core.queue.pop()) is not None:
            pod = info.pod
            if self.groups is not None and (key := group_of(pod)):
                if (decision := self.groups.run(info, key)) is not None:
                    return decision
                continue
            framework = core.frameworks.get(pod.spec.scheduler_name)
            # Nor does it need scheduling any more if it is being deleted, or placed already.
            settled = pod.metadata.deletion_timestamp is not None or pod.uid in core.cache.states
            if framework is None or settled:
                core.queue.done(info.uid)
                continue
            try:
                if not core.extenders:
                    return self._cycle(framework, info)
                return self._socket_wait.working(self._cycle, framework, info)
            except BaseException as error:
                requeue_interrupted(core, framework, (info,), error)
                raise
        return None

    def run_until_idle(self) -> int:
        """Schedule until nothing is ready and no binding is under way; how many cycles that took.

        Does not wait for backoffs or timeouts, but for a current view of the cluster if pods are ready.
        """
        cycles = 0
        self._runs = True
        with self._driving, Hold() as hold:
            while True:
                self._woken.clear()
                while self.schedule_one() is not None:
                    cycles += 1
                    if hold.arrived:
                        hold.check()
                hold.check()
                if self.core.inbox:
                    continue
                if not (self.binds_under_way() or (self.core.view.holds and self.core.queue.has_active())):
                    self.refresh_conditions(rarely=self._waits_many())
                    if self.core.inbox:
                        continue
                    return cycles
                self._wait(hold, None)

    def run(self) -> None:
        """Schedule until :meth:`stop` is called, sleeping when there is nothing to do."""
        self._runs = True
        with self._driving, Hold() as hold:
            while True:
                # In this order: a stop() after the look at the flag also wakes this thread.
                self._woken.clear()
                if self._stopping.is_set():
                    break
                deadline = self.step()
                if deadline is None or deadline > self.core.clock():
                    self._wait(hold, deadline)
                elif hold.arrived:
                    hold.check()
            if not self._closed:
                self._stopping.clear()

    def stop(self) -> None:
        """Make :meth:`run` return after the present step; the next run, if none is under way. Any thread."""
        self._stopping.set()
        self._woken.set()

    def close(self) -> None:
        """Stop following the cluster, finish bindings under way, close plugins; safe to call twice.

        Waits for a :meth:`run` in another thread to return.
        """
        self.stop()
        with self._driving:
            if self._closed:
                return
            self._closed = True
            self.stop()
            core = self.core
            self._watching.close()
            write_delayed_nominations(core)
            core.executor.close()
            # What is still to be done, such as the status of a failed binding, is done in this thread.
            core.executor = InlineExecutor()
            core.inbox.drain()
            self._reloader.close()
            close_frameworks(core, core.frameworks.values())
            for extender in core.extenders:
                extender.close()
            self._socket_wait.close()
            core.queue.close()
            if core.observers.closed is not None:
                core.observers.closed()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- another configuration ---------------------------------------------------------------------------

    def reload(self, config: ConfigSource) -> EffectiveConfig:
        """Go on with *config* from the next cycle on; return it. Any thread.

        Plugins passed at the beginning are enabled in it as then. Attempts under way end with the former
        plugins; all other pods are tried with the new ones, in their order. Raises :class:`ConfigError`, and
        nothing changes, if it is refused, a plugin cannot be made or the feature gates are others. While
        another thread drives the scheduler, waits until its next cycle begins. A hook or callback that the
        scheduler runs cannot do that: it gets a :class:`PluginError`.
        """
        refuse_within_step(self)
        with self._reloader.counted():
            effective = load(config, self.registry, self._passed, self.core.feature_gates)
            self._reloader.reload(effective, self._driving if self._runs else None)
        return effective

    @property
    def config(self) -> EffectiveConfig:
        """The configuration in use."""
        return self._reloader.config

    @property
    def events(self) -> EventRecorder:
        """Records events for people: in series, a few for each object."""
        return self.core.events

    @property
    def rejections(self) -> KnownRejections | None:
        """Known rejections, by which pods wait together; for tools of this library, as ``core``."""
        return self._reloader.rejections

    # ---- one pod -----------------------------------------------------------------------------------------

    def _cycle(self, framework: Framework, info: QueuedPodInfo) -> Decision:
        """Find a node, then take it; or try to make room, then back to the queue."""
        core, pod, observed = self.core, info.pod, self._observed
        started = 0.0
        if observed is not None:
            if observed.begin_cycle is not None:
                observed.begin_cycle()
            started = perf_counter()
            if observed.attempt_began is not None:
                observed.attempt_began(framework.profile_name, info, started)
        decision = core.search.decide(framework, pod)
        attempt = Attempt(info, pod, framework, decision.state)
        if observed is not None:
            attempt.started, attempt.searched = started, perf_counter()
            if observed.decided is not None:
                observed.decided(framework.profile_name, info, decision)
        if core.extenders and decision.extenders and core.is_gone(pod):
            core.queue.done(info.uid)
            if attempt.started:
                end(core, attempt, GONE)
            return decision
        if decision.node_name is not None:
            attempt.node_name, attempt.idle = decision.node_name, decision.idle
            place(core, attempt)
        elif decision.diagnosis is not None:
            end_without_node(core, attempt, decision, self.rejections)
        else:
            assert decision.error is not None
            handle_failure(core, attempt, decision.error)
        if observed is not None and observed.cycle_ended is not None:
            observed.cycle_ended(attempt)
        return decision

    # ---- time --------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        """Return when something is due without any message: a backoff, a timeout, an expiry."""
        return self._due.next_deadline()

    def _wait(self, hold: Hold, deadline: float | None) -> None:
        self.core.inbox.wake_up = self._wake
        try:
            if not self.core.inbox:
                hold.wait(self._woken, None if deadline is None else deadline - self.core.clock())
        finally:
            self.core.inbox.wake_up = self._wake_up

    def _wake(self) -> None:
        if not self._woken.is_set():  # looking is cheaper than setting, and many messages come at once
            self._woken.set()
        if self._wake_up is not None:
            self._wake_up()

    def _waits_many(self) -> bool:
        """Return whether it takes milliseconds to find out why each of the pods that wait together waits."""
        return sum([len(cohort.lines) for cohort in self.core.queue.cohorts()]) > 64

    def refresh_conditions(self, *, rarely: bool = False) -> None:
        """Write conditions of pods that were not tried, where they changed; *rarely*: once a second."""
        if self.rejections is not None:
            self.rejections.refresh_reports(self.core.now, rarely=rarely)
        if self.groups is not None:
            self.groups.refresh_conditions(rarely=rarely)

    # ---- looking -----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        core = self.core
        nodes, pending = core.cache.table.num_nodes, len(core.pending)
        return brief_of(self, profiles=list(core.frameworks), nodes=nodes, pending=pending)

    def binds_under_way(self) -> int:
        """Return the number of attempts that are being bound: their pods wait for nothing but the cluster."""
        core = self.core
        return len(core.binding) - len(core.waiting) - len(core.paused)

    @held
    def pending(self) -> PendingPods:
        """Return the pods that wait, with where, why and until when: a sequence that prints as a table."""
        try:
            self.core.begin_turn()
            self.refresh_conditions()
            self.core.inbox.drain()
            return pending_pods(self.core)
        finally:
            self.core.end_turn()
