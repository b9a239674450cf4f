"""Counts of a queue and its hints, made only for queues with metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any, Final

from attrs import evolve, field
from typing_extensions import override

from .._base.plugin_faults import plugin_faults
from .._base.value import record
from ..api import Pod
from .events import ClusterEvent, HintFn
from .hints import FaultFn, HintPlan, HintTable, QueueProfile
from .queued_pod import Pool, QueuedPodInfo
from .together.cohort import size_of

HintTimer = Callable[[str, str, str], Callable[[float], None]]
"""``timer(plugin, event, answer)`` returns what takes the seconds of each such call."""
_POP_FROM_BACKOFF: Final = "PopFromBackoffQ"
ACTIVE: Final = "active"
BACKOFF: Final = "backoff"
UNSCHEDULABLE: Final = "unschedulable"
_QUEUE_OF: Final = {
    Pool.ACTIVE: ACTIVE,
    Pool.BACKOFF: BACKOFF,
    Pool.ERROR_BACKOFF: BACKOFF,
    Pool.UNSCHEDULABLE: UNSCHEDULABLE,
    Pool.GATED: UNSCHEDULABLE,
}
"""Pool → queue as kube-scheduler counts it."""


@record(eq=False)
class QueueCounts:
    """Counts of a queue."""

    hint_timer: HintTimer
    incoming: Counter[tuple[str, str]] = field(factory=Counter)
    """(queue, event) → pods that entered."""

    def entered(self, queue: str, info: QueuedPodInfo, before: Pool | None, cause: str) -> None:
        """Count *info*, and the pods that wait with it, unless the pool *before* is of the same queue."""
        if before is None or queue != _QUEUE_OF.get(before):
            self.incoming[queue, cause] += 1 if info.cohort is None else size_of(info)

    def popped_early(self, number: int) -> None:
        """Count pods that were taken from the backoff queue because no pod was active."""
        self.incoming[ACTIVE, _POP_FROM_BACKOFF] += number

    def so_far(self) -> dict[tuple[str, str], int]:
        """Return (queue, event) → pods that entered so far. Any thread."""
        return dict(self.incoming)


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
