"""Choose the placement of a group: try each of them, then take the one with the highest score."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from attrs import define

from ...framework import CycleState, Framework, GroupPlacement, PodGroupInfo, Status
from ...framework.placing import PlacedGroup, generate_placements, score_placements
from ...queue import QueuedPodInfo
from ..core import Core
from ..search.decision import Decision
from .outcome import UNSCHEDULABLE_TEXT, GroupOutcome, GroupResult, MemberResult
from .trial import Trial

NO_PLACEMENTS = "no feasible placements found"


@define(eq=False)
class PlacementChoice:
    """The placement algorithm of one profile, behind the feature gate TopologyAwareWorkloadScheduling."""

    core: Core
    framework: Framework
    record: Callable[[QueuedPodInfo, Decision], None] | None = None

    def run(
        self, group: PodGroupInfo, infos: Sequence[QueuedPodInfo], *, preempts: bool = True
    ) -> GroupOutcome:
        """Return the attempt in the best placement, or in the first one if the group can run in none.

        All placements are tried, in a random order. O(placements × members) searches.
        """
        state, table = CycleState(), self.core.cache.table
        placements = generate_placements(self.framework.plan, state, group, table.rows())
        if isinstance(placements, Status):
            result = GroupResult.UNSCHEDULABLE if placements.is_rejected else GroupResult.FAILED
            return GroupOutcome(result, placements.message)
        if not placements:
            return GroupOutcome(GroupResult.UNSCHEDULABLE, NO_PLACEMENTS)
        order = list(placements)
        if len(order) > 1:
            self.core.rng.shuffle(order)
        tried: list[GroupOutcome] = []
        for placement in order:
            outcome = self._try(group, infos, placement, preempts=preempts)
            if outcome.result is GroupResult.FAILED:
                return outcome
            tried.append(outcome)
        feasible = [outcome for outcome in tried if outcome.is_feasible]
        chosen = self._best(state, group, feasible) if feasible else self._none(tried)
        chosen.placements = placements
        chosen.fitting = {_name(each): _fitting(each) for each in tried}
        chosen.feasible = [_name(each) for each in feasible]
        return chosen

    def _try(
        self,
        group: PodGroupInfo,
        infos: Sequence[QueuedPodInfo],
        placement: GroupPlacement,
        *,
        preempts: bool,
    ) -> GroupOutcome:
        everywhere = len(placement.rows) == self.core.cache.table.num_nodes
        trial = Trial(
            self.core, self.framework, group, None if everywhere else placement, preempts, self.record
        )
        outcome = trial.run(infos)
        outcome.placement = placement
        return outcome

    def _none(self, tried: Sequence[GroupOutcome]) -> GroupOutcome:
        """Return the attempt in the placement that happened to be first, with the message of all."""
        first = tried[0]
        status = first.message or UNSCHEDULABLE_TEXT
        first.message = f"0/{len(tried)} placements are available, first placement status: {status}"
        return first

    def _best(self, state: CycleState, group: PodGroupInfo, feasible: Sequence[GroupOutcome]) -> GroupOutcome:
        if len(feasible) == 1:
            return feasible[0]
        candidates = []
        for outcome in feasible:
            assert outcome.placement is not None
            candidates.append(PlacedGroup(outcome.placement, outcome.placed()))
        scores = score_placements(self.framework.plan, state, group, candidates)
        if isinstance(scores, Status):
            return GroupOutcome(GroupResult.FAILED, scores.message)
        best = np.flatnonzero(np.array(scores.total) == max(scores.total)).tolist()
        chosen = feasible[best[0] if len(best) == 1 else self.core.rng.choice(best)]
        chosen.scores = scores
        return chosen


def _name(outcome: GroupOutcome) -> str:
    assert outcome.placement is not None
    return outcome.placement.name


def _fitting(outcome: GroupOutcome) -> tuple[str, ...]:
    return tuple(sorted(each.pod.key for each in outcome.members if each.result is MemberResult.FITS))
