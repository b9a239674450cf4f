"""Groups that wait by class: which groups are equal, and whether what changed may help them.

Groups are of one class if their members are equal but for their names, and their PodGroups ask for the same.
If it is known without a search that an attempt for such a group fails, its members are parked (see
:mod:`schedframe.queue.together.parking`). What changed is looked at by rows: where all members are equal, an
attempt may only end otherwise if a row changed that suits one of them. A sum of free amounts would not do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

from attrs import evolve, field

from ..._base.value import record
from ...api import Pod, PodGroup, PodSpec
from ...errors import CacheFault
from ...framework import Framework, Status
from ...queue import GroupQueue, Pool, QueuedPodInfo
from ...queue.together.parking import GroupClass
from ..binding.pod_status import REASON_UNSCHEDULABLE, report_unschedulable
from ..core import Core
from ..equal_pods import metadata_key
from ..equivalence.cache import EquivalenceCache
from ..equivalence.spec_memo import SpecMemo
from ..rejected_classes import RejectedClasses, Stamp
from .apply import unschedulable_text
from .outcome import GroupOutcome, GroupResult, MemberOutcome, MemberResult


@record(eq=False)
class EqualGroups(GroupClass):
    """A class of groups, with what its pods have in common."""

    key: Any = None
    specs: dict[Any, PodSpec] = field(factory=dict)
    """Key of equal members → their spec, without the group."""
    reports: tuple[str, ...] = ()
    """Why its members wait, in the order in which they are tried."""


@record(eq=False)
class WaitingGroups:
    """Implements :class:`.GroupOutcomes` for a queue."""

    core: Core
    cache: EquivalenceCache
    queue: GroupQueue
    frameworks: dict[str, Framework]
    """By scheduler name, those whose groups may wait so."""
    _classes: dict[Any, EqualGroups] = field(factory=dict, init=False)
    """Those with a parked group, and some that had one."""
    _unreported: dict[str, None] = field(factory=dict, init=False)
    """Parked groups for whose members the cluster does not show yet why they wait."""
    _rejected: RejectedClasses = field(init=False)
    """Classes that only a row may help that changed."""

    def __attrs_post_init__(self) -> None:
        policy = self.cache.policy
        self._rejected = RejectedClasses(
            self.core.cache.table, self._stamp, policy.rowwise_rows, policy.answers
        )

    def _stamp(self) -> Stamp:
        core, table = self.core, self.core.cache.table
        # PodGroups come and go with each group; those of parked groups are followed by the queue.
        others = core.objects.changes - core.objects.version(PodGroup.KIND)
        return (
            table.row_log.version,
            table.node_log.version,
            others,
            table.affinity_changes,
            core.queue.nominator.version,
        )

    # ---- classes -----------------------------------------------------------------------------------------

    def class_of(self, framework: Framework, key: str, infos: Sequence[QueuedPodInfo]) -> EqualGroups | None:
        """Return the class of a group; ``None`` if it has to be tried by itself. O(members)."""
        if self.frameworks.get(infos[0].pod.spec.scheduler_name) is not framework:
            return None
        members: Counter[Any] = Counter()
        specs: dict[Any, PodSpec] = {}
        last: SpecMemo | None = None
        member: Any = None
        for info in infos:
            pod = info.pod
            memo = self.cache.lookup(framework, pod)
            if memo is None or pod.status.nominated_node_name:
                return None
            if memo is not last:  # it is one for pods that share a spec and equal metadata
                last, member = memo, (memo.key, metadata_key(pod.metadata))
            members[member] += 1
            known = specs.get(member)
            if known is None:
                specs[member] = pod.spec
            elif known is not pod.spec and known != pod.spec:
                return None
        group = self.core.objects.get(PodGroup.KIND, key)
        if self.core.members.scheduled_count(key) or self.queue.nominator.nominations:
            return None
        class_key = (framework, frozenset(members.items()), None if group is None else _asked(group))
        return self._find(class_key, {member: _without_group(spec) for member, spec in specs.items()})

    def _find(self, key: Any, specs: dict[Any, PodSpec]) -> EqualGroups | None:
        """Return the class of that key, a new one if there is none; ``None`` if its pods have other specs."""
        found = self._classes.get(key)
        if found is not None:
            return found if found.specs == specs else None
        if len(self._classes) > 2 * len(self._parked()) + 64:
            used = self._parked()
            self._classes = {each.key: each for each in self._classes.values() if each in used or each.awake}
        framework = key[0]
        found = self._classes[key] = EqualGroups(framework.profile_name, key=key, specs=specs)
        return found

    def _parked(self) -> Any:
        parking = self.queue.parking
        return () if parking is None else parking.classes()

    # ---- attempts ----------------------------------------------------------------------------------------

    def stays_behind(self, group_class: EqualGroups | None, key: str, infos: list[QueuedPodInfo]) -> bool:
        """Park a group whose turn comes after that of an equal one that waits; return whether it is so."""
        if group_class is None or group_class.awake == key:
            return False
        if not (group_class.parked or group_class.awake):
            return False
        self.queue.park(group_class, key, infos)
        self._unreported[key] = None
        return True

    def report(self, *, most: int | None = None) -> None:
        """Write why the members of groups wait that were parked without an attempt; of *most* groups."""
        parking = self.queue.parking
        for key in list(islice(self._unreported, most)):
            del self._unreported[key]
            group_class, infos = (None, []) if parking is None else parking.groups.get(key, (None, []))
            if not isinstance(group_class, EqualGroups):
                continue  # it was tried since
            for info, report in zip(list(infos), group_class.reports, strict=False):
                report_unschedulable(self.core, info.pod, REASON_UNSCHEDULABLE, report, None)

    def begin(self, framework: Framework, key: str, infos: list[QueuedPodInfo]) -> EqualGroups | None:
        """Return the class of a group that is to be tried, see :meth:`class_of`.

        What changed so far is taken in: what the trial changes and takes back is no news.
        """
        try:
            self._rejected.sync()
            return self.class_of(framework, key, infos)
        except Exception as error:  # noqa: BLE001 - what is only known ahead must not stop the scheduler
            self._after_fault(error)
            return None

    def ended(
        self, group_class: EqualGroups | None, key: str, infos: list[QueuedPodInfo], outcome: GroupOutcome
    ) -> bool:
        """Park a group whose attempt failed if an equal one would fail as well; return whether it is parked.

        Its members are in flight still, and go to their place when they are queued again.
        """
        try:
            if outcome.result is GroupResult.UNSCHEDULABLE:
                self._rejected.skip()
            if group_class is None or not self._holds_for_equals(outcome):
                return False
            self._note(group_class, infos, outcome)
        except Exception as error:  # noqa: BLE001 - as in begin
            self._after_fault(error)
            return False
        self.queue.expect_parked(group_class, key, infos)
        return True

    def _note(self, group_class: EqualGroups, infos: list[QueuedPodInfo], outcome: GroupOutcome) -> None:
        """Note which plugins rejected which members, and why each of them waits."""
        rejected = {self._member(each.pod): each for each in outcome.members}
        found = [each for each in rejected.values() if each.result is MemberResult.REJECTED]
        rejections = [rejection for each in found if (rejection := each.rejection()) is not None]
        group_class.rejectors = frozenset().union(*(each.unschedulable_plugins for each in rejections))
        group_class.rejected = tuple([each.pod for each in found])
        texts = list(map(_report, outcome.members))
        group_class.reports = (*texts, *[outcome.message] * (len(infos) - len(texts)))

    def applied(self, group_class: EqualGroups, key: str, infos: list[QueuedPodInfo]) -> None:
        """Note why the members wait, now that they are queued again; try the group if one of them is not."""
        if any(info.pool is not Pool.UNSCHEDULABLE for info in infos):
            self.queue.unpark(key)
            return
        group_class.since, group_class.moment = infos[0].timestamp, infos[0].moment
        try:
            self._watch(group_class, infos[0].pod)
        except Exception as error:  # noqa: BLE001 - as in begin
            self._after_fault(error)

    def _after_fault(self, error: Exception) -> None:
        """Report *error*, and forget what was known: events alone decide then which groups are tried."""
        self._rejected.clear()
        fault = CacheFault(f"{type(error).__name__}: {error}; waiting groups are tried at each event")
        fault.__cause__ = error
        self.core.report(Status.from_error(fault), None, "waiting groups")

    def _holds_for_equals(self, outcome: GroupOutcome) -> bool:
        """Return whether a failed attempt says how one for an equal group would end."""
        if outcome.result is not GroupResult.UNSCHEDULABLE or outcome.nominations or outcome.evictions:
            return False
        if self.queue.nominator.nominations:
            return False
        rejected = [each for each in outcome.members if each.result is not MemberResult.FITS]
        return bool(rejected) and all(map(_is_plain, rejected))

    def _watch(self, group_class: EqualGroups, pod: Pod) -> None:
        """Look at rows that change for a class from now on, if that is enough to know its next result."""
        framework = group_class.key[0]
        memo = self.cache.lookup(framework, pod)
        query = None if memo is None else memo.eq_class.only_filter()
        if memo is None or query is None or len(group_class.specs) > 1 or framework.plan.post_filter:
            return
        by_state = query.plugins <= memo.eq_class.plan.by_state
        self._rejected.renew(group_class)
        self._rejected.add(group_class, memo.eq_class.node_columns, query, by_state=by_state)
        if self._rejected.may_be_stale:
            self._rejected.keep(set(self._parked()))

    def may_help(self, group_class: GroupClass) -> bool:
        """See :class:`.GroupOutcomes`."""
        try:
            self._rejected.sync()
            return not self._rejected.suits_none(group_class)
        except Exception as error:  # noqa: BLE001 - as in begin
            self._after_fault(error)
            return True

    def _member(self, pod: Pod) -> Any:
        framework = self.core.frameworks[pod.spec.scheduler_name]
        memo = self.cache.lookup(framework, pod)
        return None if memo is None else (memo.key, metadata_key(pod.metadata))


def _is_plain(member: MemberOutcome) -> bool:
    """Return whether plugins rejected a member for all nodes, and no room is being made for it."""
    rejection = member.rejection() if member.result is MemberResult.REJECTED else None
    if rejection is None or rejection.pending_plugins or not rejection.unschedulable_plugins:
        return False
    return member.nominating is None or not member.nominating.node_name


def _without_group(spec: PodSpec) -> PodSpec:
    return evolve(spec, scheduling_group=None)


def _asked(group: PodGroup) -> Any:
    """Return what a PodGroup asks for."""
    return group.spec


def _report(member: MemberOutcome) -> str:
    """Return why a member of a group waits that cannot run."""
    rejection = member.rejection()
    return unschedulable_text(member) if rejection is None else rejection.message()
