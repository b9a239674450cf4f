"""Differences between a fork and its origin: as a value with a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from attrs import field
from typing_extensions import override

from .._base.brief import brief_of
from .._base.tables import Table, Tabular
from .._base.value import record
from ..api import ClusterObject, Pod
from .placements import Placement


class Outcome(StrEnum):
    """Fate of a pod."""

    PLACED = "placed"
    """It has a node, and had none."""
    MOVED = "moved"
    """It has another node than before."""
    REMOVED = "removed"
    """It is gone."""
    PENDING = "pending"
    """It has no node."""


@record(frozen=True)
class PodChange:
    """One pod that is not as it was, or that is pending. ``str()`` is one line."""

    pod: Pod
    """As it is now; as it was, if it is gone."""
    outcome: Outcome
    before: str
    """The node that it had; empty if it had none, or was not there."""
    now: str
    """The node that it has; empty if it has none."""
    why: str = ""
    """Why it is pending."""

    @override
    def __str__(self) -> str:
        key, before, now = self.pod.key, self.before, self.now
        match self.outcome:
            case Outcome.PLACED:
                return f"{key} on {now}"
            case Outcome.MOVED:
                return f"{key} moves from {before} to {now}"
            case Outcome.REMOVED:
                return f"{key} is removed from {before}" if before else f"{key} is removed"
        lost = f", after {before}" if before else ""
        return f"{key} pending{lost}: {self.why}"


@record(frozen=True, eq=False)
class ObjectChange:
    """An object of any kind that is not as it was; ``None``: it was not there, or is gone."""

    before: ClusterObject | None
    now: ClusterObject | None


@record(frozen=True, eq=False, repr=False)
class Diff(Tabular):
    """The pods that were placed, moved or removed, those that are pending, and all changed objects.

    ``str()``, rich and notebooks show a table; ``to_dataframe()`` returns a data frame.
    """

    pods: tuple[PodChange, ...]
    """In the order of the changes; those that were pending before come last."""
    objects: Mapping[tuple[str, str], ObjectChange] = field(factory=dict)
    """Kind and key → the change, of all objects, pods included."""

    def of(self, outcome: Outcome) -> tuple[PodChange, ...]:
        """Return the pods with that outcome."""
        return tuple([each for each in self.pods if each.outcome is outcome])

    @property
    def placed(self) -> tuple[PodChange, ...]:
        """The pods that got a node."""
        return self.of(Outcome.PLACED)

    @property
    def moved(self) -> tuple[PodChange, ...]:
        """The pods that have another node than before."""
        return self.of(Outcome.MOVED)

    @property
    def removed(self) -> tuple[PodChange, ...]:
        """The pods that are gone."""
        return self.of(Outcome.REMOVED)

    @property
    def pending(self) -> tuple[PodChange, ...]:
        """The pods without a node, with the reason of each."""
        return self.of(Outcome.PENDING)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes that came, went or changed, sorted."""
        return tuple(sorted(key for kind, key in self.objects if kind == "Node"))

    def __bool__(self) -> bool:
        """Return whether anything changed."""
        return bool(self.objects)

    @override
    def __repr__(self) -> str:
        counts = {str(each): len(self.of(each)) for each in Outcome}
        return brief_of(self, **counts, objects=len(self.objects))

    @override
    def _table(self) -> Table:
        rows = [
            (each.pod.namespace, each.pod.name, str(each.outcome), each.before, each.now, each.why)
            for each in self.pods
        ]
        columns = ("namespace", "pod", "outcome", "before", "now", "why")
        return Table(dict.fromkeys(columns, str), list(rows))


def diff_of(changes: Mapping[tuple[str, str], ObjectChange], pending: Iterable[Placement]) -> Diff:
    """Return the diff of *changes*; *pending* are all pods without a node, with the reason of each."""
    waiting = {each.pod.key: each for each in pending}
    pods = []
    for (kind, key), change in changes.items():
        if kind != Pod.KIND:
            continue
        before, now = change.before, change.now
        assert isinstance(before, Pod | None)
        assert isinstance(now, Pod | None)
        found = _pod_change(before, now, waiting.pop(key, None))
        if found is not None:
            pods.append(found)
    pods += [PodChange(each.pod, Outcome.PENDING, "", "", each.message) for each in waiting.values()]
    return Diff(tuple(pods), changes)


def _pod_change(before: Pod | None, now: Pod | None, waits: Placement | None) -> PodChange | None:
    had = "" if before is None else before.node_name
    if now is None:
        return None if before is None else PodChange(before, Outcome.REMOVED, had, "")
    if waits is not None:
        return PodChange(now, Outcome.PENDING, had, "", waits.message)
    if not now.node_name or now.node_name == had:
        return None
    return PodChange(now, Outcome.MOVED if had else Outcome.PLACED, had, now.node_name)
