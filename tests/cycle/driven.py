"""What every state machine of a whole scheduler can do: events, steps, jobs and time in any order."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from schedframe import InMemoryCluster
from schedframe.cluster import FlakyWatch
from schedframe.cycle.core import Core
from schedframe.errors import CacheFault, VerificationError

from .build import World
from .executors import ManualExecutor
from .invariants import come_to_rest

SECONDS = (0.5, 1.0, 4.0, 11.0, 61.0, 301.0)

places = st.integers(0, 7)
steps = st.integers(0, 2)
"""How many steps of the scheduler follow, with all events delivered; 0 leaves everything as it is."""


class DrivenMachine(RuleBasedStateMachine):
    """A world behind a flaky watch, whose executor runs tasks when a rule says so."""

    gatekeeper: ClassVar[str]
    """The plugin at permit, whose waiting pods rules allow or reject."""
    world: World
    cluster: InMemoryCluster
    core: Core
    executor: ManualExecutor
    watch: FlakyWatch

    @invariant()
    def the_cache_changes_no_decision(self) -> None:
        """Every pod is decided by the full search, too."""
        faults = [
            str(status.error)
            for status, _ in self.world.faults
            if isinstance(status.error, CacheFault | VerificationError)
        ]
        assert not faults

    # ---- the watch ----

    @rule(place=places, what=st.sampled_from(("drop", "duplicate", "shuffle", "deliver")))
    @precondition(lambda self: self.watch.pending)
    def disturb_watch(self, place: int, what: str) -> None:
        """An event is lost, or comes twice; events of different kinds overtake each other; some arrive."""
        index = place % len(self.watch.pending)
        if what == "drop":
            self.watch.drop(index)
        elif what == "duplicate":
            self.watch.duplicate(index)
        elif what == "shuffle":
            self.watch.shuffle(Random(place))
        else:
            self.watch.deliver(index + 1)

    @rule(resync=st.booleans(), go=steps)
    def relist(self, resync: bool, go: int) -> None:
        """The watcher lost its connection and lists again."""
        self.watch.relist(resync=resync)
        self._go(go)

    # ---- the scheduler and its executor ----

    @rule(deliver=st.booleans(), go=st.integers(1, 5))
    def step(self, deliver: bool, go: int) -> None:
        """Some steps of the loop."""
        if deliver:
            self.watch.deliver()
        for _ in range(go):
            self.world.scheduler.step()

    def _go(self, count: int) -> None:
        if count:
            self.step(deliver=True, go=count)

    @rule(place=places, what=st.sampled_from(("run", "tell", "complete", "all")), go=steps)
    @precondition(lambda self: bool(len(self.executor)))
    def do_job(self, place: int, what: str, go: int) -> None:
        """Work happens, or the news of it comes, or both."""
        executor = self.executor
        if what == "all":
            executor.finish_all()
        elif what == "tell" and executor.finished:
            executor.tell(place % len(executor.finished))
        elif executor.waiting:
            index = place % len(executor.waiting)
            executor.complete(index) if what == "complete" else executor.run(index)
        self._go(go)

    @rule(place=places, allow=st.booleans(), go=steps)
    @precondition(lambda self: bool(len(self.core.waiting)))
    def allow_or_reject(self, place: int, allow: bool, go: int) -> None:
        """A waiting pod is allowed or rejected."""
        waiting = list(self.core.waiting)
        pod = waiting[place % len(waiting)]
        pod.allow(self.gatekeeper) if allow else pod.reject(self.gatekeeper, "chosen to be")
        self._go(go)

    @rule(seconds=st.sampled_from((*SECONDS, None)), go=steps)
    def pass_time(self, seconds: float | None, go: int) -> None:
        """Time passes, maybe just until something is due."""
        deadline = self.world.scheduler.next_deadline()
        if seconds is not None:
            self.world.clock.advance(seconds)
        elif deadline is not None:
            self.world.clock.advance_to(deadline)
        self._go(go)

    def _remove(self, name: str) -> None:
        """Delete the pod of that name, if there is one, without its finalizers."""
        pod = self.world.find("Pod", f"default/{name}")
        if pod is not None:
            if pod.metadata.finalizers:
                pod = self.world.change_pod(name, finalizers=())
            if self.world.find("Pod", pod.key) is not None:
                self.cluster.delete(pod)

    def _come_to_rest(self) -> None:
        come_to_rest(self.world, self.executor, self.watch)
