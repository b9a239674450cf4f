"""Eviction of victims, off the core: when each begins, and which preemptors have victims left."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from attrs import field

from ..._base.checked import unchecked
from ..._base.value import record
from ...api import DISRUPTION_TARGET, Pod, PodCondition
from ...cluster import ClusterPort, NotFound
from ...cluster.port import RemoteCluster
from ...state import NodeTable
from .candidates import Candidate
from .leaving import PREEMPTION_BY_SCHEDULER

if TYPE_CHECKING:
    from ..handle import Handle

logger = logging.getLogger("schedframe")

PREEMPTIONS_AT_A_TIME: Final = 8
"""Preemptions whose victims are evicted at a time. Writes take turns: with more preemptions, each would get
its room as late as the last one, and its preemptor would be tried at every deletion until then."""
SLOW_SECONDS: Final = 1.0
"""Seconds after which a preemption on a real cluster no longer counts among :data:`PREEMPTIONS_AT_A_TIME`.
Its requests are slow, or fail and are repeated, and others must not wait for that."""
PREEMPTED = "preempted"
_NO_VICTIM: Final = Pod()
"""Stands for the victims of a pod that preempts none."""


@record(frozen=True)
class EvictionOrders:
    """The requests that were made to free a node."""

    evicted: tuple[Pod, ...]
    """Victims that are deleted."""
    stopped: tuple[Pod, ...]
    """Victims that waited in permit or were being bound; they return to the queue."""
    cleared: tuple[Pod, ...]
    """Pods that lose their nomination to the node."""


@record(frozen=True, eq=False)
class _Preemptors:
    """The pods for which victims are evicted together, once."""

    pods: tuple[Pod, ...]

    def __str__(self) -> str:
        return ", ".join(pod.key for pod in self.pods)


@record(eq=False)
class Eviction:
    """Evicts victims for preemptors, and keeps which preemptors have victims left to evict.

    A preemptor should stay out of the queue (pre_enqueue) while :meth:`is_in_progress`, so that it does not
    choose again. The last victim is evicted after the others; its deletion is the event that makes the
    preemptor schedulable. If there is no such event, because that victim is gone already or an eviction
    failed, the preemptor is activated instead.
    """

    handle: Handle
    plugin: str
    last_victims: dict[str, Pod | None] = field(factory=dict, init=False)
    """Uid of a preemptor → the last of its victims, ``None`` as long as there are others to evict. Read-only.

    Empty if no preemption is in progress.
    """
    _table: NodeTable = field(init=False)
    _is_remote: bool = field(init=False)
    """Whether victims are evicted by coroutines: a thread for each costs more than its requests."""
    _under_way: set[_Preemptors] = field(factory=set)
    """Preemptions whose victims are being evicted and that count among :data:`PREEMPTIONS_AT_A_TIME`."""
    _later: deque[tuple[_Preemptors, Callable[[], None]]] = field(factory=deque)
    """Evictions that begin when others have ended."""
    _evicted: deque[str] = field(factory=deque)
    """Uids of preemptors whose last victim was evicted, and perhaps not yet seen to go; oldest first."""

    def __attrs_post_init__(self) -> None:
        self._table = self.handle.table
        self._is_remote = isinstance(self.handle.cluster, RemoteCluster)

    def is_in_progress(self, preemptor: Pod) -> bool:
        """Return whether some victim of *preemptor* is still to be evicted; O(1)."""
        last = self.last_victims.get(preemptor.uid, _NO_VICTIM)
        return last is None or (last is not _NO_VICTIM and self._is_present(last))

    def _is_present(self, last: Pod) -> bool:
        """Return whether the last victim is not yet seen to go.

        The event may arrive before the response to the request, or after it. A preemptor that is tried before
        the event would not see that its room is being made, and could choose other victims.
        """
        table = self._table
        row = table.row_of(last.spec.node_name)
        present = table.pods_at(row).get(last.uid) if row is not None else None
        return present is not None and present.metadata.deletion_timestamp is None

    def start(self, preemptor: Pod, candidate: Candidate) -> EvictionOrders:
        """Begin to evict the victims of *candidate*.

        Waiting victims are rejected, those whose bind has not begun are stopped, those being deleted already
        are left alone, all others evicted.
        """
        evicted: list[Pod] = []
        stopped: list[Pod] = []
        for victim in candidate.victims:
            if victim.is_terminating:
                continue
            (stopped if self._stop(victim) else evicted).append(victim)
        cleared: tuple[Pod, ...] = ()
        if stopped or evicted:
            cleared = self._clear_nominations(preemptor, candidate.node_name)
        for victim in stopped:
            note = f"{_note(preemptor, candidate)}, where it did not run yet"
            self.handle.off_core(partial(_record_preempted, self.handle.cluster, victim, note), _nothing)
        if evicted:
            self._save()
            self.last_victims[preemptor.uid] = None
            self._begin(_Preemptors((preemptor,)), evicted, _note(preemptor, candidate))
        return EvictionOrders(tuple(evicted), tuple(stopped), cleared)

    def start_for_group(self, uid: str, members: Sequence[Pod], candidate: Candidate) -> None:
        """Begin to evict victims for the group of that uid, whose *members* stay out until it is done."""
        evicted = [each for each in candidate.victims if not each.is_terminating and not self._stop(each)]
        if not evicted or not members:
            return
        self._save()
        for member in members:
            self.last_victims[member.uid] = None
        note = f"Preempted by podgroup {uid} on node {candidate.node_name}"
        self._begin(_Preemptors(tuple(members)), evicted, note)

    def _save(self) -> None:
        """Let a trial take back what follows; O(preemptions in progress), once for each trial."""
        undo = self._table.undo
        if undo.marks and not undo.is_saved(id(self)):
            before = dict(self.last_victims), set(self._under_way), deque(self._later), deque(self._evicted)
            undo.save(id(self), (self._set_back, *before))

    def _set_back(
        self,
        last_victims: dict[str, Pod | None],
        under_way: set[_Preemptors],
        later: deque[tuple[_Preemptors, Callable[[], None]]],
        evicted: deque[str],
    ) -> None:
        self.last_victims, self._under_way = last_victims, under_way
        self._later, self._evicted = later, evicted

    def _stop(self, victim: Pod) -> bool:
        waiting = self.handle.waiting_pods.get(victim.uid)
        if waiting is None:
            return self.handle.stop_binding(victim, PREEMPTED)
        waiting.preempt(self.plugin, PREEMPTED)
        return True

    def _clear_nominations(self, preemptor: Pod, node_name: str) -> tuple[Pod, ...]:
        """Withdraw the nominations of pods of lower priority to that node, and return these pods."""
        nominated = self.handle.nominator.nominated_pods_for_node(node_name)
        lower = tuple(pod for pod in nominated if pod.priority < preemptor.priority)
        for pod in lower:
            self.handle.withdraw_nomination(pod)
        return lower

    def _begin(self, preemptors: _Preemptors, victims: list[Pod], note: str) -> None:
        """Evict the victims as soon as earlier preemptions have ended."""
        self._forget_gone()
        self._later.append((preemptors, partial(self._evict, preemptors, victims, note)))
        self._begin_later()

    def _begin_later(self) -> None:
        while self._later and len(self._under_way) < PREEMPTIONS_AT_A_TIME:
            preemptors, begin = self._later.popleft()
            self._under_way.add(preemptors)
            if self._is_remote:
                self.handle.call_later(SLOW_SECONDS, partial(self._stop_counting, preemptors))
            begin()

    def _stop_counting(self, preemptors: _Preemptors) -> None:
        self._under_way.discard(preemptors)
        self._begin_later()

    def _forget_gone(self) -> None:
        """Forget preemptors whose last victim is seen to go; O(1) for each preemption."""
        while self._evicted:
            last = self.last_victims.get(self._evicted[0], _NO_VICTIM)
            if last is None or (last is not _NO_VICTIM and self._is_present(last)):
                return
            self.last_victims.pop(self._evicted.popleft(), None)

    def _evict(self, preemptors: _Preemptors, victims: list[Pod], note: str) -> None:
        """Evict all but the last victim together, then the last; after a failure activate the preemptors."""
        *others, last = victims
        off_core = self.handle.off_core
        message = f"{self.handle.profile_name}: preempting to accommodate a higher priority pod"

        chosen: Callable[..., Any] = _evict_on_loop if self._is_remote else _evict
        evict = partial(chosen, self.handle.cluster, message, note)

        failed: list[bool] = []

        def one_done(victim: Pod, error: Exception | None) -> None:
            failed.append(_failed(victim, error, preemptors))
            if len(failed) == len(others):
                others_done()

        def others_done() -> None:
            if any(failed):
                self._finish(preemptors, again=True)
            else:
                self.last_victims |= dict.fromkeys([pod.uid for pod in preemptors.pods], last)
                off_core(partial(evict, last), last_done)

        def last_done(error: Exception | None) -> None:
            _failed(last, error, preemptors)
            self._finish(preemptors, again=error is not None)

        for victim in others:
            off_core(partial(evict, victim), partial(one_done, victim))
        if not others:
            others_done()

    def _finish(self, preemptors: _Preemptors, *, again: bool) -> None:
        if again:
            for pod in preemptors.pods:
                self.last_victims.pop(pod.uid, None)
            self.handle.activate(preemptors.pods)
        else:
            self._evicted.extend(pod.uid for pod in preemptors.pods)
            self._forget_gone()
        self._stop_counting(preemptors)


def _note(preemptor: Pod, candidate: Candidate) -> str:
    return f"Preempted by pod {preemptor.uid} on node {candidate.node_name}"


def _record_preempted(cluster: ClusterPort, victim: Pod, note: str) -> None:
    error = _attempt(lambda: cluster.record_event(victim, "Normal", "Preempted", note, "Preempting"))
    if error is not None:  # the victim is evicted all the same
        logger.warning("cannot record that pod %s was preempted: %s", victim.key, error)


def _failed(victim: Pod, error: Exception | None, preemptors: _Preemptors) -> bool:
    """Return whether the eviction failed, other than because the victim is gone."""
    if error is None or isinstance(error, NotFound):
        return False
    logger.warning("cannot evict pod %s for %s: %s", victim.key, preemptors, error)
    return True


def _evict(cluster: ClusterPort, message: str, note: str, victim: Pod) -> Exception | None:
    """Evict *victim* and record that; return what went wrong."""
    error = _attempt(lambda: cluster.evict(victim, condition=_condition(victim, message)))
    if error is None:
        _record_preempted(cluster, victim, note)
    return error


async def _evict_on_loop(cluster: ClusterPort, message: str, note: str, victim: Pod) -> Exception | None:
    """Do the same as :func:`_evict`, on the thread of the cluster's loop."""
    try:
        answer = cluster.evict(victim, condition=_condition(victim, message))
        if answer is not None:
            await answer
    except Exception as error:  # noqa: BLE001 - whatever the cluster raises is an outcome, looked at in the core
        return error
    _record_preempted(cluster, victim, note)
    return None


_new_condition: Final = unchecked(PodCondition)


def _condition(victim: Pod, message: str) -> PodCondition:
    generation = victim.metadata.generation
    return _new_condition(
        DISRUPTION_TARGET, "True", PREEMPTION_BY_SCHEDULER, message, observed_generation=generation
    )


def _attempt(action: Callable[[], object]) -> Exception | None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever the cluster raises is an outcome, looked at in the core
        return error
    return None


def _nothing(_: None) -> None:
    """Ignore the result."""
