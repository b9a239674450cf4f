"""Choose the placement of a group: try each of them, then take the one with the highest score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from attrs import field

from ..._base.value import record
from ...api import Pod
from ...framework import CycleState, Framework, GroupPlacement, PodGroupInfo, Status
from ...framework.declarations import declares
from ...framework.placing import PlacedGroup, PlacementScores, generate_placements, score_placements
from ...queue import QueuedPodInfo
from ..core import Core
from ..search.decision import Decision
from .listed_terms import ListedTerms
from .outcome import UNSCHEDULABLE_TEXT, GroupOutcome, GroupResult, MemberResult
from .trial import Trial

NO_PLACEMENTS = "no feasible placements found"


@record(eq=False)
class PlacementChoice:
    """The placement algorithm of one profile, behind the feature gate TopologyAwareWorkloadScheduling."""

    core: Core
    framework: Framework
    record: Callable[[QueuedPodInfo, Decision], None] | None = None
    terms: ListedTerms = field(kw_only=True)

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
            foreseen = self._foreseen(state, group, infos, order)
            if foreseen is not None:
                return foreseen
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
        among = None if everywhere else placement
        trial = Trial(self.core, self.framework, group, among, preempts, self.record, terms=self.terms)
        outcome = trial.run(infos)
        outcome.placement = placement
        return outcome

    def _foreseen(
        self,
        state: CycleState,
        group: PodGroupInfo,
        infos: Sequence[QueuedPodInfo],
        order: Sequence[GroupPlacement],
    ) -> GroupOutcome | None:
        """Choose with as few placements tried as possible; ``None`` if all have to be tried.

        Where each of several members that no plugin can tell apart has a feasible node of its own, all of
        them fit, in whatever order the nodes fill up. Of such placements only the best is tried.
        """
        codes = self._codes(infos)
        if codes is None:
            return None
        ample = [np.count_nonzero(each.rows.take(codes) == 0) >= len(infos) for each in order]
        if not any(ample):
            return None
        tried: dict[str, GroupOutcome] = {}
        for placement, is_ample in zip(order, ample, strict=True):
            if not is_ample:
                outcome = tried[placement.name] = self._try(group, infos, placement, preempts=True)
                if outcome.result is GroupResult.FAILED:
                    return outcome
        chosen = self._best_foreseen(state, group, infos, order, tried)
        if chosen is not None:
            all_members = tuple(sorted(info.key for info in infos))
            chosen.placements = tuple(sorted(order, key=attrgetter("name")))
            chosen.fitting = {
                each.name: _fitting(tried[each.name]) if each.name in tried else all_members for each in order
            }
        return chosen

    def _best_foreseen(
        self,
        state: CycleState,
        group: PodGroupInfo,
        infos: Sequence[QueuedPodInfo],
        order: Sequence[GroupPlacement],
        tried: Mapping[str, GroupOutcome],
    ) -> GroupOutcome | None:
        """Choose among the placements that were not tried, and the feasible ones of those *tried*."""
        candidates = []
        for placement in order:
            outcome = tried.get(placement.name)
            if outcome is None or outcome.is_feasible:
                placed = group.pods if outcome is None else outcome.placed()
                candidates.append(PlacedGroup(placement, placed))
        scores = None
        if len(candidates) > 1:
            scores = score_placements(self.framework.plan, state, group, candidates)
        if isinstance(scores, Status):
            return None
        best = candidates[0 if scores is None else self._one_of_best(scores)].placement
        chosen = tried.get(best.name)
        if chosen is None:
            chosen = self._try(group, infos, best, preempts=False)
            if chosen.result is not GroupResult.SCHEDULED or len(_fitting(chosen)) < len(infos):
                return None
        chosen.feasible, chosen.scores = [each.placement.name for each in candidates], scores
        return chosen

    def _codes(self, infos: Sequence[QueuedPodInfo]) -> npt.NDArray[np.integer] | None:
        """Return which rows are feasible for each member, if they are alike and plugins read no more."""
        plan = self.framework.plan
        names = [entry.name for entry in (*plan.permit, *plan.placement_feasible)]
        names += [entry.name for entry in plan.placement_score]
        if not all(declares(plan.plugins[name], "reads_no_nodes_of_members") for name in names):
            return None
        first = infos[0].pod
        if not all(_alike(info.pod, first) for info in infos):
            return None
        return self.core.search.feasible_codes(self.framework, first)

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
        chosen = feasible[self._one_of_best(scores)]
        chosen.scores = scores
        return chosen

    def _one_of_best(self, scores: PlacementScores) -> int:
        best = np.flatnonzero(np.array(scores.total) == max(scores.total)).tolist()
        return int(best[0] if len(best) == 1 else self.core.rng.choice(best))


def _alike(one: Pod, other: Pod) -> bool:
    """Return whether no plugin can tell two members apart."""
    return (
        (one.spec is other.spec or one.spec == other.spec)
        and one.labels == other.labels
        and one.metadata.annotations == other.metadata.annotations
        and one.metadata.owner_references == other.metadata.owner_references
        and not one.status.nominated_node_name
    )


def _name(outcome: GroupOutcome) -> str:
    assert outcome.placement is not None
    return outcome.placement.name


def _fitting(outcome: GroupOutcome) -> tuple[str, ...]:
    return tuple(sorted(each.pod.key for each in outcome.members if each.result is MemberResult.FITS))
