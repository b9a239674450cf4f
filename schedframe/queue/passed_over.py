"""Pods that ``pop`` passes over, because it is known that an attempt would end with a rejection.

An attempt that need not be made still counts: the pod goes back to the unschedulable pool with the history
that the attempt would have left. What was passed over is *settled*, that is put back, before anything else
than an attempt changes the queue, and when no other pod is left. Until then it can be taken back: if the
state changes after the attempt of a pod, those that come after that pod are looked at again.
docs/explanation/waiting-together.md has the whole argument.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from attrs import field

from .._base.value import record
from .cohort import Cohort, cohort_of, line_of, size_of
from .events import ClusterEvent
from .hints import HintTable
from .known_outcomes import KnownOutcomes, PodClass
from .moments import Moment, Moments, common_order
from .pools import Pools
from .queued_pod import NO_PLUGINS, Pool, QueuedPodInfo, interned


@record(eq=False, weakref_slot=False)
class _Passed:
    info: QueuedPodInfo
    """A pod that waits alone, or the history of a cohort."""
    pod_class: PodClass | None
    """``None`` for a cohort."""
    at: Moment
    """The moment of its failure."""
    order: Any
    """Its order when it was popped, without the place."""


@record(eq=False)
class PassedOver:
    """Takes pods out of the pools, and puts back those whose attempts need not be made."""

    pools: Pools
    moments: Moments
    known_outcomes: KnownOutcomes
    clock: Callable[[], float]
    unsettled: list[object] = field(factory=list)
    """Not empty while pods are passed over that are not settled; read-only."""
    _passed: list[_Passed] = field(factory=list)
    _begun: list[Cohort] = field(factory=list)
    """Active cohorts whose first members were passed over, while a later one had to be tried."""
    _last: tuple[Any, int] = ((), 0)
    """Order and place of the last pod that was returned after others were passed over."""
    _stamp: Hashable = None
    """As of which the pods in ``_passed`` would be rejected."""
    _same_history: dict[Any, QueuedPodInfo] = field(factory=dict)
    """History → what waits with it; of the last moment only."""
    _moment: tuple[float, int] = (0.0, 0)
    """Of ``_same_history``."""

    def pop(self) -> QueuedPodInfo | None:
        """Return the first pod that must be tried; ``None`` if there is none, and then all are settled.

        O(log n), and O(cohorts + lines) where pods are passed over.
        """
        pools, known_outcomes = self.pools, self.known_outcomes
        while True:
            if self._passed and self._stamp != known_outcomes.stamp():
                self._take_back()
            info = pools.pop()
            if info is None:
                self._settle_all()
                return None
            if info.cohort is not None:
                found = self._first_of(info)
                if found is not None:
                    return found
                continue
            pod_class = known_outcomes.class_if_rejected(info.pod) if known_outcomes.any_rejected else None
            if pod_class is None:
                if self._passed:
                    self._last = common_order(info), info.place
                return info
            self._pass(info, pod_class, self.moments.of(info, self.clock()))

    def infos(self) -> list[QueuedPodInfo]:
        """Return what is passed over and not settled: pods, and the histories of cohorts. Any thread."""
        return [each.info for each in list(self._passed)]

    # ---- passing over ------------------------------------------------------------------------------------

    def _first_of(self, history: QueuedPodInfo) -> QueuedPodInfo | None:
        """Release the first member that must be tried; ``None``: it is another's turn, or there is none."""
        cohort = cohort_of(history)
        assert cohort is not None
        best = self._first_to_try(cohort)
        if best is None:
            self._pass_cohort(cohort)
            return None
        place = line_of(best).place_of(best)
        order = common_order(history)
        if cohort.attempted or place > history.place:
            until = self._turn_of_other(history, place)
            self._begin(cohort, place if until is None else until)
            if until is not None:
                history.place = place
                self.pools.push(history)
                return None
        if self._passed or cohort.attempted:
            self._last = order, place
        cohort.release(best)
        del self.pools.by_key[best.key]
        if cohort.size:
            alone = len(cohort.lines) == 1 and not cohort.attempted
            history.place = _first_place(cohort) if alone else place + 1
            if alone:
                cohort.lowest = history.place
            self.pools.push(history)
        elif cohort.attempted:
            self._end(cohort)
        return best

    def _first_to_try(self, cohort: Cohort) -> QueuedPodInfo | None:
        """Return the first member of an active cohort that must be tried."""
        known_outcomes = self.known_outcomes
        look, few = known_outcomes.look(), known_outcomes.few_to_try()
        if few is not None and cohort.known_as_of == look:
            return cohort.first_of(few, known_outcomes.must_try)
        best = cohort.first_of_all(known_outcomes.must_try)
        if best is None and all(map(known_outcomes.is_known, cohort.lines)):
            cohort.known_as_of = look
        return best

    def _turn_of_other(self, history: QueuedPodInfo, place: int) -> int | None:
        """Return the place of the next pod if that goes before *place* of the cohort."""
        other = self.pools.first_like(history)
        if other is None:
            return None
        before, history.place = history.place, place
        goes_first = self.pools.goes_first(history)
        history.place = before
        return None if goes_first else other.place

    def _begin(self, cohort: Cohort, place: int) -> None:
        """Note that the members before that place count as attempted."""
        at = self.moments.of(cohort.history, self.clock(), cohort.highest)
        if cohort.attempted:
            self._cut(cohort, at)
        else:
            self._begun.append(cohort)
            self.unsettled.append(cohort)
        cohort.attempted, cohort.attempted_at = place, at
        self._stamp = self.known_outcomes.stamp()

    def _cut(self, cohort: Cohort, at: Moment) -> None:
        """Divide a cohort that was attempted in part, unless the rest fails at the same moment."""
        if cohort.attempted_at == at:
            return
        assert cohort.attempted_at is not None
        order = common_order(cohort.history)
        part = cohort.split_before(cohort.attempted)
        if part is not None:
            self._passed.append(_Passed(part.history, None, cohort.attempted_at, order))

    def _end(self, cohort: Cohort) -> None:
        cohort.attempted = 0
        self._begun.remove(cohort)

    def _pass_cohort(self, cohort: Cohort) -> None:
        at = self.moments.of(cohort.history, self.clock(), cohort.highest)
        if cohort.attempted:
            self._cut(cohort, at)
            self._end(cohort)
        if cohort.size:
            self._pass(cohort.history, None, at)

    def _pass(self, info: QueuedPodInfo, pod_class: PodClass | None, at: Moment) -> None:
        if not self._passed:
            self._stamp = self.known_outcomes.stamp()
        self._passed.append(_Passed(info, pod_class, at, common_order(info)))
        self.unsettled.append(info)

    # ---- taking back -------------------------------------------------------------------------------------

    def _take_back(self) -> None:
        """Make those active again that come after the last pod that was tried: the state has changed."""
        order, place = self._last
        passed, self._passed = self._passed, []
        for each in passed:
            cohort = cohort_of(each.info)
            if cohort is None or each.order != order or cohort.highest < place:
                self._passed.append(each)
                continue
            each.info.place = max(place, each.info.place)
            cohort.attempted, cohort.attempted_at = place, each.at
            self._begun.append(cohort)
            self.pools.push(each.info)
        self._stamp = self.known_outcomes.stamp()

    def concerns(self, hints: HintTable, event: ClusterEvent) -> bool:
        """Return whether *event* may help pods that were passed over and would be unschedulable by now."""
        groups = {(info.profile, rejectors) for info, rejectors in self._rejected_groups()}
        return any(hints.plan_for(event, profile, rejectors, NO_PLUGINS) for profile, rejectors in groups)

    def _rejected_groups(self) -> Iterator[tuple[QueuedPodInfo, frozenset[str]]]:
        for each in self._passed:
            if each.pod_class is not None:
                yield each.info, each.pod_class.rejectors
        changes = self.known_outcomes.changes_of_rejectors()
        for cohort in [*(cohort_of(each.info) for each in self._passed), *self._begun]:
            if cohort is None:
                continue
            if cohort.rejectors_as_of == changes:
                yield cohort.history, cohort.history.unschedulable_plugins
            else:
                for pod_class in cohort.lines:
                    yield cohort.history, pod_class.rejectors

    def settle(self) -> None:
        """Put back what was passed over up to the last pod that was tried; all else is active again."""
        if not (self._passed or self._begun):
            return
        self._take_back()
        for cohort in self._begun:
            at, order = cohort.attempted_at, common_order(cohort.history)
            assert at is not None
            in_pool = cohort.history
            self.pools.leave(in_pool)
            part = cohort.split_before(cohort.attempted)
            cohort.attempted = 0
            if part is not None:
                self._passed.append(_Passed(part.history, None, at, order))
            if cohort.size:
                in_pool.place = cohort.lowest
                self.pools.push(in_pool)
        self._begun.clear()
        self._settle_all()

    def _settle_all(self) -> None:
        passed, self._passed = self._passed, []
        self.unsettled.clear()
        for each in passed:
            self._reject(each)

    def _reject(self, passed: _Passed) -> None:
        """Give a pod or a cohort the history that a rejection leaves, and let it wait."""
        info, pod_class = passed.info, passed.pod_class
        cohort = cohort_of(info)
        self.moments.cycle += size_of(info)
        info.attempts += 1
        info.unschedulable_count += 1
        info.error_count, info.backoff_expiry, info.flushed, info.pool = 0, None, False, None
        info.pending_plugins = NO_PLUGINS
        info.timestamp, info.moment, shift = passed.at
        info.popped = self.moments.cycle
        if cohort is None:
            assert pod_class is not None
            info.place += shift
            info.unschedulable_plugins = interned(pod_class.rejectors)
            self.pools.wait_rejected(info, info.timestamp)
            self.wait_together(info, pod_class)
            self.known_outcomes.rejected(info.pod, pod_class)
            return
        cohort.shift_by(shift)
        info.place = cohort.lowest
        changes = self.known_outcomes.changes_of_rejectors()
        if cohort.rejectors_as_of != changes:
            while (part := _other_rejectors(cohort)) is not None:
                self._let_wait(part)
            info.unschedulable_plugins = interned(next(iter(cohort.lines)).rejectors)
            cohort.rejectors_as_of = changes
        self._let_wait(cohort)

    # ---- waiting together --------------------------------------------------------------------------------

    def _let_wait(self, cohort: Cohort) -> None:
        history = cohort.history
        if cohort.rejectors_as_of < 0:
            history.unschedulable_plugins = interned(next(iter(cohort.lines)).rejectors)
        history.place = cohort.lowest
        self.pools.wait_rejected(history, history.timestamp)
        other = self._find_same(history)
        if other is None:
            return
        waiting = cohort_of(other)
        if waiting is None:
            assert other.pod_class is not None
            self.pools.leave(other)
            cohort.add(other, other.pod_class)
            self._same_history[self._key(history)] = history
            return
        small, large = sorted((cohort, waiting), key=lambda one: len(one.lines))
        self.pools.leave(small.history)
        large.absorb(small)
        self._same_history[self._key(large.history)] = large.history

    def wait_together(self, info: QueuedPodInfo, pod_class: PodClass) -> None:
        """Let a pod that was just rejected, and is in the unschedulable pool, wait with its equals. O(1)."""
        info.pod_class = pod_class
        other = self._find_same(info)
        if other is None:
            return
        self.pools.leave(info)
        info.pool = None
        cohort = cohort_of(other)
        if cohort is None:
            assert other.pod_class is not None
            cohort = Cohort.like(other)
            self.pools.leave(other)
            cohort.history.pool = None
            cohort.add(other, other.pod_class)
            self.pools.wait(cohort.history, other.timestamp)
            self._same_history[self._key(cohort.history)] = cohort.history
        cohort.add(info, pod_class)

    def _find_same(self, info: QueuedPodInfo) -> QueuedPodInfo | None:
        """Return what waits with the history of *info*; if nothing does, *info* represents it from now on."""
        moment = info.timestamp, info.moment
        if moment != self._moment:
            self._same_history.clear()
            self._moment = moment
        key = self._key(info)
        other = self._same_history.get(key)
        if (
            other is not None
            and other is not info
            and other.pool is Pool.UNSCHEDULABLE
            and other.line is None
            and (other.pod_class is not None if other.cohort is None else size_of(other))
            and self._key(other) == key
        ):
            return other
        self._same_history[key] = info
        return None

    def _key(self, info: QueuedPodInfo) -> Any:
        """Return all of a history that decides what becomes of it."""
        return (
            info.profile,
            common_order(info)[:3],
            info.unschedulable_plugins,
            info.pending_plugins,
            info.gating_plugin,
            info.error_count,
            min(info.unschedulable_count, self.pools.backoff.steps),
            info.flushed,
        )


def _other_rejectors(cohort: Cohort) -> Cohort | None:
    """Split lines off that other plugins rejected than the first one, with one history for all."""
    rejectors = {pod_class.rejectors for pod_class in cohort.lines}
    if len(rejectors) == 1:
        return None
    one = rejectors.pop()
    return cohort.split(lambda line: line.pod_class.rejectors == one)


def _first_place(cohort: Cohort) -> int:
    """Return the lowest place of a cohort with one line."""
    (line,) = cohort.lines.values()
    return line.place_of(next(iter(line.members.values())))
