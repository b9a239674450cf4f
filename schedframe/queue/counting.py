"""The pools and hints of a queue that counts, made only for queues with metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any, Final

from attrs import define, evolve, field
from typing_extensions import override

from .._brief import brief_repr
from .._plugin_faults import plugin_faults
from ..api import Pod
from .cohort import size_of
from .events import UNSCHEDULABLE_POD_ADD, ClusterEvent, HintFn
from .hints import FaultFn, HintPlan, HintTable, QueueProfile
from .pools import SCHEDULE_ATTEMPT_FAILURE, Pools
from .queued_pod import Pool, QueuedPodInfo

HintTimer = Callable[[str, str, str, float], None]
"""``timer(plugin, event, answer, seconds)``."""
_ADDED: Final = UNSCHEDULABLE_POD_ADD.label
_POP_FROM_BACKOFF: Final = "PopFromBackoffQ"
_QUEUE_OF = {
    Pool.ACTIVE: "active",
    Pool.BACKOFF: "backoff",
    Pool.ERROR_BACKOFF: "backoff",
    Pool.UNSCHEDULABLE: "unschedulable",
    Pool.GATED: "unschedulable",
}
"""Pool → queue as kube-scheduler counts it."""


@brief_repr
@define(eq=False)
class QueueCounts:
    """What a queue counts."""

    hint_ended: HintTimer
    """Called after each queueing hint."""
    incoming: Counter[tuple[str, str]] = field(factory=Counter)
    """(queue, event) → pods that entered; without those of ``added``."""
    added: int = 0
    """Pods that entered the active pool as they arrived."""

    def entered(self) -> Counter[tuple[str, str]]:
        """Return (queue, event) → pods that entered so far. Any thread."""
        return Counter(dict(list(self.incoming.items()))) + Counter({("active", _ADDED): self.added})


class CountingPools(Pools):
    """Counts which pods enter, and why; pods that arrive are left out. Made by :func:`counting`."""

    def __init__(self, incoming: Counter[tuple[str, str]], *parts: Any, **order: Any) -> None:
        super().__init__(*parts, **order)
        self.incoming = incoming

    def _count(self, info: QueuedPodInfo, before: Pool | None, cause: str) -> None:
        pool = info.pool
        if pool is not None and (before is None or _QUEUE_OF[pool] != _QUEUE_OF.get(before)):
            self.incoming[_QUEUE_OF[pool], cause] += size_of(info)

    @override
    def enter_active(self, info: QueuedPodInfo, cause: str, now: float, *, admitted: bool = False) -> bool:
        before = info.pool
        entered = super().enter_active(info, cause, now, admitted=admitted)
        if entered:
            self._count(info, before, cause)
        return entered

    @override
    def _hold(self, info: QueuedPodInfo, cause: str, now: float) -> None:
        before = info.pool
        super()._hold(info, cause, now)
        self._count(info, before, cause)

    @override
    def _enter_backoff(self, info: QueuedPodInfo, cause: str, now: float, held: bool) -> bool:
        before = info.pool
        entered = super()._enter_backoff(info, cause, now, held)
        self._count(info, before, cause)
        return entered

    @override
    def wait_rejected(self, info: QueuedPodInfo, now: float) -> None:
        before = info.pool
        super().wait_rejected(info, now)
        self._count(info, before, SCHEDULE_ATTEMPT_FAILURE)

    @override
    def _pop_early(self) -> QueuedPodInfo | None:
        info = super()._pop_early()
        if info is not None:
            self.incoming["active", _POP_FROM_BACKOFF] += 1
        return info


def counting(base: type[Pools], incoming: Counter[tuple[str, str]]) -> Callable[..., Pools]:
    """Return what makes pools of class *base* that count in *incoming*; takes the arguments of *base*."""
    made = type(f"Counting{base.__name__}", (CountingPools, base), {"arrive": base.arrive})
    return partial(made, incoming)


class TimingHints(HintTable):
    """Hints that are timed."""

    __slots__ = ("_ended",)

    def __init__(
        self, profiles: Mapping[str, QueueProfile], on_fault: FaultFn, hint_ended: HintTimer
    ) -> None:
        super().__init__(profiles, on_fault)
        self._ended = hint_ended

    @override
    def _make_plan(
        self, event: ClusterEvent, profile: str, unschedulable: frozenset[str], pending: frozenset[str]
    ) -> HintPlan:
        plan = super()._make_plan(event, profile, unschedulable, pending)
        entries = tuple(
            (plugin, None if hint is None else _timed(hint, plugin, event.label, self._ended), strategy)
            for plugin, hint, strategy in plan.entries
        )
        return evolve(plan, entries=entries)


def _timed(hint: HintFn, plugin: str, event: str, ended: HintTimer) -> HintFn:
    def timed(pod: Pod, old: Any, new: Any) -> Any:
        start = perf_counter()
        try:
            answer = hint(pod, old, new)
        except plugin_faults():
            ended(plugin, event, "Error", perf_counter() - start)
            raise
        ended(plugin, event, "Queue" if answer else "QueueSkip", perf_counter() - start)
        return answer

    return timed
