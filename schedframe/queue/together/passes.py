"""A pass over the active pods: which pod is tried next, and which ones count as attempted before it.

The invariant: pods that ``pop`` passes over count as tried in the order of the queue, each right before the
pod that ``pop`` returned next, and those behind that pod do not. So only entries of one order, which share
the places between them, are open at a time: the *front*. All members before the mark count as attempted, the
others are still active. A change of the queue that concerns them closes the front there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from attrs import field

from ..._base.value import record
from ..events import ClusterEvent
from ..heap import Heap
from ..hints import HintTable
from ..pools import Pools
from ..queued_pod import NO_PLUGINS, QueuedPodInfo, interned
from .cohort import Cohort, chosen, cohort_of, line_of
from .joining import Joining
from .known_outcomes import KnownOutcomes
from .moments import Moment, Moments, common_order


@record(eq=False)
class Pass:
    """Takes pods out of the pools, and puts back those whose attempts need not be made."""

    pools: Pools
    moments: Moments
    known_outcomes: KnownOutcomes
    clock: Callable[[], float]
    joining: Joining = field(init=False)
    front: list[QueuedPodInfo] = field(factory=list, init=False)
    """Popped pods that count as attempted, and histories of cohorts; empty while no pass is interrupted."""
    _rank: list[Any] = field(factory=list, init=False)
    """Sort key of the front in its heap, without the place."""
    _heap: Heap[QueuedPodInfo] = field(init=False)
    """From which the front was popped."""
    _mark: int = field(default=0, init=False)
    """Members of the front with a lower place count as attempted."""
    _at: Moment | None = field(default=None, init=False)
    """The moment of their failure; ``None``: the mark has not passed any."""
    _popped: int = field(default=0, init=False)
    """The number of their pop; one of them is counted by it."""

    def __attrs_post_init__(self) -> None:
        self.joining = Joining(self.pools)
        self._heap = self.pools.active

    def pop(self) -> QueuedPodInfo | None:
        """Return the first pod that must be tried; ``None`` if there is none, and then the front is closed.

        O(log n), and O(classes) where pods are passed over.
        """
        pools, known_outcomes = self.pools, self.known_outcomes
        while True:
            if self.front:
                found = self._next()
                if found is not None:
                    return found
                continue
            info = pools.pop()
            if info is None:
                return None
            if info.cohort is None:
                if not known_outcomes.any_rejected:
                    return info
                info.pod_class = known_outcomes.class_if_rejected(info.pod)
                if info.pod_class is None:
                    return info
            self._heap = heap = pools.heap_of(info)
            *self._rank, _ = heap.rank(info)
            self._mark = 0
            self.front.append(info)

    # ---- the front ---------------------------------------------------------------------------------------

    def _next(self) -> QueuedPodInfo | None:
        """Return the next pod of the front that must be tried; ``None``: it has none, and is closed."""
        if self._is_overtaken():
            self.close()
            return None
        best, place = None, inf
        for info in self.front:
            best, place = self._earlier(info, best, place)
        while (rank := self._heap.first_rank()) is not None and rank[:-1] == self._rank and rank[-1] < place:
            head = self.pools.pop()
            if head is None:  # the first one rests, and lets no other pod leave early
                self._advance(rank[-1])
                self.close()
                return None
            if head.cohort is None:
                head.pod_class = self.known_outcomes.class_if_rejected(head.pod)
                if head.pod_class is None:
                    self._advance(head.place)
                    self._mark = head.place + 1
                    return head
            self.front.append(head)
            best, place = self._earlier(head, best, place)
        if best is None:
            self._advance(1 + max(map(_highest, self.front)))
            self.close()
            return None
        self._advance(int(place))
        self._release(best)
        self._mark = int(place) + 1
        return best

    def _earlier(
        self, info: QueuedPodInfo, best: QueuedPodInfo | None, place: float
    ) -> tuple[QueuedPodInfo | None, float]:
        """Return the first member of an entry that must be tried, or *best* if that is before it."""
        member = self._first_to_try(info)
        if member is None or (found := _place_of(member)) > place:
            return best, place
        return member, found

    def _is_overtaken(self) -> bool:
        """Return whether a pod came that goes before what is left of the front. O(1) amortised."""
        pools = self.pools
        if self._heap is not pools.active and pools.active.entries:
            return True
        rank = self._heap.first_rank()
        return rank is not None and rank < [*self._rank, self._mark]

    def _first_to_try(self, info: QueuedPodInfo) -> QueuedPodInfo | None:
        """Return the first member that must be tried; ``None`` for a pod, which was passed over."""
        cohort, known_outcomes = cohort_of(info), self.known_outcomes
        if cohort is None:
            return None
        look, few = known_outcomes.look(), known_outcomes.few_to_try()
        if few is not None and cohort.known_as_of == look:
            must_try = known_outcomes.must_try
            return cohort.first_of(
                [line for line in chosen(cohort, few) if must_try(line.pod_class)], self._mark
            )
        best = cohort.first_of_all(known_outcomes.must_try, self._mark)
        if best is None and all(map(known_outcomes.is_known, cohort.lines)):
            cohort.known_as_of = look
        return best

    def _release(self, member: QueuedPodInfo) -> None:
        """Let a member of a cohort leave the queue alone."""
        cohort = line_of(member).cohort
        place = cohort.place_of(member)
        cohort.release(member)
        if place == cohort.lowest:
            cohort.lowest = cohort.history.place = place + 1
        del self.pools.by_key[member.key]
        self.pools.count_early(member)
        if not cohort.size:
            self.front.remove(cohort.history)

    def _advance(self, place: int) -> None:
        """Let all members before that place count as attempted now. O(front), O(lines) at another moment."""
        mark, lowest = self._mark, min([info.place for info in self.front])
        if place <= mark or place <= lowest:
            return
        now = self.clock()
        self._mark = place
        goes_on = self._at is not None and self.moments.is_now(self._at, now)
        if not goes_on and not any(_has_between(info, mark, place) for info in self.front):
            return
        first = min(max(mark, lowest), place - 1)
        at = self.moments.of_range(common_order(self.front[0]), first, place - 1, now)
        if self._at is not None and at != self._at:
            self._reject_before(mark)
        if self._at is None:
            self._popped = self.moments.cycle = self.moments.cycle + 1
        self._at = at

    # ---- closing it --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Put back what counts as attempted as rejected, and all else as active. O(lines + members moved)."""
        if self._at is not None:
            self._reject_before(self._mark)
        entries = list(self.front)
        self.front.clear()
        for info in entries:
            self.pools.push(info)

    def _reject_before(self, place: int) -> None:
        """Put back all members before that place, with the history that their attempts would have left."""
        at, entries = self._at, list(self.front)
        assert at is not None
        self._at, rejected = None, 0
        self.front.clear()
        for info in entries:
            cohort = cohort_of(info)
            if cohort is None and info.place < place:
                rejected += 1
                self._reject(info, at)
                continue
            part = None if cohort is None else cohort.split_before(place)
            if part is not None:
                rejected += part.size
                self._reject(part.history, at)
            if part is not cohort or cohort is None:
                self.front.append(info)
        self.moments.cycle += rejected - 1

    def _reject(self, info: QueuedPodInfo, at: Moment) -> None:
        """Give a pod or a cohort the history that a rejection leaves, and let it wait."""
        cohort, pod_class = cohort_of(info), info.pod_class
        info.attempts += 1
        info.unschedulable_count += 1
        info.error_count, info.backoff_expiry, info.flushed = 0, None, False
        info.pending_plugins = NO_PLUGINS
        info.timestamp, info.moment, shift = at
        info.popped = self._popped
        if cohort is None:
            assert pod_class is not None
            info.pool = None
            info.place += shift
            info.unschedulable_plugins = interned(pod_class.rejectors)
            self.pools.wait_rejected(info, info.timestamp)
            self.joining.pod(info, pod_class)
            self.known_outcomes.rejected(info.pod, pod_class)
            return
        self.pools.count_early(info)
        info.pool = None
        cohort.shift_by(shift)
        changes = self.known_outcomes.changes_of_rejectors()
        if cohort.rejectors_as_of != changes:
            while (part := _other_rejectors(cohort)) is not None:
                self._let_wait(part)
            info.unschedulable_plugins = interned(next(iter(cohort.lines)).rejectors)
            cohort.rejectors_as_of = changes
        self._let_wait(cohort)

    def _let_wait(self, cohort: Cohort) -> None:
        history = cohort.history
        if cohort.rejectors_as_of < 0:
            history.unschedulable_plugins = interned(next(iter(cohort.lines)).rejectors)
        history.place = cohort.lowest
        self.pools.wait_rejected(history, history.timestamp)
        self.joining.cohort(cohort)

    # ---- what events concern -----------------------------------------------------------------------------

    def concerns(self, hints: HintTable, event: ClusterEvent) -> bool:
        """Return whether *event* may help pods that count as attempted and would be unschedulable by now."""
        if self._at is None:
            return False
        groups = {(info.profile, rejectors) for info, rejectors in self._rejected()}
        return any(hints.plan_for(event, profile, rejectors, NO_PLUGINS) for profile, rejectors in groups)

    def _rejected(self) -> Iterator[tuple[QueuedPodInfo, frozenset[str]]]:
        """Yield entries with the sets of plugins that rejected some of their members."""
        changes = self.known_outcomes.changes_of_rejectors()
        for info in self.front:
            cohort = cohort_of(info)
            if cohort is None:
                assert info.pod_class is not None
                yield info, info.pod_class.rejectors
            elif cohort.rejectors_as_of == changes:
                yield info, info.unschedulable_plugins
            else:
                for pod_class in cohort.lines:
                    yield info, pod_class.rejectors


def _place_of(member: QueuedPodInfo) -> int:
    return line_of(member).cohort.place_of(member)


def _highest(info: QueuedPodInfo) -> int:
    cohort = cohort_of(info)
    return info.place if cohort is None else cohort.highest


def _has_between(info: QueuedPodInfo, first: int, end: int) -> bool:
    """Return whether a pod, or a member of a cohort, has a place from *first* on and before *end*."""
    cohort = cohort_of(info)
    return first <= info.place < end if cohort is None else cohort.has_between(first, end)


def _other_rejectors(cohort: Cohort) -> Cohort | None:
    """Split lines off that other plugins rejected than the first one, with one history for all."""
    rejectors = {pod_class.rejectors for pod_class in cohort.lines}
    if len(rejectors) == 1:
        return None
    one = rejectors.pop()
    return cohort.split(lambda line: line.pod_class.rejectors == one)
