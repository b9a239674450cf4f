"""What the parts of the scheduler share. One thread owns all of it; only the inbox may be used by others."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

from attrs import define, field, frozen

from ..api import Pod, PodCondition
from ..cluster import ClusterPort
from ..framework import CycleState, Framework, StateKey, Status, WaitingRoom
from ..queue import PriorityQueue, QueuedPodInfo
from ..state import Cache, ObjectStore, Snapshot
from .binding.paused import ParkedBindings
from .runtime.clock import Clock
from .runtime.executors import Executor
from .runtime.inbox import Inbox
from .runtime.timers import Timers
from .search.search import Search

logger = logging.getLogger("schedframe")

PODS_TO_ACTIVATE: StateKey[dict[str, Pod]] = StateKey("PodsToActivate")
"""Plugins put pods (by key) here that are to be tried again as soon as this cycle is over."""

_DECIDING = threading.Lock()
"""Held while an attempt begins to bind, or is stopped."""
_BINDS = object()


class Attempt:
    """One pod, as popped, on its way from the queue to its node."""

    # Defaults stand on the class as those of a decision do, and for the same reason.
    node_name: str = ""
    assumed: Pod | None = None
    """The pod with its node, from assume on."""
    pre_binders: tuple[str, ...] = ()
    bound_at: int = 0
    """How far pre_bind got: index into ``pre_binders``."""
    idle: bool = False
    """Whether reserve and pre_bind have nothing to do."""
    fate: Status | object | None = None
    """See :meth:`begin_bind`."""
    gone: bool = False
    """The pod was deleted, or placed by somebody else, while it was being bound."""
    handed_off: int = 0
    """Moment of :class:`ParkedBindings` at which the executor got it last."""
    unanswered: int = 0
    """How often the cluster did not say what became of the bind."""

    def __init__(self, info: QueuedPodInfo, pod: Pod, framework: Framework, state: CycleState) -> None:
        self.info = info
        self.pod = pod
        self.framework = framework
        self.state = state

    def begin_bind(self) -> Status | None:
        """After pre_bind, in its thread: ``None`` to go on, else the status by which it was stopped."""
        with _DECIDING:
            if self.fate is None:
                self.fate = _BINDS
        return self.stopped

    def stop(self, status: Status) -> bool:
        """Let it fail with *status* instead of being bound; ``False`` if bind has begun."""
        with _DECIDING:
            if self.fate is None:
                self.fate = status
        return self.stopped is not None

    @property
    def stopped(self) -> Status | None:
        """The status by which the attempt was stopped."""
        return self.fate if isinstance(self.fate, Status) else None


@frozen
class Told:
    """What was written about a pending pod and not shown by an event so far."""

    condition: PodCondition | None
    nominated_node_name: str


@define(eq=False)
class Writes:
    """What is being written about one pod."""

    later: deque[tuple[Callable[[], None], Pod, str]] = field(factory=deque)
    """What is to be written after that, in order."""
    failed: bool = False
    """Whether something was not written."""


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
    timers: Timers = field(factory=Timers)
    told: dict[str, Told] = field(factory=dict)
    """By uid, see :mod:`.binding.pod_status`; only of pods in ``pending``."""
    expected: set[str] = field(factory=set)
    """Uids of pods in ``pending`` whose status names the node of an attempt under way or rolled back."""
    owner: int = 0
    """Identity of the thread that runs the core."""
    published: Snapshot | None = None
    """What code off the core sees; renewed at a hand-off to plugins with ``reads_snapshot``."""
    on_fault: Callable[[Status, Pod | None], None] | None = None
    """Told of every fault of a plugin, besides the log."""
    _writes: dict[str, Writes] = field(factory=dict)
    """By uid; only of pods about which something is being written."""

    def report(self, status: Status, pod: Pod | None, where: str) -> None:
        """Log a fault of a plugin, or of the cluster, and tell whoever asked for it."""
        about = f" for pod {pod.key}" if pod is not None else ""
        plugin = status.plugin or "scheduler"
        logger.warning("%s: %s failed%s: %s", where, plugin, about, status.message, exc_info=status.error)
        if self.on_fault is not None:
            try:
                self.on_fault(status, pod)
            except Exception:
                logger.exception("on_fault failed itself")

    def write(self, action: Callable[[], None], pod: Pod, what: str) -> None:
        """Change something about *pod* in the cluster, off the core; what concerns one pod in order.

        A failure is reported; the next event of the pod corrects what we believe.
        """
        if self.executor.inline:
            error = _attempted(action)
            if error is not None:
                self.told.pop(pod.uid, None)
                self.report(error, pod, what)
            return
        writes = self._writes.get(pod.uid)
        if writes is not None:
            writes.later.append((action, pod, what))
            return
        self._writes[pod.uid] = Writes()
        self._send(action, pod, what)

    def is_writing(self, pod: Pod) -> bool:
        """Whether something about *pod* is still to be written."""
        return pod.uid in self._writes

    def _send(self, action: Callable[[], None], pod: Pod, what: str) -> None:
        put = self.inbox.put
        self.executor.submit(lambda: _attempted(action), lambda error: put(self._written, (error, pod, what)))

    def _written(self, outcome: tuple[Status | None, Pod, str]) -> None:
        error, pod, what = outcome
        writes = self._writes[pod.uid]
        if error is not None:
            writes.failed = True
            self.report(error, pod, what)
        if writes.later:
            self._send(*writes.later.popleft())
            return
        del self._writes[pod.uid]
        if writes.failed:
            # What stands there now is not what was to stand there: the next event, or attempt, will tell.
            self.told.pop(pod.uid, None)

    def activate_requested(self, state: CycleState) -> None:
        """Try the pods again that plugins of this cycle asked for."""
        pods = state.get(PODS_TO_ACTIVATE)
        if pods:
            self.queue.activate(list(pods.values()))
            pods.clear()


def _attempted(action: Callable[[], Any]) -> Status | None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever the cluster raises is reported, not fatal
        return Status.from_error(error)
    return None
