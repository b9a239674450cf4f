"""Place the members of a group one after another, on trial: the default algorithm of a group.

Each member goes through the search of a single pod, with the members before it on their nodes. The undo log
of the core takes all of it back in the end: pods in the table, members, reservations and nominations.
Behaviour: kube-scheduler v1.36 (pkg/scheduler/schedule_one_podgroup.go), but that evictions are only chosen
here, not begun.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import field

from ..._base.value import record
from ...framework import (
    DEFERRED_EVICTIONS,
    GROUP_TRIAL,
    CycleState,
    Framework,
    GroupPlacement,
    PodGroupInfo,
    Status,
)
from ...framework.placing import check_feasible
from ...queue import QueuedPodInfo
from ..binding.attempt import Attempt
from ..binding.failure import CLEAR_NOMINATION
from ..core import Core
from ..search.decision import Decision
from .listed_terms import ListedTerms
from .outcome import (
    UNSCHEDULABLE_TEXT,
    WAITING_TEXT,
    GroupOutcome,
    GroupResult,
    MemberOutcome,
    MemberResult,
)

GROUP_FAILED = "failed to schedule other pod from a pod group: "
WAIT_SUFFIX = "one or more plugins asked to wait and no plugin rejected pod"


@record(eq=False)
class Trial:
    """One run of the algorithm, in one placement."""

    core: Core
    framework: Framework
    group: PodGroupInfo
    placement: GroupPlacement | None = None
    """``None``: all nodes."""
    preempts: bool = True
    """Whether post_filter runs for members that do not fit."""
    record: Callable[[QueuedPodInfo, Decision], None] | None = None
    terms: ListedTerms = field(kw_only=True)
    _placed: list[MemberOutcome] = field(factory=list, init=False)
    _evictions: list[Callable[[], object]] = field(factory=list, init=False)

    def run(self, infos: Sequence[QueuedPodInfo]) -> GroupOutcome:
        """Try the members in order; undo everything; return what became of them."""
        undo = self.core.undo
        depth = undo.begin()
        outcome = GroupOutcome(GroupResult.UNSCHEDULABLE, placement=self.placement)
        try:
            self._try_all(infos, outcome)
        finally:
            undo.revert(depth)
            self.terms.end()
        outcome.evictions = self._evictions
        return outcome

    def _try_all(self, infos: Sequence[QueuedPodInfo], outcome: GroupOutcome) -> None:
        needs_preemption = False
        for position, info in enumerate(infos):
            if self._ends(outcome, len(infos) - position):
                return
            member = self._try(info)
            outcome.members.append(member)
            if member.result is MemberResult.FAILED:
                assert member.status is not None
                outcome.result, outcome.message = GroupResult.FAILED, GROUP_FAILED + member.status.message
                return
            needs_preemption |= member.result is MemberResult.NEEDS_PREEMPTION
            if member.permitted and needs_preemption:
                outcome.result, outcome.message = GroupResult.WAITING, WAITING_TEXT
            elif member.permitted:
                outcome.result, outcome.message = GroupResult.SCHEDULED, ""
        self._ends(outcome, 0)

    def _ends(self, outcome: GroupOutcome, left: int) -> bool:
        """Ask the plugins whether the group can still run; whether the attempt ends here."""
        if not self.framework.plan.placement_feasible:
            return False
        placed = tuple([each.pod.with_node_name(each.node_name) for each in self._placed])
        status = check_feasible(self.framework.plan, CycleState(), self.group, placed, left)
        if status is None:
            return False
        outcome.result = GroupResult.UNSCHEDULABLE if status.is_rejected else GroupResult.FAILED
        outcome.message = f"{UNSCHEDULABLE_TEXT}, {status.message}" if status.is_rejected else status.message
        return True

    # ---- one member --------------------------------------------------------------------------------------

    def _try(self, info: QueuedPodInfo) -> MemberOutcome:
        core, pod = self.core, info.pod
        self.terms.prepare(pod)
        if core.observers.begin_cycle is not None:
            core.observers.begin_cycle()
        if self.placement is None:
            decision = core.search.decide(self.framework, pod)
        else:
            decision = core.search.decide_among(self.framework, pod, self.placement.rows)
        if self.record is not None:
            self.record(info, decision)
        attempt = Attempt(info, pod, self.framework, decision.state)
        attempt.idle = decision.idle
        member = MemberOutcome(info, attempt, MemberResult.FITS, decision)
        if decision.error is not None:
            rejected = decision.error.is_rejected
            member.result = MemberResult.REJECTED if rejected else MemberResult.FAILED
            member.status, member.nominating = decision.error, CLEAR_NOMINATION
        elif decision.node_name is not None:
            member.node_name = decision.node_name
            self._assume(member)
        else:
            self._reject(member, decision)
        return member

    def _reject(self, member: MemberOutcome, decision: Decision) -> None:
        """No node is feasible: let post_filter choose victims, which it does not evict yet."""
        diagnosis = decision.diagnosis
        assert diagnosis is not None
        member.diagnosis = diagnosis
        member.result, member.nominating = MemberResult.REJECTED, CLEAR_NOMINATION
        if not self.preempts or not self.framework.plan.post_filter:
            return
        decision.state.write(DEFERRED_EVICTIONS, self._evictions)
        result, status = self.framework.run_post_filter(decision.state, member.pod, diagnosis)
        diagnosis.post_filter_message = status.message
        member.nominating = result.nominating_info if result is not None else None
        if not status.is_rejected and not status.is_success:
            self.core.report(status, member.pod, "post_filter")
        node_name = member.nominating.node_name if member.nominating is not None else None
        if status.is_success and node_name:
            member.result, member.node_name = MemberResult.NEEDS_PREEMPTION, node_name
            self._assume(member)

    def _assume(self, member: MemberOutcome) -> None:
        """Count the member on its node, run reserve and permit; take it back if one of them rejects it."""
        core, attempt = self.core, member.attempt
        assumed = attempt.assumed = member.pod.with_node_name(member.node_name)
        state, entries = attempt.state, core.undo.entries
        before = len(entries)
        self.terms.add(member.node_name, assumed)
        core.members.set_scheduled(self.group.key, assumed)
        nominator = core.queue.nominator
        if nominator.nominations:
            nominator.delete(member.pod)
        self._placed.append(member)
        state.write(GROUP_TRIAL, True)
        entries.append((self._unreserve, member))
        if self.framework.plan.reserve and not attempt.idle:
            status = self.framework.run_reserve(state, assumed, member.node_name)
            if status is not None:
                self._take_back(member, status, before)
                return
        permit = self.framework.run_permit(state, assumed, member.node_name)
        if permit.status is not None:
            self._take_back(member, permit.status, before)
            return
        member.permitted = not permit.waits
        if permit.waits:
            member.waits_for = ", ".join((*permit.reasons, WAIT_SUFFIX))

    def _take_back(self, member: MemberOutcome, status: Status, before: int) -> None:
        """Undo the assumption of the last member; it counts as rejected, or failed, with *status*.

        *before*: number of changes of the trial before it.
        """
        self._placed.pop()
        self.core.undo.back_to(before)
        self.terms.forget(member.pod.uid)
        member.result = MemberResult.REJECTED if status.is_rejected else MemberResult.FAILED
        member.node_name, member.status, member.diagnosis = "", status, None
        member.nominating = CLEAR_NOMINATION

    def _unreserve(self, member: MemberOutcome) -> None:
        attempt = member.attempt
        assumed = attempt.assumed
        assert assumed is not None
        if self.framework.plan.unreserve and not attempt.idle:
            for problem in self.framework.run_unreserve(attempt.state, assumed, member.node_name):
                self.core.report_returned(problem, member.pod, "unreserve")
        attempt.state.delete(GROUP_TRIAL)
