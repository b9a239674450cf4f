"""One attempt for a pod group: pop its members, find out whether it can run, and place those that fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter

from attrs import field

from ..._base.value import record
from ...api import Pod, PodGroup, PodGroupSpec
from ...framework import CycleState, Framework, PodGroupInfo, Status
from ...queue import GroupQueue, QueuedPodInfo
from ...state import GroupCache
from ..binding.attempt import Attempt
from ..binding.failure import handle_failure, requeue_interrupted
from ..core import Core
from ..equal_pods import may_wait_together
from ..outcomes import GroupAttempt
from ..search.decision import Decision
from .apply import apply_outcome
from .choice import PlacementChoice
from .condition import write_condition
from .listed_terms import ListedTerms
from .outcome import GroupOutcome, GroupResult
from .preemption import preempt_for_group
from .trial import Trial
from .waiting import WaitingGroups

_DIFFERENT = Status.unschedulable("the members of the group name different schedulers")
DELETED = "skip schedule deleting pod: "


@record(eq=False)
class Known:
    """The outcome of an attempt that failed, good as long as nothing that it read changes."""

    framework: Framework
    """A new one comes with each configuration."""
    stamp: tuple[int, ...]
    group: PodGroup | None
    members: tuple[Pod, ...]
    outcome: GroupOutcome

    def holds(self, stamp: tuple[int, ...], group: PodGroup | None, infos: Sequence[QueuedPodInfo]) -> bool:
        """Return whether an attempt for *infos* would end the same way."""
        return (
            stamp == self.stamp
            and _spec_of(group) == _spec_of(self.group)
            and len(infos) == len(self.members)
            and all(_alike(info.pod, pod) for info, pod in zip(infos, self.members, strict=True))
        )


@record(eq=False)
class GroupCycle:
    """The cycles of groups, of all profiles."""

    core: Core
    searches: int = 0
    """Attempts in which members were tried; in the others the outcome was known."""
    wait_together: bool = field(default=False, kw_only=True)
    """Whether equal groups wait by class; else each is tried."""
    max_stay: float | None = 300.0
    """Seconds after which a group of a class that waits is tried without any event; ``None``: never."""
    reported_at_once: int = 64
    """Groups for which one idle step writes why they wait; a group of eight takes about 0.3 ms."""
    _waiting: WaitingGroups | None = field(default=None, init=False)
    _waits_by: object = field(default=None, init=False)
    """The search for which ``_waiting`` was made; ``None``: none was."""
    _known: dict[str, Known] = field(factory=dict)
    """Outcomes of failed attempts by group; those of groups that are gone are dropped now and then."""
    _search_seconds: float | None = None
    """Of the present attempt; ``None`` if its outcome was known."""

    def __attrs_post_init__(self) -> None:
        self.queue.scale_backoff(self.backoff_size)

    def run(self, popped: QueuedPodInfo, key: str) -> Decision | None:
        """Attempt to place the group *key*, of which *popped* was popped.

        ``None`` if no member is left, or it waits behind an equal group.
        """
        queue = self.queue
        others = [pod for pod in self.core.members.unscheduled(key) if pod.uid != popped.uid]
        infos = sorted([popped, *queue.pop_members(others)], key=_order)
        try:
            return self._attempt(popped, key, infos)
        finally:
            if queue.parking is not None:
                queue.parking.ended(key)

    def _attempt(self, popped: QueuedPodInfo, key: str, infos: list[QueuedPodInfo]) -> Decision | None:
        started = perf_counter()
        framework = self.core.frameworks[popped.pod.spec.scheduler_name]
        if self._differ(framework, infos):
            self._observe(key, popped, None, framework, started)
            return _undecided(infos[0].pod, _DIFFERENT)
        infos = [info for info in infos if not self._is_settled(framework, info)]
        if not infos:
            return None
        waiting = self._waiting_groups()
        try:
            group_class = None if waiting is None else waiting.begin(framework, key, infos)
            if (
                waiting is not None
                and group_class is not None
                and waiting.stays_behind(group_class, key, infos)
            ):
                return None
            outcome = self._outcome(framework, key, infos)
            parked = waiting is not None and waiting.ended(group_class, key, infos, outcome)
            apply_outcome(self.core, framework, infos, outcome, started)
        except BaseException as error:
            requeue_interrupted(self.core, framework, infos, error)
            raise
        if parked and waiting is not None and group_class is not None:
            waiting.applied(group_class, key, infos)
        write_condition(self.core, key, outcome)
        self._observe(key, popped, outcome, framework, started)
        if outcome.members:
            return outcome.members[0].decision
        return _undecided(infos[0].pod, Status.unschedulable(outcome.message))

    def _waiting_groups(self) -> WaitingGroups | None:
        """Return what lets equal groups wait by class; ``None`` if each attempt is followed."""
        decides = (
            self.core.search.fast if self.wait_together and not self.core.observers.each_attempt else None
        )
        if decides is not self._waits_by:
            self._waits_by, self._waiting = decides, None
            fast, frameworks = may_wait_together(self.core)
            if fast is not None and decides is not None:
                self._waiting = WaitingGroups(self.core, fast.cache, self.queue, frameworks)
            self.queue.park_groups(self._waiting, self.max_stay)
        return self._waiting

    def refresh_conditions(self, *, rarely: bool = False) -> None:
        """Write why groups wait that were not tried as an equal one failed; *rarely*: of some of them."""
        if self._waiting is not None:
            self._waiting.report(most=self.reported_at_once if rarely else None)

    # ---- members -----------------------------------------------------------------------------------------

    def _differ(self, framework: Framework, infos: Sequence[QueuedPodInfo]) -> bool:
        """Let all members fail if they name different schedulers; whether they do."""
        first = infos[0].pod.spec.scheduler_name
        other = next((i.pod.spec.scheduler_name for i in infos if i.pod.spec.scheduler_name != first), None)
        if other is None:
            return False
        status = Status.from_error(
            "all pods in a single pod group should have the same .spec.schedulerName set, "
            f'got: "{other}" and "{first}"'
        )
        for info in infos:
            own = self.core.frameworks.get(info.pod.spec.scheduler_name, framework)
            handle_failure(self.core, Attempt(info, info.pod, own, CycleState()), status)
        return True

    def _is_settled(self, framework: Framework, info: QueuedPodInfo) -> bool:
        """Return whether a member is dropped for good, because it is being deleted or has a node."""
        core, pod = self.core, info.pod
        if pod.metadata.deletion_timestamp is not None:
            core.cluster.record_event(pod, "Warning", "FailedScheduling", DELETED + pod.key, "Scheduling")
        elif pod.uid not in core.cache.states:
            return False
        core.queue.done(info.uid)
        return True

    # ---- the attempt -------------------------------------------------------------------------------------

    def _outcome(self, framework: Framework, key: str, infos: list[QueuedPodInfo]) -> GroupOutcome:
        """Return what becomes of the group."""
        known = self._known.pop(key, None)
        core, self._search_seconds = self.core, None
        pod_group = core.objects.get("PodGroup", key)
        is_same = known is not None and known.framework is framework
        if known is not None and is_same and known.holds(self._stamp(), pod_group, infos):
            self._known[key] = known
            return known.outcome
        group = PodGroupInfo(
            key,
            pod_group,
            tuple([info.pod for info in infos]),
            tuple(core.members.scheduled(key)),
        )
        self.searches += 1
        terms = ListedTerms(core.cache.table)
        draws = core.rng.getstate()
        started = perf_counter()
        outcome = self.algorithm(framework, group, infos, terms)
        self._search_seconds = perf_counter() - started
        hopeless = outcome.result is GroupResult.UNSCHEDULABLE
        if hopeless and self.preempts_groups:
            again = self.repeat(framework, group, infos, terms)
            hopeless = not preempt_for_group(core, framework, group, outcome, again)
        if hopeless:
            # An attempt that is spared because its end is known must not change which nodes others draw.
            core.rng.setstate(draws)
            self._drop_gone()
            self._known[key] = Known(framework, self._stamp(), pod_group, group.pods, outcome)
        return outcome

    @property
    def preempts_groups(self) -> bool:
        """Return whether room is made for groups as a whole."""
        return self.core.feature_gates.enabled("WorkloadAwarePreemption")

    def repeat(
        self, framework: Framework, group: PodGroupInfo, infos: Sequence[QueuedPodInfo], terms: ListedTerms
    ) -> Callable[[], GroupOutcome]:
        """Return what tries the group again without post_filter, after pods were removed on trial."""
        terms.remember()
        return partial(self.algorithm, framework, group, infos, terms, preempts=False)

    def backoff_size(self, key: str) -> int:
        """Return the size of a group by which its longest backoff is scaled; 1: not at all.

        A group is scaled only if a plugin rejected a member: an event that helps it ends the backoff then.
        """
        known = self._known.get(key)
        if known is None or not any(member.diagnosis is not None for member in known.outcome.members):
            return 1
        return len(known.members)

    def _drop_gone(self) -> None:
        """Drop the outcomes of groups without a member; O(1) for each attempt on average."""
        members = self.core.members
        if len(self._known) > 2 * len(members):
            self._known = {key: known for key, known in self._known.items() if key in members}

    def algorithm(
        self,
        framework: Framework,
        group: PodGroupInfo,
        infos: Sequence[QueuedPodInfo],
        terms: ListedTerms | None = None,
        *,
        preempts: bool = True,
    ) -> GroupOutcome:
        """Return what would become of the group, without any effect.

        *terms*: of the attempt; ``None`` makes those of an attempt that begins now.
        """
        terms = terms or ListedTerms(self.core.cache.table)
        decided = self.core.observers.decided if preempts else None
        record = None if decided is None else partial(decided, framework.profile_name)
        if self.core.feature_gates.enabled("TopologyAwareWorkloadScheduling"):
            choice = PlacementChoice(self.core, framework, record, terms=terms)
            return choice.run(group, infos, preempts=preempts)
        return Trial(self.core, framework, group, None, preempts, record, terms=terms).run(infos)

    def _stamp(self) -> tuple[int, ...]:
        core = self.core
        assert isinstance(core.cache, GroupCache)
        # Conditions of groups are written by attempts themselves; their specs are compared.
        others = core.objects.changes - core.objects.version("PodGroup")
        return core.cache.changes, others, core.queue.nominator.version

    def _observe(
        self,
        key: str,
        popped: QueuedPodInfo,
        outcome: GroupOutcome | None,
        framework: Framework,
        started: float,
    ) -> None:
        group_ended = self.core.observers.group_ended
        if group_ended is not None:
            tried = () if outcome is None else tuple([member.pod.key for member in outcome.members])
            seconds = perf_counter() - started
            profile, searched = framework.profile_name, self._search_seconds
            result = "" if outcome is None else outcome.result.label
            group_ended(GroupAttempt(key, popped.key, tried, profile, result, seconds, searched, outcome))

    @property
    def queue(self) -> GroupQueue:
        """The queue of the scheduler."""
        queue = self.core.queue
        assert isinstance(queue, GroupQueue)
        return queue


def _spec_of(group: PodGroup | None) -> PodGroupSpec | None:
    return None if group is None else group.spec


def _order(info: QueuedPodInfo) -> tuple[int, float, int]:
    assert info.initial_attempt is not None
    return -info.pod.priority, info.initial_attempt, info.place


def _alike(one: Pod, other: Pod) -> bool:
    """Return whether nothing differs between two versions of a pod but what schedulers write."""
    if one is other:
        return True
    return (
        one.uid == other.uid
        and (one.spec is other.spec or one.spec == other.spec)
        and one.labels == other.labels
        and one.metadata.annotations == other.metadata.annotations
        and one.status.nominated_node_name == other.status.nominated_node_name
    )


def _undecided(pod: Pod, status: Status) -> Decision:
    """Return a decision for a group that failed before a member was tried."""
    decision = Decision(pod, CycleState())
    decision.error = status
    return decision
