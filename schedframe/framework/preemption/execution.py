"""Make the victims go: off the core, so that it can schedule meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import define, field

from ...api import DISRUPTION_TARGET, Pod, PodCondition
from ...cluster import ClusterPort, NotFound
from .candidates import Candidate

if TYPE_CHECKING:
    from ..handle import Handle

logger = logging.getLogger("schedframe")

REASON = "PreemptionByScheduler"
PREEMPTED = "preempted"


@define(eq=False)
class Eviction:
    """Evicts victims for preemptors; knows for which pods it is not finished.

    A preemptor should stay out of the queue (pre_enqueue) while it is ``in_progress``: the deletion of its
    last victim, which is asked for only when the others are done, is the event that brings it back. Where
    no such event will come, because that victim is gone already or could not be evicted, the preemptor is
    activated instead.
    """

    handle: Handle
    plugin: str
    in_progress: set[str] = field(factory=set)
    """Uids of preemptors some of whose victims are still to be evicted."""

    def start(self, preemptor: Pod, candidate: Candidate) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
        """Begin; (victims that are deleted, pods that lose their nomination to the node).

        Waiting victims are rejected, those being deleted already are left alone.
        """
        evicted = []
        for victim in candidate.victims:
            waiting = self.handle.waiting_pods.get(victim.uid)
            if waiting is not None:
                waiting.reject(self.plugin, PREEMPTED)
            elif not victim.is_terminating:
                evicted.append(victim)
        cleared: tuple[Pod, ...] = ()
        if evicted:
            cleared = self._clear_nominations(preemptor, candidate.node_name)
            self.in_progress.add(preemptor.uid)
            self._evict_others(preemptor, evicted)
        return tuple(evicted), cleared

    def _clear_nominations(self, preemptor: Pod, node_name: str) -> tuple[Pod, ...]:
        """Pods of lower priority that were to have that room must look for another."""
        nominated = self.handle.nominator.nominated_pods_for_node(node_name)
        lower = tuple(pod for pod in nominated if pod.priority < preemptor.priority)
        cluster = self.handle.cluster
        for pod in lower:
            self.handle.off_core(partial(_clear, cluster, pod), _ignore_gone)
        return lower

    def _evict_others(self, preemptor: Pod, victims: Sequence[Pod]) -> None:
        cluster, profile = self.handle.cluster, self.handle.profile_name
        condition = PodCondition(
            type=DISRUPTION_TARGET,
            status="True",
            reason=REASON,
            message=f"{profile}: preempting to accommodate a higher priority pod",
        )

        def evict(victim: Pod) -> Exception | None:
            error = _attempt(lambda: cluster.evict(victim, condition=condition))
            if error is None:
                message = f"Preempted by pod {preemptor.uid} on node {victim.spec.node_name}"
                untold = _attempt(lambda: cluster.record_event(victim, "Normal", "Preempted", message))
                if untold is not None:  # the victim goes all the same
                    logger.warning("cannot record that pod %s was preempted: %s", victim.key, untold)
            return error

        def others_done(errors: list[Exception | None]) -> None:
            self.in_progress.discard(preemptor.uid)
            last = victims[-1]
            self.handle.off_core(lambda: evict(last), lambda error: last_done([*errors, error]))

        def last_done(errors: list[Exception | None]) -> None:
            for victim, error in zip(victims, errors, strict=True):
                if error is not None and not isinstance(error, NotFound):
                    logger.warning("cannot evict pod %s for %s: %s", victim.key, preemptor.key, error)
            if errors[-1] is not None or any(e is not None and not isinstance(e, NotFound) for e in errors):
                self.handle.activate([preemptor])

        if len(victims) == 1:
            others_done([])
        else:
            self.handle.off_core(lambda: [evict(victim) for victim in victims[:-1]], others_done)


def _clear(cluster: ClusterPort, pod: Pod) -> Exception | None:
    return _attempt(lambda: cluster.patch_pod_status(pod, nominated_node_name=""))


def _attempt(action: Callable[[], None]) -> Exception | None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever the cluster raises is an outcome, looked at in the core
        return error
    return None


def _ignore_gone(error: Exception | None) -> None:
    if error is not None and not isinstance(error, NotFound):
        logger.warning("cannot clear a nomination: %s", error)
