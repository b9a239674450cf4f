"""Known rejections: pods for which an attempt need not be made, because one for an equal pod just failed.

What an attempt for a pod depends on is known where the equivalence cache decides and no uncached plugin has
anything to say: on what its spec and metadata have in common with others, and on the state. Its result
therefore holds for all pods that are equal there, as long as nothing changes. Where a plugin may look at more
(a queue sort plugin with an order of its own, a pre_enqueue plugin, a post_filter that is not repeatable), or
where an observer must see every attempt, each pod is tried by itself. So is each pod after a fault in here:
it is reported, and what was known is forgotten. Other observers get one event for the pods of a class.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from heapq import nsmallest
from operator import attrgetter
from typing import Any

from attrs import field

from .._base.value import record
from ..api import Pod, PodSpec
from ..errors import CacheFault
from ..framework import Diagnosis, Framework, PostFilterResult, Status
from ..queue import PodClass
from .binding.pod_status import REASON_UNSCHEDULABLE, refresh_unschedulable, report_unschedulable
from .core import Core
from .equal_pods import may_wait_together, metadata_key
from .equivalence.cache import EquivalenceCache
from .equivalence.fast_search import FastSearch
from .options import SchedulerOptions
from .passed_over import PassedOverPods
from .rejected_classes import RejectedClass, RejectedClasses, Stamp

_CLASSES = object()
"""Key in the memo of a spec: the scheduler's mark, and its classes of the spec by metadata."""


@record(eq=False)
class WaitingClass(PodClass):
    """Pods with equal specs and metadata, but for their names."""

    spec: PodSpec
    reasons: dict[str, int]
    """Reason → nodes."""
    num_nodes: int
    stamp: Stamp | None
    """As of which a pod of this class was tried and rejected."""
    renewed: int = 0
    """Number of the last look at why it is rejected; 0: none."""


@record(eq=False)
class KnownRejections:
    """Implements :class:`.KnownOutcomes` for a queue."""

    core: Core
    fast: FastSearch
    frameworks: dict[str, Framework]
    """By scheduler name, those whose pods may wait together."""
    cache: EquivalenceCache = field(init=False)
    refresh_seconds: float = 1.0
    """Seconds between two writes of reasons that changed for pods whose attempts were not made."""
    refresh_classes: int = 64
    """Classes that one such write finds out about, at the cost of a decision each; the others come next."""
    max_specs: int = 8
    """Specs with equal signatures, but not equal, whose pods may wait together; others are tried."""
    max_classes: int = 8192
    """Classes and metadata of rejected pods that are kept, and metadata of one spec; then all are dropped."""
    spare_classes: int = 64
    """Classes beyond twice those that were in use, before unused ones are dropped again."""
    _classes: dict[Any, list[WaitingClass]] = field(factory=dict)
    """By class key and metadata."""
    _of_use: int = 0
    """Entries that the last :meth:`_keep_used` left."""
    _mark: object = field(factory=object)
    """Marks the classes on a spec as those of this scheduler since the last fault."""
    any_rejected: bool = field(default=False, init=False)
    """Whether some class is known to be rejected as of ``_stamp``."""
    _stamp: Stamp = ()
    _rejected: RejectedClasses = field(init=False)
    """Classes that need not be tried before a row changes that suits them."""
    _conditions: dict[Callable[[int], bool], set[WaitingClass]] = field(factory=dict)
    """What says that a changed row may change the result of post_filter → the classes that this concerns."""
    _now: Stamp = ()
    """When :meth:`look` was called last."""
    _rejector_changes: int = 0
    _reports_changed: bool = False
    _refreshed: float = float("-inf")  # when changed reports were written
    _renewals: int = 0
    _passed_over: PassedOverPods | None = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.cache, called = self.fast.cache, self.core.observers.passed_over
        self._passed_over = None if called is None else PassedOverPods(called)
        table, policy = self.core.cache.table, self.cache.policy
        self._rejected = RejectedClasses(table, self.stamp, policy.rowwise_rows, policy.answers)

    # ---- what was learnt ---------------------------------------------------------------------------------

    def record(
        self, framework: Framework, pod: Pod, diagnosis: Diagnosis, result: PostFilterResult | None
    ) -> WaitingClass | None:
        """Note that no node is feasible for *pod*; its class, if that goes for other pods too."""
        try:
            return self._record(framework, pod, diagnosis, result)
        except Exception as error:  # noqa: BLE001 - what is only known ahead must not stop the scheduler
            self._after_fault(error, pod)
            return None

    def _record(
        self, framework: Framework, pod: Pod, diagnosis: Diagnosis, result: PostFilterResult | None
    ) -> WaitingClass | None:
        if self.frameworks.get(pod.spec.scheduler_name) is not framework or not self._is_plain(pod):
            return None
        if framework.plan.post_filter and (result is None or not result.repeatable):
            return None
        if diagnosis.pending_plugins or not self.cache.is_shared_outcome(framework, pod):
            return None
        message, rejectors = diagnosis.message(), frozenset(diagnosis.unschedulable_plugins)
        pod_class = self._class_of(pod)
        if pod_class is None:
            pod_class = WaitingClass(rejectors, message, pod.spec, {}, 0, None)
            if not self._keep(framework, pod, pod_class):
                return None
        if pod_class.report != message:
            self._reports_changed = True
        if pod_class.rejectors != rejectors:
            self.core.queue.close_pass()  # the pods before this one were rejected by the former ones
            self._rejector_changes += 1
        pod_class.rejectors, pod_class.report = rejectors, message
        pod_class.reasons, pod_class.num_nodes = diagnosis.reasons(), diagnosis.num_nodes
        pod_class.stamp = self._stamp = self.stamp()
        self.any_rejected = True
        self._watch(framework, pod, pod_class, result)
        return pod_class

    def _watch(
        self, framework: Framework, pod: Pod, pod_class: WaitingClass, result: PostFilterResult | None
    ) -> None:
        """Look at rows that change for *pod_class* from now on, if that is enough to know its next result."""
        rejected = self._rows_as_of_now()
        if pod_class in rejected or (result is not None and result.unless_row is None):
            return
        if rejected.may_be_stale:
            self._forget_unused()
        memo = self.cache.lookup(framework, pod)
        query = None if memo is None else memo.eq_class.only_filter()
        if memo is None or query is None:
            return
        eq_class = memo.eq_class
        by_state = query.plugins <= eq_class.plan.by_state
        rejected.add(pod_class, eq_class.node_columns, query, by_state=by_state)
        if not eq_class.plan.node_filters:
            eq_class.rejected = RejectedClass(rejected, pod_class)
        if result is not None and result.unless_row is not None:
            self._conditions.setdefault(result.unless_row, set()).add(pod_class)

    def _forget_unused(self) -> None:
        """Look at rows no more for classes without a pod that waits together with others."""
        rejected = self._rejected
        rejected.keep(self.core.queue.classes_in_cohorts())
        left = [(each, {one for one in known if one in rejected}) for each, known in self._conditions.items()]
        self._conditions = {condition: pod_classes for condition, pod_classes in left if pod_classes}

    def _rows_as_of_now(self) -> RejectedClasses:
        """Return the rejected classes, up to date with the table."""
        rejected = self._rejected
        drops = rejected.drops
        rows = rejected.sync()
        if rejected.drops != drops:
            self._conditions.clear()
        for condition, pod_classes in list(self._conditions.items()):
            if any(map(condition, rows)):
                rejected.drop(pod_classes)
                del self._conditions[condition]
        return rejected

    def _keep(self, framework: Framework, pod: Pod, pod_class: WaitingClass) -> bool:
        memo = self.cache.lookup(framework, pod)
        if memo is None:
            return False
        key = metadata_key(pod.metadata)
        if len(self._classes) > 2 * self._of_use + self.spare_classes:
            self._keep_used()
        if len(self._classes) > self.max_classes:
            self._classes.clear()
        alike = self._classes.setdefault((memo.key, key), [])
        if len(alike) >= self.max_specs:
            return False
        alike.append(pod_class)
        self._classes_on(pod.spec)[key] = pod_class
        return True

    def _keep_used(self) -> None:
        """Drop classes without a pod that waits: pods of ever new specs come and go. O(classes)."""
        used = self.core.queue.classes_in_cohorts()
        left = {key: alike for key, alike in self._classes.items() if not used.isdisjoint(alike)}
        self._classes, self._of_use = left, len(left)

    def _classes_on(self, spec: PodSpec) -> dict[Any, WaitingClass]:
        """Return the classes that are kept on *spec*, by metadata; those of another scheduler are dropped."""
        # A spec outlives its pods and this scheduler. Versions of two schedulers may be equal, so a stamp
        # does not tell whose class it is, and nor does the address of a framework, which is used again.
        mark, pod_classes = spec.memo.get(_CLASSES, (None, {}))
        if mark is not self._mark or len(pod_classes) > self.max_classes:
            pod_classes = {}
            spec.memo[_CLASSES] = self._mark, pod_classes
        found: dict[Any, WaitingClass] = pod_classes
        return found

    def _is_plain(self, pod: Pod) -> bool:
        """Return whether no nomination is in the way."""
        return not (self.core.queue.nominator.nominations or pod.status.nominated_node_name)

    # ---- what the queue asks -----------------------------------------------------------------------------

    def stamp(self) -> Stamp:
        """See :class:`.KnownOutcomes`."""
        core = self.core
        table = core.cache.table
        return (
            table.row_log.version,
            table.node_log.version,
            core.objects.changes,
            table.affinity_changes,
            core.queue.nominator.version,
        )

    def class_if_rejected(self, pod: Pod) -> PodClass | None:
        """See :class:`.KnownOutcomes`."""
        stamp = self.stamp()
        if stamp != self._stamp:
            self.any_rejected = False
            return None
        pod_class = self.class_of(pod)
        if pod_class is None or pod_class.stamp != stamp:
            return None
        gone = pod.metadata.deletion_timestamp is not None or pod.uid in self.core.cache.states
        return None if gone or not self._is_plain(pod) else pod_class

    def class_of(self, pod: Pod) -> WaitingClass | None:
        """Return the class of *pod*, ``None`` if it has none so far."""
        try:
            return self._class_of(pod)
        except Exception as error:  # noqa: BLE001 - as in record
            self._after_fault(error, pod)
            return None

    def _class_of(self, pod: Pod) -> WaitingClass | None:
        framework = self.frameworks.get(pod.spec.scheduler_name)
        if framework is None:
            return None
        key = metadata_key(pod.metadata)
        pod_classes = self._classes_on(pod.spec)
        pod_class = pod_classes.get(key)
        if pod_class is None and (memo := self.cache.lookup(framework, pod)) is not None:
            for other in self._classes.get((memo.key, key), ()):
                if other.spec == pod.spec:
                    pod_classes[key] = pod_class = other
                    break
        return pod_class

    def look(self) -> int:
        """See :class:`.KnownOutcomes`."""
        try:
            rejected, self._now = self._rows_as_of_now(), self.stamp()
        except Exception as error:  # noqa: BLE001 - as in record
            self._after_fault(error, None)
            rejected = self._rejected
        self._reports_changed = True
        return rejected.drops

    def few_to_try(self) -> Collection[PodClass] | None:
        """See :class:`.KnownOutcomes`."""
        return self._rejected.few

    def is_known(self, pod_class: PodClass) -> bool:
        """See :class:`.KnownOutcomes`."""
        return pod_class in self._rejected

    def must_try(self, pod_class: PodClass) -> bool:
        """See :class:`.KnownOutcomes`."""
        if self._rejected.suits_none(pod_class):
            return False
        return not isinstance(pod_class, WaitingClass) or pod_class.stamp != self._now

    def changes_of_rejectors(self) -> int:
        """See :class:`.KnownOutcomes`."""
        return self._rejector_changes

    def rejected(self, pod: Pod, pod_class: PodClass) -> None:
        """See :class:`.KnownOutcomes`."""
        report_unschedulable(self.core, pod, REASON_UNSCHEDULABLE, pod_class.report, None)
        self._reports_changed |= self._passed_over is not None

    def _after_fault(self, error: Exception, pod: Pod | None) -> None:
        """Report *error*, and forget what was known: each pod is tried until it is known again."""
        self._rejected.clear()
        self._conditions.clear()
        self._classes.clear()
        self._mark = object()
        self.any_rejected, self._stamp, self._now = False, (), ()
        framework = None if pod is None else self.frameworks.get(pod.spec.scheduler_name)
        if pod is not None and framework is not None:
            self.fast.drop(framework, pod, error)
            return
        fault = CacheFault(f"{type(error).__name__}: {error}; waiting pods are tried one by one again")
        fault.__cause__ = error
        self.core.report(Status.from_error(fault), None, "waiting pods")

    # ---- what the cluster shows --------------------------------------------------------------------------

    def refresh_reports(self, now: float, *, rarely: bool = False) -> None:
        """Write the conditions of waiting pods whose attempts were not made, where they changed.

        *rarely*: not if that was done within ``refresh_seconds``, and for ``refresh_classes`` at most, the
        longest unchecked first. O(lines + pods with changes), and a decision for each class out of date.
        """
        if not self._reports_changed or (rarely and now - self._refreshed < self.refresh_seconds):
            return
        self._reports_changed, self._refreshed = False, now
        stamp = self.stamp()
        lines = [line for cohort in self.core.queue.cohorts() for line in cohort.lines.values()]
        stale = {
            pod_class: line
            for line in lines
            if isinstance(pod_class := line.pod_class, WaitingClass) and pod_class.stamp != stamp
        }
        chosen: Iterable[WaitingClass] = stale
        if rarely and len(stale) > self.refresh_classes:
            chosen = nsmallest(self.refresh_classes, stale, key=attrgetter("renewed"))
            self._reports_changed = True
        for pod_class in chosen:
            self._renewals += 1
            pod_class.renewed = self._renewals
            try:
                self._renew(pod_class, stale[pod_class].head.pod)
            except Exception as error:  # noqa: BLE001 - as in record
                self._after_fault(error, stale[pod_class].head.pod)
        for line in lines:
            if line.reported != line.pod_class.report:
                line.reported = line.pod_class.report
                for member in list(line):
                    refresh_unschedulable(self.core, member.pod, line.pod_class.report)
        if self._passed_over is not None:
            self._passed_over.look(lines)

    def _renew(self, pod_class: WaitingClass, pod: Pod) -> None:
        """Find out why *pod_class* is rejected now. Draws no random number, as no row is feasible."""
        rejected = self._rows_as_of_now()
        framework = self.frameworks.get(pod.spec.scheduler_name)
        if framework is None or not rejected.suits_none(pod_class):
            return
        decision = self.core.search.decide(framework, pod)
        diagnosis = decision.diagnosis
        if diagnosis is None:
            return
        if framework.plan.post_filter:
            _, status = framework.run_post_filter(decision.state, pod, diagnosis)
            diagnosis.post_filter_message = status.message
        pod_class.report, pod_class.stamp = diagnosis.message(), self.stamp()
        pod_class.reasons, pod_class.num_nodes = diagnosis.reasons(), diagnosis.num_nodes


def known_rejections(core: Core, options: SchedulerOptions) -> KnownRejections | None:
    """Return what lets pods wait together, and give it to the queue; ``None`` if each pod must be tried."""
    fast, frameworks = may_wait_together(core) if options["tuning"].wait_together else (None, {})
    if fast is None:
        return None
    rejections = KnownRejections(core, fast, frameworks)
    core.queue.use_known_outcomes(rejections)
    return rejections
