"""The pools and hints of a queue that counts, made only for queues with metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any, Final

from attrs import evolve, field
from typing_extensions import override

from .._plugin_faults import plugin_faults
from .._value import record
from ..api import Pod
from .cohort import size_of
from .events import UNSCHEDULABLE_POD_ADD, ClusterEvent, HintFn
from .hints import FaultFn, HintPlan, HintTable, QueueProfile
from .pools import SCHEDULE_ATTEMPT_FAILURE, Pools
from .queued_pod import Pool, QueuedPodInfo

HintTimer = Callable[[str, str, str], Callable[[float], None]]
"""``timer(plugin, event, answer)`` returns what takes the seconds of each such call."""
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


@record(eq=False)
class QueueCounts:
    """What a queue counts."""

    hint_timer: HintTimer
    incoming: Counter[tuple[str, str]] = field(factory=Counter)
    """(queue, event) → pods that entered; without those of ``added`` and ``rejected``."""
    added: int = 0
    """Pods that entered the active pool as they arrived."""
    rejected: int = 0
    """Pods that began to wait after an attempt that failed."""

    def entered(self) -> Counter[tuple[str, str]]:
        """Return (queue, event) → pods that entered so far. Any thread."""
        more = {
            ("active", _ADDED): self.added,
            ("unschedulable", SCHEDULE_ATTEMPT_FAILURE): self.rejected,
        }
        return Counter(dict(list(self.incoming.items()))) + Counter(more)


class CountingPools(Pools):
    """Counts which pods enter, and why; pods that arrive are left out. Made by :func:`counting`."""

    def __init__(self, counts: QueueCounts, *parts: Any, **order: Any) -> None:
        super().__init__(*parts, **order)
        self.counted, self.incoming = counts, counts.incoming
        # Looked up once: super() for each pod takes as long as the rest of the counting.
        self._wait_rejected, self._enter = super().wait_rejected, super().enter_active
        self._back_off = super()._enter_backoff

    def _count(self, info: QueuedPodInfo, before: Pool | None, cause: str) -> None:
        pool = info.pool
        if pool is not None and (before is None or _QUEUE_OF[pool] != _QUEUE_OF.get(before)):
            self.incoming[_QUEUE_OF[pool], cause] += 1 if info.cohort is None else size_of(info)

    @override
    def enter_active(self, info: QueuedPodInfo, cause: str, now: float, *, admitted: bool = False) -> bool:
        before = info.pool
        entered = self._enter(info, cause, now, admitted=admitted)
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
        entered = self._back_off(info, cause, now, held)
        self._count(info, before, cause)
        return entered

    @override
    def wait_rejected(self, info: QueuedPodInfo, now: float) -> None:
        before = info.pool
        self._wait_rejected(info, now)
        if before is None:  # as mostly: it was popped
            self.counted.rejected += 1 if info.cohort is None else size_of(info)
        else:
            self._count(info, before, SCHEDULE_ATTEMPT_FAILURE)

    @override
    def _pop_early(self) -> QueuedPodInfo | None:
        info = super()._pop_early()
        if info is not None:
            self.incoming["active", _POP_FROM_BACKOFF] += 1
        return info


def counting(base: type[Pools], counts: QueueCounts) -> Callable[..., Pools]:
    """Return what makes pools of class *base* that count in *counts*; takes the arguments of *base*."""
    made = type(f"Counting{base.__name__}", (CountingPools, base), {"arrive": base.arrive})
    return partial(made, counts)


class TimingHints(HintTable):
    """Hints that are timed."""

    __slots__ = ("_timer",)

    def __init__(
        self, profiles: Mapping[str, QueueProfile], on_fault: FaultFn, hint_timer: HintTimer
    ) -> None:
        super().__init__(profiles, on_fault)
        self._timer = hint_timer

    @override
    def _make_plan(
        self, event: ClusterEvent, profile: str, unschedulable: frozenset[str], pending: frozenset[str]
    ) -> HintPlan:
        plan = super()._make_plan(event, profile, unschedulable, pending)
        entries = []
        for plugin, hint, strategy in plan.entries:
            timer = partial(self._timer, plugin, event.label)
            entries.append((plugin, None if hint is None else _timed(hint, timer), strategy))
        return evolve(plan, entries=tuple(entries))


def _timed(hint: HintFn, timer: Callable[[str], Callable[[float], None]]) -> HintFn:
    """Return *hint*, timed; ``timer(answer)`` returns what takes the seconds."""
    queued = skipped = None

    def timed(pod: Pod, old: Any, new: Any) -> Any:
        nonlocal queued, skipped
        start = perf_counter()
        try:
            answer = hint(pod, old, new)
        except plugin_faults():
            timer("Error")(perf_counter() - start)
            raise
        seconds = perf_counter() - start
        if answer:
            queued = queued or timer("Queue")
            queued(seconds)
        else:
            skipped = skipped or timer("QueueSkip")
            skipped(seconds)
        return answer

    return timed
