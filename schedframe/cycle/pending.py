"""Waits of all pending pods in one call: as values, a dictionary, a text, a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from attrs import evolve
from typing_extensions import override

from .._base.brief import brief_of
from .._base.tables import SHOWN, Table, Tabular
from .._base.value import record
from ..api import POD_SCHEDULED, Pod
from ..queue import PendingPod, Pool
from .binding.attempt import Attempt
from .binding.progress import progress_of
from .core import Core

RESTS = "rests, because its last attempt took long; "
"""Before the message of a pod that waits longer than others."""
COLUMNS = ("pod", "pool", "attempts", "waits for", "wakes in", "why")


@record(frozen=True, eq=False)
class PendingPods(Tabular, Sequence[PendingPod]):
    """All pods that wait, pool by pool; a sequence of :class:`PendingPod`.

    ``str()`` is a table of plain text, rich and notebooks show a table, ``to_dict()`` gives plain types,
    ``to_dataframe()`` a data frame.
    """

    pods: tuple[PendingPod, ...]
    now: float
    """Seconds of the scheduler's clock, which the times of the pods refer to."""
    messages: Mapping[str, str]
    """Pod key → what it waits for in permit or binding, or before its attempt if the view of the cluster is
    stale; else what its condition says of the last attempt."""

    @overload
    def __getitem__(self, index: int) -> PendingPod: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PendingPod]: ...
    @override
    def __getitem__(self, index: int | slice) -> PendingPod | Sequence[PendingPod]:
        return self.pods[index]

    @override
    def __len__(self) -> int:
        return len(self.pods)

    @override
    def __repr__(self) -> str:
        return brief_of(self, len=len(self.pods))

    @override
    def __iter__(self) -> Iterator[PendingPod]:
        return iter(self.pods)

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Pool → pods in plain types; seconds from now for times, ``None`` where nothing is due by itself."""
        found: dict[str, list[dict[str, Any]]] = {}
        for pod in self.pods:
            found.setdefault(str(pod.pool), []).append(
                {
                    "pod": pod.key,
                    "uid": pod.uid,
                    "attempts": pod.attempts,
                    "rejected_by": list(pod.unschedulable_plugins),
                    "gated_by": pod.gating_plugin or None,
                    "since_s": round(self.now - pod.since, 3),
                    "wakes_in_s": None if pod.wake_at is None else round(max(0.0, pod.wake_at - self.now), 3),
                    "message": self.messages.get(pod.key, ""),
                }
            )
        return found

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row of text a pod, under :data:`COLUMNS`."""
        return [
            (
                pod.key,
                str(pod.pool),
                str(pod.attempts),
                pod.gating_plugin or ", ".join(pod.unschedulable_plugins),
                "" if pod.wake_at is None else f"{max(0.0, pod.wake_at - self.now):.1f} s",
                self.messages.get(pod.key, ""),
            )
            for pod in self.pods
        ]

    @override
    def _table(self) -> Table:
        columns = {
            "pod": str,
            "uid": str,
            "pool": str,
            "attempts": int,
            "rejected_by": list,
            "gated_by": str,
            "since_s": float,
            "wakes_in_s": float,
            "message": str,
        }
        pools = self.to_dict().items()
        documents = ({"pool": pool, **document} for pool, documents in pools for document in documents)
        return Table(columns, [tuple(document[name] for name in columns) for document in documents])

    @override
    def _texts(self) -> tuple[Sequence[str], Iterable[Sequence[str]], int]:
        return COLUMNS, evolve(self, pods=self.pods[:SHOWN]).rows(), len(self.pods)


def pending_pods(core: Core) -> PendingPods:
    """Return the pods of the queue, and those that are bound off the core; O(pods)."""
    waiting = core.queue.pending()
    queued = {pod.uid for pod in waiting}
    waiting += [_bound_off_core(attempt) for uid, attempt in core.binding.items() if uid not in queued]
    messages = {pod.key: _message(core.pending[pod.key]) for pod in waiting if pod.key in core.pending}
    if core.view.holds and (held := core.view.description()):
        messages |= {pod.key: held for pod in waiting if pod.pool is Pool.ACTIVE}
    messages |= {pod.key: RESTS + messages.get(pod.key, "") for pod in waiting if pod.rests}
    for position, pod in enumerate(waiting):
        progress = progress_of(core, pod.uid) if pod.pool is Pool.IN_FLIGHT else None
        if progress is not None:
            messages[pod.key] = progress.message
            waiting[position] = evolve(pod, wake_at=progress.wake_at)
    return PendingPods(tuple(waiting), core.clock(), messages)


def _bound_off_core(attempt: Attempt) -> PendingPod:
    """Return a pod whose binding has begun, which the queue has forgotten."""
    info, pod = attempt.info, attempt.pod
    return PendingPod(pod.key, pod.uid, Pool.IN_FLIGHT, info.attempts, (), "", info.timestamp, None)


def _message(pod: Pod) -> str:
    conditions = (c for c in pod.status.conditions if c.type == POD_SCHEDULED and c.status == "False")
    return next((condition.message for condition in conditions), "")
