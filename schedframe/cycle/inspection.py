"""Looks at the state of a scheduler from other threads: the cache, and how it differs from the cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from ..errors import SchedframeError
from .messages import Question
from .scheduler import Scheduler

T = TypeVar("T")

CORE_SECONDS: Final = 10.0
"""Seconds within which the thread of the scheduler must have taken a look."""
LISTED: Final = 100
"""Names of one kind of difference that are listed; the others are counted."""


class CoreBusy(SchedframeError):
    """The scheduler's thread did not get to a question in time."""


def look_at(scheduler: Scheduler, look: Callable[[], T]) -> T:
    """Return *look*'s result, computed between two pods; from any thread.

    While another thread drives the scheduler, that one computes it, else this one, after it has taken in what
    happened. Raises :class:`CoreBusy`, and what *look* raises.
    """
    owner = scheduler.core.owner
    is_elsewhere = owner not in (0, threading.get_ident())
    if not scheduler._driving.acquire(blocking=False):
        return on_core(scheduler, look)
    try:
        # Without a run, a thread that is alive may be between two steps.
        if is_elsewhere and not scheduler._runs and owner in {each.ident for each in threading.enumerate()}:
            return on_core(scheduler, look)
        scheduler.sync()
        return look()
    finally:
        scheduler._driving.release()


def on_core(scheduler: Scheduler, look: Callable[[], T], seconds: float = CORE_SECONDS) -> T:
    """Return *look*'s result, computed in the scheduler's thread between two pods.

    Raises :class:`CoreBusy` if that takes longer than *seconds*, and what *look* raises. Not to be called in
    the scheduler's own thread.
    """
    outcome: Future[T] = Future()

    def answer() -> None:
        if not outcome.set_running_or_notify_cancel():
            return
        try:
            outcome.set_result(look())
        except Exception as error:  # noqa: BLE001 - it belongs to the caller, not to the scheduler
            outcome.set_exception(error)

    # Twice, so that it comes behind what the scheduler finds when it begins to follow the cluster.
    inbox = scheduler.core.inbox
    inbox.put(Question(lambda: inbox.put(Question(answer))))
    try:
        return outcome.result(seconds)
    except TimeoutError:
        outcome.cancel()
        raise CoreBusy(f"the scheduler did not answer within {seconds:g} s") from None


def cache_dump(scheduler: Scheduler) -> dict[str, Any]:
    """Return nodes with what is requested on them, and the assumed pods, in plain types. O(nodes + pods)."""
    cache = scheduler.core.cache
    return {
        "pods": cache.pod_count,
        "assumed": sorted(f"{each.pod.key} on {each.node_name}" for each in cache.pods() if each.assumed),
        "nodes": [
            {
                "name": each.node.name,
                "pods": len(each.pods),
                "requested": dict(each.requested),
                "allocatable": dict(each.allocatable),
            }
            for each in cache.snapshot()
        ],
    }


def compare(scheduler: Scheduler) -> dict[str, Any]:
    """Return how the cache differs from what the cluster shows: objects that one of them has alone.

    A pod on its way between the two differs for a moment. O(nodes + pods).
    """
    core = scheduler.core
    nodes = {each.name for each in core.cluster.list("Node")}
    cached_nodes = {each.node.name for each in core.cache.snapshot()}
    pods = {each.key for each in core.cluster.list("Pod") if each.spec.node_name and not each.is_terminated}
    cached_pods = {each.pod.key for each in core.cache.pods() if not each.assumed}
    found = {
        "nodes": _difference(nodes, cached_nodes),
        "pods": _difference(pods, cached_pods),
    }
    return {"equal": not any(any(each.values()) for each in found.values()), **found}


def _difference(cluster: set[str], cache: set[str]) -> dict[str, list[str]]:
    return {"missing": _listed(cluster - cache), "redundant": _listed(cache - cluster)}


def _listed(names: Iterable[str]) -> list[str]:
    ordered = sorted(names)
    more = len(ordered) - LISTED
    return ordered if more <= 0 else [*ordered[:LISTED], f"… and {more} more"]
