"""The last decisions of a running scheduler. Without a recorder, none are kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from attrs import field
from typing_extensions import override

from .._base.brief import brief_of
from .._base.checked import checked
from .._base.tables import Cell, Table, Tabular
from .._base.value import record
from ..cycle import Decision
from ..cycle.core import Core
from ..cycle.observer import SchedulerObserver
from ..cycle.outcomes import PassedOver
from ..errors import InputError
from ..queue import QueuedPodInfo
from ..simulate.evaluator import Evaluator
from .comparison import ScoreComparison, compare_scores


@record(frozen=True)
class RecordedDecision:
    """The decision of one scheduling cycle, before permit and binding."""

    at: float
    """Time of the decision, in seconds of the scheduler's clock."""
    pod: str
    uid: str
    attempt: int
    profile: str
    node: str | None
    """The chosen node, ``None`` if no node was feasible."""
    message: str
    """Why no node was feasible, without the result of preemption; or the fault that ended the cycle."""
    rejected_by: tuple[str, ...]
    feasible: int
    """Number of feasible nodes."""
    evaluated: int
    """Number of nodes that were filtered."""
    comparison: ScoreComparison | None = None
    """The chosen node against the runner-up, ``None`` if the recorder does not keep scores."""
    pods: int = 1
    """Pods that it stands for: more than one where equal pods wait together, of which ``pod`` is one."""

    def to_dict(self) -> dict[str, Any]:
        """Return the decision in plain types."""
        return {
            "at": self.at,
            "pod": self.pod,
            "uid": self.uid,
            "attempt": self.attempt,
            "profile": self.profile,
            "node": self.node,
            "message": self.message,
            "rejected_by": list(self.rejected_by),
            "feasible": self.feasible,
            "evaluated": self.evaluated,
            "comparison": self.comparison.to_dict() if self.comparison is not None else None,
            "pods": self.pods,
        }

    def __str__(self) -> str:
        where = f"on {self.node}, of {self.feasible} feasible" if self.node is not None else self.message
        why = f" ({self.comparison.reason})" if self.comparison is not None else ""
        if self.pods > 1:
            return f"{self.at:.3f} {self.pod} and {self.pods - 1} equal pods, not tried: {where}"
        return f"{self.at:.3f} {self.pod} attempt {self.attempt}: {where}{why}"


@checked
@record(eq=False)
class Recorder(Tabular, SchedulerObserver):
    """Keeps the last *capacity* decisions: ``Scheduler(cluster, observers=[Recorder()])``.

    A decision costs a few microseconds, and O(nodes) more for a pod without a node, whose reasons are
    counted. With ``scores``, each pod that gets a node is scored once more on all nodes: this costs far more
    than the decision itself, and says why that node won. Equal pods that wait together are one entry, unless
    *each_attempt* has each of them tried. Read it in the scheduler's thread, or while the
    scheduler is stopped: by iterating, as a table (printed, in notebooks), with :meth:`to_dict` and
    :meth:`to_dataframe`. Raises :class:`InputError` for a capacity below 1.
    """

    capacity: int = 1000
    scores: bool = False
    each_attempt: bool = False
    _kept: deque[RecordedDecision] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.capacity < 1:
            raise InputError("capacity", f"{self.capacity} decisions are none", "give a number from 1")
        self._kept = deque(maxlen=self.capacity)

    @override
    def attach(self, core: Core) -> SchedulerObserver:
        return _Recording(self, core)

    @checked
    def of(self, pod: str) -> tuple[RecordedDecision, ...]:
        """Return the decisions about the pod of that key, name or uid, oldest first; O(capacity)."""
        return tuple(each for each in self._kept if pod in (each.pod, each.uid, each.pod.partition("/")[2]))

    def clear(self) -> None:
        """Delete all decisions."""
        self._kept.clear()

    def __iter__(self) -> Iterator[RecordedDecision]:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return all decisions in plain types, oldest first."""
        return [each.to_dict() for each in self._kept]

    @override
    def __repr__(self) -> str:
        return brief_of(self, len=len(self), capacity=self.capacity)

    @override
    def _table(self) -> Table:
        columns = {
            "at": float,
            "pod": str,
            "attempt": int,
            "profile": str,
            "node": str,
            "feasible": int,
            "evaluated": int,
            "rejected_by": list,
            "message": str,
            "reason": str,
        }
        return Table(columns, [_row(each) for each in self._kept])


@record(eq=False)
class _Recording(SchedulerObserver):
    """Records the decisions of one scheduler."""

    recorder: Recorder
    core: Core
    each_attempt: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.each_attempt = self.recorder.each_attempt

    @override
    def decided(self, profile: str, info: QueuedPodInfo, decision: Decision) -> None:
        diagnosis, error, pod = decision.diagnosis, decision.error, info.pod
        message = ""
        if decision.node_name is None:
            message = diagnosis.message() if diagnosis is not None else error.message if error else ""
        rejected: set[str] = set()
        if diagnosis is not None:
            rejected = diagnosis.unschedulable_plugins | diagnosis.pending_plugins
        comparison = None
        if self.recorder.scores and decision.node_name is not None:
            comparison = compare_scores(Evaluator(self.core).evaluate(pod), decision.node_name)
        self.recorder._kept.append(
            RecordedDecision(
                self.core.clock(),
                pod.key,
                pod.uid,
                info.attempts,
                profile,
                decision.node_name,
                message,
                tuple(sorted(rejected)),
                len(decision.feasible) if decision.feasible is not None else 0,
                decision.evaluated,
                comparison,
            )
        )

    @override
    def passed_over(self, passed: PassedOver) -> None:
        at, nodes = self.core.clock(), self.core.cache.table.num_nodes
        reasons = passed.message, passed.rejected_by, 0, nodes
        self.recorder._kept.append(
            RecordedDecision(at, passed.pod, "", 0, passed.profile, None, *reasons, pods=passed.pods)
        )


def _row(each: RecordedDecision) -> tuple[Cell, ...]:
    return (
        each.at,
        each.pod,
        each.attempt,
        each.profile,
        each.node,
        each.feasible,
        each.evaluated,
        each.rejected_by,
        each.message,
        each.comparison.reason if each.comparison is not None else None,
    )
