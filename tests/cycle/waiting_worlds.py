"""Two schedulers under the same events: in one equal pods wait together, in the other each one is tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, evolve, field

from schedframe import InMemoryCluster, Pod, PodSpec, Scheduler, VirtualClock
from schedframe.api import POD_SCHEDULED
from schedframe.cycle import Tuning
from schedframe.cycle.search.decision import Decision
from schedframe.queue import Pool
from tests.configurations import configuration

MAX_STEPS = 10_000

CONFIG: dict[str, Any] = configuration({"schedulerName": "default-scheduler"}, {"schedulerName": "other"})


@define(eq=False)
class Side:
    """A scheduler with a cluster and a clock of its own."""

    together: bool
    config: Any
    clock: VirtualClock = field(init=False)
    cluster: InMemoryCluster = field(init=False)
    scheduler: Scheduler = field(init=False)
    tried: list[tuple[str, str | None]] = field(factory=list)
    """Attempts since the last look: pod, and its node."""
    last: Decision | None = None
    _specs: dict[int, tuple[PodSpec, PodSpec]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = InMemoryCluster(clock=self.clock)
        self.scheduler = Scheduler(
            self.cluster, self.config, clock=self.clock, seed=7, tuning=Tuning(wait_together=self.together)
        )
        if self.scheduler.rejections is not None:
            self.scheduler.rejections._rejected.spare = 2  # so that classes are often found to be of no use

    def own(self, obj: Any) -> Any:
        """Return *obj* with a spec of this side: what is known of pods is kept on their specs."""
        if not isinstance(obj, Pod):
            return obj
        _, spec = self._specs.setdefault(id(obj.spec), (obj.spec, evolve(obj.spec)))
        return evolve(obj, spec=spec)

    def step(self) -> Decision | None:
        decision = self.scheduler.schedule_one()
        if decision is not None:
            self.last = decision
            self.tried.append((decision.pod.key, decision.node_name))
        return decision

    def waiting(self) -> dict[str, Any]:
        """All that the queue says of each pod, and the order of the pools that have one."""
        queue = self.scheduler.core.queue
        queue.check_invariants()
        if self.scheduler.rejections is not None:
            self.scheduler.rejections._rejected.check_invariants()
        self.check_classes()
        found: dict[str, Any] = {
            pod.key: (
                pod.pool,
                pod.attempts,
                pod.unschedulable_plugins,
                pod.gating_plugin,
                pod.since,
                pod.wake_at,
            )
            for pod in queue.pending()
        }
        for pool in (Pool.ACTIVE, Pool.BACKOFF):
            found[pool] = [info.key for info in queue.in_pool(pool)]
        found["cycles"] = queue.scheduling_cycle
        found["counts"] = queue.counts()
        return found

    def check_classes(self) -> None:
        """Pods in one line have equal specs and metadata."""
        for cohort in self.scheduler.core.queue.cohorts():
            for line in cohort.lines.values():
                one, *others = [member.pod for member in line]
                for other in others:
                    assert (one.spec, one.namespace) == (other.spec, other.namespace)
                    assert (one.labels, one.metadata.annotations) == (
                        other.labels,
                        other.metadata.annotations,
                    )

    def placed(self) -> dict[str, str]:
        return {pod.key: pod.node_name for pod in self.cluster.list("Pod") if pod.node_name}

    def reasons(self) -> dict[str, str]:
        """The condition of each pod, without numbers: these may be those of a later attempt."""
        found = {}
        for pod in self.cluster.list("Pod"):
            condition = pod.status.condition(POD_SCHEDULED)
            if condition is not None:
                found[pod.key] = (
                    f"{condition.status} {condition.reason} {re.sub('[0-9]+', 'N', condition.message)}"
                )
        return found


@define(eq=False)
class Pair:
    """Both sides. All that happens happens to both."""

    config: Any = field(factory=lambda: CONFIG)
    together: Side = field(init=False)
    alone: Side = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.together, self.alone = Side(True, self.config), Side(False, self.config)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.together, self.alone

    def apply(self, change: Callable[[InMemoryCluster], Any]) -> None:
        for side in self.sides:
            change(side.cluster)

    def create(self, objects: Iterable[Any]) -> None:
        for obj in objects:
            for side in self.sides:
                side.cluster.create(side.own(obj))

    def advance(self, seconds: float) -> None:
        for side in self.sides:
            side.clock.advance(seconds)

    def run(self, steps: int | None = None) -> None:
        """Let one side make that many attempts, ``None``: all; the other one those and the known ones."""
        for side in self.sides:
            side.tried.clear()
        made, is_done = 0, False
        while not is_done and (steps is None or made < steps):
            is_done = self.together.step() is None
            made += 1
            assert made < MAX_STEPS
        for wanted in list(self.together.tried):
            while self.alone.step() is not None:
                if self.alone.tried[-1] == wanted:
                    break
                assert self.alone.tried[-1][1] is None, (wanted, self.alone.tried)
            else:
                raise AssertionError(f"{wanted} was never tried: {self.alone.tried}")
        if is_done:
            while self.alone.step() is not None:
                assert self.alone.tried[-1][1] is None, self.alone.tried
                assert len(self.alone.tried) < MAX_STEPS
        if steps is None:
            for side in self.sides:
                side.scheduler.run_until_idle()
        self.compare(at_rest=steps is None)

    def compare(self, *, at_rest: bool) -> None:
        one, other = self.together, self.alone
        assert one.placed() == other.placed()
        assert one.waiting() == other.waiting()
        if at_rest:
            assert one.reasons().keys() == other.reasons().keys()
        assert one.scheduler.core.rng.getstate() == other.scheduler.core.rng.getstate()

    def pods(self) -> list[Pod]:
        return self.together.cluster.list("Pod")

    def close(self) -> None:
        for side in self.sides:
            side.scheduler.close()
