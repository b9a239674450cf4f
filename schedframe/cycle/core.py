"""What the parts of the scheduler share. One thread owns all of it; only the inbox may be used by others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random
from typing import Any

from attrs import define, field

from ..api import Pod
from ..cluster import ClusterPort
from ..framework import CycleState, Framework, StateKey, Status, WaitingRoom
from ..queue import PriorityQueue, QueuedPodInfo
from ..state import Cache, ObjectStore, Snapshot
from .clock import Clock
from .executors import Executor
from .inbox import Inbox
from .parked import ParkedBindings
from .search import Search

logger = logging.getLogger("schedframe")

PODS_TO_ACTIVATE: StateKey[dict[str, Pod]] = StateKey("PodsToActivate")
"""Plugins put pods (by key) here that are to be tried again as soon as this cycle is over."""


@define(eq=False)
class Attempt:
    """One pod on its way from the queue to its node."""

    info: QueuedPodInfo
    pod: Pod
    """As popped."""
    framework: Framework
    state: CycleState
    node_name: str = ""
    assumed: Pod | None = None
    """The pod with its node, from assume on."""
    pre_binders: tuple[str, ...] = ()
    bound_at: int = 0
    """How far pre_bind got: index into ``pre_binders``."""
    gone: bool = False
    """The pod was deleted, or placed by somebody else, while it was waiting or being bound."""


@define(eq=False)
class Core:
    """The scheduler's state, without behaviour."""

    cluster: ClusterPort
    clock: Clock
    rng: Random
    inbox: Inbox
    executor: Executor
    cache: Cache
    objects: ObjectStore
    search: Search
    waiting: WaitingRoom
    queue: PriorityQueue = field(init=False)
    """Made after the frameworks, whose plugins it asks."""
    frameworks: dict[str, Framework] = field(factory=dict)
    """By scheduler name."""
    pending: dict[str, Pod] = field(factory=dict)
    """Unassigned pods of our profiles as the cluster told them, by key."""
    binding: dict[str, Attempt] = field(factory=dict)
    """Attempts that wait in permit or are being bound off the core, by uid."""
    parked: ParkedBindings = field(factory=ParkedBindings)
    owner: int = 0
    """Identity of the thread that runs the core."""
    published: Snapshot | None = None
    """What code off the core sees; renewed at a hand-off to plugins with ``reads_snapshot``."""
    on_fault: Callable[[Status, Pod | None], None] | None = None
    """Told of every fault of a plugin, besides the log."""

    def report(self, status: Status, pod: Pod | None, where: str) -> None:
        """Log a fault of a plugin, or of the cluster, and tell whoever asked for it."""
        about = f" for pod {pod.key}" if pod is not None else ""
        logger.warning(
            "%s: %s failed%s: %s",
            where,
            status.plugin or "scheduler",
            about,
            status.message,
            exc_info=status.error,
        )
        if self.on_fault is not None:
            self.on_fault(status, pod)

    def write(self, action: Callable[[], None], pod: Pod, what: str) -> None:
        """Change something in the cluster off the core; a failure is reported, the cluster's next event corrects us."""
        if self.executor.inline:
            error = _attempted(action)
            if error is not None:
                self.report(error, pod, what)
            return
        self.executor.submit(
            lambda: _attempted(action),
            lambda error: self.inbox.put(self._written, (error, pod, what)) if error is not None else None,
        )

    def _written(self, outcome: Any) -> None:
        error, pod, what = outcome
        self.report(error, pod, what)

    def activate_requested(self, state: CycleState) -> None:
        """Try the pods again that plugins of this cycle asked for."""
        pods = state.get(PODS_TO_ACTIVATE)
        if pods:
            self.queue.activate(list(pods.values()))
            pods.clear()


def _attempted(action: Callable[[], None]) -> Status | None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever the cluster raises is reported, not fatal
        return Status.from_error(error)
    return None
