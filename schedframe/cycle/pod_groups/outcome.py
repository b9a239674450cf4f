"""Outcome of one attempt for the members of a group, and for the group as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto

from attrs import field

from ..._base.value import record
from ...api import Pod
from ...framework import CycleState, Diagnosis, GroupPlacement, NominatingInfo, Status
from ...framework.placing import PlacementScores
from ...queue import QueuedPodInfo
from ..binding.attempt import Attempt
from ..binding.failure import Rejection
from ..search.decision import Decision

UNSCHEDULABLE_TEXT = "pod group is unschedulable"
WAITING_TEXT = f"{UNSCHEDULABLE_TEXT}, pod group is waiting for preemption to complete"


class MemberResult(Enum):
    """The result of one member on trial."""

    FITS = auto()
    NEEDS_PREEMPTION = auto()
    """It fits on a node from which post_filter chose to evict pods."""
    REJECTED = auto()
    FAILED = auto()
    """An error, which ends the attempt of the group."""


class GroupResult(Enum):
    """The result of a group."""

    SCHEDULED = auto()
    """It can run: the members that fit are placed."""
    WAITING = auto()
    """It can run once the victims of its members are gone."""
    UNSCHEDULABLE = auto()
    FAILED = auto()

    @property
    def label(self) -> str:
        """The result as metrics name it."""
        return _LABELS[self]


_LABELS = {
    GroupResult.SCHEDULED: "scheduled",
    GroupResult.WAITING: "waiting_on_preemption",
    GroupResult.UNSCHEDULABLE: "unschedulable",
    GroupResult.FAILED: "error",
}


@record(eq=False)
class MemberOutcome:
    """One member on trial."""

    info: QueuedPodInfo
    attempt: Attempt
    result: MemberResult
    decision: Decision
    node_name: str = ""
    """Where it fits, or would fit after preemption."""
    status: Status | None = None
    """Why it was rejected, or failed; ``None`` if ``diagnosis`` says it."""
    diagnosis: Diagnosis | Rejection | None = None
    nominating: NominatingInfo | None = None
    permitted: bool = False
    """Whether permit lets it go at once."""
    waits_for: str = ""
    """Why permit makes it wait."""

    @property
    def pod(self) -> Pod:
        """The member."""
        return self.attempt.pod

    def rejection(self) -> Rejection | None:
        """Return why no node is feasible for it, and keep no more of that; ``None`` if some node was."""
        if isinstance(self.diagnosis, Diagnosis):
            self.diagnosis = Rejection.of(self.diagnosis)
        return self.diagnosis


@record(eq=False)
class GroupOutcome:
    """One attempt to place a group in one placement, or its end before any member was tried."""

    result: GroupResult
    message: str = UNSCHEDULABLE_TEXT
    """For a group that is not scheduled."""
    members: list[MemberOutcome] = field(factory=list)
    """Those that were tried, in order."""
    placement: GroupPlacement | None = None
    evictions: list[Callable[[], object]] = field(factory=list)
    """To be begun if the group waits for preemption."""
    state: CycleState = field(factory=CycleState)
    """Of members that were not tried."""
    placements: Sequence[GroupPlacement] = ()
    """All that were generated."""
    fitting: dict[str, tuple[str, ...]] = field(factory=dict)
    """GroupPlacement → keys of the members that found a node in it; without the names of an untried one."""
    feasible: Sequence[str] = ()
    """The placements in which the group can run."""
    nominations: Mapping[str, str] = {}
    """By uid: where members are to go once the pods are gone that are evicted for the group as a whole."""
    scores: PlacementScores | None = None
    """Of the feasible placements, if there are several."""

    @property
    def is_feasible(self) -> bool:
        """Return whether the group can run, at once or after preemption."""
        return self.result in (GroupResult.SCHEDULED, GroupResult.WAITING)

    def placed(self) -> tuple[Pod, ...]:
        """Return the members that found a node, each with it."""
        return tuple([each.pod.with_node_name(each.node_name) for each in self.members if each.node_name])
