"""Preemption as a tool: find the node where removing pods makes room, with as little harm as possible.

A plugin drives it from post_filter. Override ``is_eligible``, ``may_preempt``, ``potential_victims``
or ``wanted`` for another policy. Behaviour: kube-scheduler v1.36 (pkg/scheduler/framework/preemption).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import field

from ..._base.checked import checked, unchecked
from ..._base.value import record
from ...api import Pod, PodDisruptionBudget
from ...state import NodeInfo
from ..cycle_state import CycleState
from ..extender import ExtenderError
from ..handle import Handle
from ..placements import DEFERRED_EVICTIONS, CanRun, GroupPreemption, PodGroupInfo
from ..results import NominatingInfo, PostFilterResult
from ..status import SUCCESS, Code, Status
from ..verdicts import Diagnosis
from .budgets import Budget, read_budgets
from .candidates import Candidate, Preemption, standing
from .dry_run import NO_VICTIMS, select_victims
from .dry_run_cache import SAFE, VIOLATING, DryRunCache, DryRunResults, visit
from .eviction import Eviction
from .extending import candidates_of_extenders
from .groups import preempt_for_group
from .leaving import pods_being_preempted

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_CANDIDATE = "no candidate node for preemption"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
_new_result: Final = unchecked(PostFilterResult)
_CLEARED: Final = NominatingInfo("")
_NO_ROOM: Final = Preemption((), None)
_NO_PODS = np.iinfo(np.int64).max
_LOWEST = object()
"""Key of the column with the lowest priority of the pods on each node."""


@record(eq=False)
class Tally:
    """Counts of the nodes on which preemption does not work, by reason."""

    nodes: int = 0
    reasons: dict[str, int] = field(factory=dict)
    errors: list[str] = field(factory=list)
    tried: bool = False
    """Whether a node was drawn and tried."""

    def add(self, status: Status, nodes: int) -> None:
        """Count *nodes* nodes with *status*."""
        if not nodes:
            return
        self.nodes += nodes
        if status.code is Code.ERROR:
            self.errors.append(status.message)
        for reason in status.reasons:
            self.reasons[reason] = self.reasons.get(reason, 0) + nodes

    def message(self, num_nodes: int) -> str:
        """Return the reasons with their counts; nodes that were not tried count as :data:`NOT_HELPFUL`."""
        counts = dict(self.reasons)
        if num_nodes > self.nodes:
            counts[NOT_HELPFUL] = counts.get(NOT_HELPFUL, 0) + num_nodes - self.nodes
        parts = sorted(f"{count} {reason}" for reason, count in counts.items())
        return f"0/{num_nodes} nodes are available: {', '.join(parts)}."


@checked
@record(eq=False)
class PreemptionEvaluator:
    """Finds candidates, chooses one and evicts its victims. One per plugin and profile; core only."""

    handle: Handle
    plugin: str
    """Name of the plugin that drives it, for verdicts on waiting pods."""
    percentage: int = 10
    """Candidates wanted, in percent of the nodes on which preemption may help."""
    absolute: int = 100
    """Candidates wanted at least."""
    eviction: Eviction = field(init=False)
    _dry_runs: DryRunCache = field(init=False)
    _decides_by_spec: bool = field(init=False)
    _lower: dict[int, Callable[[int], bool]] = field(factory=dict, init=False)
    """By priority, see ``PostFilterResult.unless_row``."""
    _budgets: tuple[int, list[Budget]] = field(default=(-1, []), init=False)
    """Version of the budgets, and the budgets."""

    def __attrs_post_init__(self) -> None:
        self.eviction = Eviction(self.handle, self.plugin)
        self._dry_runs = DryRunCache(self.handle)
        self._decides_by_spec = type(self).is_eligible is PreemptionEvaluator.is_eligible

    # ---- policy ------------------------------------------------------------------------------------------

    def is_eligible(self, pod: Pod, nominated_status: Status | None) -> str | None:
        """Return why *pod* may not preempt, ``None`` if it may.

        *nominated_status* is the status of its nominated node.
        """
        if pod.spec.preemption_policy == "Never":
            return NEVER
        name = pod.status.nominated_node_name
        if not name or (
            nominated_status is not None and nominated_status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        ):
            return None
        table = self.handle.table
        preempted, row = pods_being_preempted(table, name), table.live_row(name)
        if not preempted or row is None:
            return None
        info = table.info(row)
        return TERMINATING if any(self.may_preempt(info, other, pod) for other in preempted) else None

    def may_preempt(self, info: NodeInfo, victim: Pod, preemptor: Pod) -> bool:
        """Return whether *preemptor* may remove *victim*. Override ``by_priority`` together with this."""
        return victim.priority < preemptor.priority

    def potential_victims(self, state: CycleState, pod: Pod, info: NodeInfo) -> Sequence[Pod]:
        """Return pods of the node that may all be removed together for *pod*. Not all of them become victims.

        Override it where that depends on more than one pod at a time, together with ``by_priority``. *state*
        and *info* are those of the dry run, and not to be changed here. O(pods of the node).
        """
        return [other for other in info.pods.values() if self.may_preempt(info, other, pod)]

    by_priority = True
    """Whether ``may_preempt`` holds for all pods of lower priority and no others: then nodes without any
    need no dry run, and pods of equal priority need not try the same node twice.
    """

    def wanted(self, nodes: int) -> int:
        """Return how many candidates are enough when *nodes* nodes may be tried."""
        return min(max(nodes * self.percentage // 100, self.absolute), nodes)

    # ---- the work ----------------------------------------------------------------------------------------

    def preempt(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> tuple[PostFilterResult | None, Status]:
        """Return the answer of post_filter: the node to nominate, or why there is none.

        The eviction of its victims has begun.
        """
        nominated = statuses.get(pod.status.nominated_node_name) if pod.status.nominated_node_name else None
        refusal = self.is_eligible(pod, nominated)
        if refusal is not None:
            return None, Status.unschedulable(refusal)
        rows, results, tally = self._search(state, pod, statuses)
        if results is None or not len(rows):
            if tally.errors:
                return None, Status.from_error(_joined(tally.errors))
            repeatable = not tally.tried and self.by_priority and self._decides_by_spec
            unless = self._has_lower(pod.priority) if repeatable else None
            cleared = _new_result(_CLEARED, _NO_ROOM, repeatable, unless)
            return cleared, Status.unschedulable(tally.message(self.handle.table.num_nodes))
        candidates = results.candidates(rows)
        if self.handle.extenders:
            known = pod.key in self.handle.pending
            try:
                candidates = candidates_of_extenders(self.handle, pod, candidates)
            except ExtenderError as error:
                return None, Status.from_error(error)
            if not candidates or (known and pod.key not in self.handle.pending):
                return None, Status.unschedulable(NO_CANDIDATE)
            chosen = min(candidates, key=standing)
        else:
            chosen = results.best(rows)
        deferred = state.get(DEFERRED_EVICTIONS)
        if deferred is not None:
            deferred.append(partial(self.eviction.start, pod, chosen))
            details = Preemption(tuple(candidates), chosen)
            return _new_result(NominatingInfo(chosen.node_name), details), SUCCESS
        orders = self.eviction.start(pod, chosen)
        details = Preemption(tuple(candidates), chosen, orders.evicted, orders.cleared, orders.stopped)
        return _new_result(NominatingInfo(chosen.node_name), details), SUCCESS

    def preempt_for_group(self, group: PodGroupInfo, can_run: CanRun) -> GroupPreemption | Status:
        """Return the answer of post_filter_group: room that can be made for a group, or why there is none."""
        return preempt_for_group(self.handle, self.eviction, group, can_run)

    def _has_lower(self, priority: int) -> Callable[[int], bool]:
        """Return what says whether a row has a pod of lower priority."""
        answer = self._lower.get(priority)
        if answer is None:
            table = self.handle.table

            def has_lower(row: int) -> bool:
                return any(pod.priority < priority for pod in table.pods_at(row).values())

            answer = self._lower[priority] = has_lower
        return answer

    def find_candidates(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> tuple[list[Candidate], Tally]:
        """Return candidates, and counts of the nodes that are none.

        Tries the nodes from a random one on until enough candidates are found: O(nodes tried × victims ×
        filters).
        """
        rows, results, tally = self._search(state, pod, statuses)
        return [] if results is None else results.candidates(rows), tally

    def _search(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> tuple[npt.NDArray[np.intp], DryRunResults | None, Tally]:
        """Return the rows of candidates, the results that hold them, and counts of the nodes that are none.

        First come those that violate no budget. No results: no node was tried.
        """
        rows = self._rows_to_try(statuses)
        tally = Tally()
        eligible = len(rows)
        if self.by_priority and eligible:
            table = self.handle.table
            lower = table.derived(_LOWEST, _lowest_priority)[: table.size] < pod.priority
            if np.count_nonzero(lower) < len(lower):
                rows = rows[lower[rows]]
                tally.add(NO_VICTIMS, eligible - len(rows))
        if not len(rows):
            return rows, None, tally
        tally.tried = True
        start = self.handle.rng.randrange(len(rows))
        budgets = self._up_to_date_budgets()
        cached = self._dry_runs.of(state, pod) if self.by_priority else None
        results = cached if cached is not None else DryRunResults(self.handle.table.capacity)
        visited, codes = visit(
            rows, start, results, self.wanted(eligible), lambda row: self._try(state, pod, row, budgets)
        )
        safe, violating = visited[codes == SAFE], visited[codes == VIOLATING]
        if len(safe) + len(violating) < len(visited):
            for status, nodes in results.counts(codes):
                tally.add(status, nodes)
        return np.concatenate((safe, violating)) if len(violating) else safe, results, tally

    def _up_to_date_budgets(self) -> list[Budget]:
        objects = self.handle.objects
        version = objects.version(PodDisruptionBudget.KIND)
        if version != self._budgets[0]:
            self._budgets = version, read_budgets(objects.list(PodDisruptionBudget.KIND))
        return self._budgets[1]

    def _rows_to_try(self, statuses: Mapping[str, Status]) -> npt.NDArray[np.intp]:
        """Return the rows that were rejected and that removing pods may make feasible."""
        if isinstance(statuses, Diagnosis):
            return statuses.rows_with(Code.UNSCHEDULABLE, self.handle.table.rows())
        table = self.handle.table
        names = (name for name, status in statuses.items() if status.code is Code.UNSCHEDULABLE)
        rows = (table.live_row(name) for name in names)
        return np.array([row for row in rows if row is not None], np.intp)

    def _try(self, state: CycleState, pod: Pod, row: int, budgets: list[Budget]) -> Candidate | Status:
        info = self.handle.table.info(row).clone()
        trial = state.clone()
        potential = self.potential_victims(trial, pod, info)
        outcome = select_victims(self.handle.runner, trial, pod, info, budgets, potential)
        if isinstance(outcome, Candidate) and not outcome.victims:
            return Status.from_error(f'expected at least one victim pod on node "{info.name}"')
        return outcome


def _joined(errors: Iterable[str]) -> str:
    """Return the errors as one text, each once; several are in brackets."""
    different = sorted(set(errors))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]"


def _lowest_priority(info: NodeInfo) -> float:
    return min((pod.priority for pod in info.pods.values()), default=int(_NO_PODS))
