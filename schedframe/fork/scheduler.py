"""The scheduler of a fork: no queue of its own lasts longer than one question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Unpack

from attrs import evolve
from typing_extensions import override

from ..api import Pod
from ..cluster import ClusterPort
from ..config import EffectiveConfig
from ..cycle import Scheduler
from ..cycle.build import build_core, queue_options
from ..cycle.core import Core
from ..cycle.options import SchedulerOptions, scheduler_options
from ..cycle.start import Start
from ..framework import Extender
from ..queue import QueueOptions


class SavingRandom(Random):
    """A generator that knows its state as long as it draws nothing: copying 625 numbers takes 10 us."""

    _state: Any = None

    @override
    def random(self) -> float:
        """Draw as :class:`random.Random` does."""
        self._state = None
        return Random.random(self)

    @override
    def getrandbits(self, k: int, /) -> int:
        """Draw as :class:`random.Random` does."""
        self._state = None
        return Random.getrandbits(self, k)

    @override
    def seed(self, a: Any = None, version: int = 2) -> None:
        """Begin again as :class:`random.Random` does."""
        self._state = None
        Random.seed(self, a, version)

    def saved(self) -> Any:
        """Return the state, for :meth:`set_back`; O(1) if nothing was drawn since it was last asked for."""
        if self._state is None:
            self._state = self.getstate()
        return self._state

    def set_back(self, state: Any) -> None:
        """Draw as when *state* was saved; O(1) if nothing was drawn since."""
        if self._state is not state:
            self.setstate(state)
            self._state = state


class ForkScheduler(Scheduler):
    """A scheduler in a fork. It is asked, so it does not follow time: backoffs do not pass.

    Each question puts the pods that it is about into an empty queue, in order, and that queue is of no use
    to the next question.
    """

    def __init__(
        self, cluster: ClusterPort, config: Any, start: Start, **options: Unpack[SchedulerOptions]
    ) -> None:
        self._start = start
        # Reports show the attempts of each pod, and why each one failed.
        options["tuning"] = evolve(scheduler_options(options)["tuning"], wait_together=False)
        Scheduler.__init__(self, cluster, config, **options)
        self.queue_options: QueueOptions = queue_options(
            self.core, self.config, self.core.frameworks, _others(self.core.extenders)
        )
        self.core.binders = ()  # a fork binds nothing outside of itself

    @override
    def _build(self, cluster: ClusterPort, config: EffectiveConfig, options: SchedulerOptions) -> Core:
        return build_core(cluster, config, self.registry, options, self._start)

    def ask_about(self, pods: Iterable[Pod]) -> None:
        """Let *pods*, which are pending, be all that waits in the queue, in this order. O(n log n)."""
        queue = self.core.queue
        queue.begin_again(self.queue_options)
        for pod in pods:
            queue.add(pod)

    @contextmanager
    def without_preemption(self) -> Iterator[None]:
        """Context in which no pod makes room for itself: post_filter plugins are left out."""
        plans = [framework.plan for framework in self.core.frameworks.values()]
        kept = [(plan.post_filter, plan.post_filter_group) for plan in plans]
        try:
            for plan in plans:
                plan.post_filter = plan.post_filter_group = ()
            yield
        finally:
            for plan, (of_pods, of_groups) in zip(plans, kept, strict=True):
                plan.post_filter, plan.post_filter_group = of_pods, of_groups


def _others(extenders: Iterable[Extender]) -> tuple[Extender, ...]:
    return tuple(extenders)
