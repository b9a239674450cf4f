"""Shared state of the parts of the scheduler. One thread owns all of it; others may use only the inbox."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random
from threading import get_ident
from typing import Any

from attrs import field

from .._base.plugin_faults import plugin_faults
from .._base.undo import UndoLog
from .._base.value import record
from ..api import Pod
from ..cluster import ClusterPort
from ..config import FeatureGates
from ..config.feature_gates import NO_GATES
from ..errors import ClusterError
from ..framework import CycleState, Extender, ExtenderError, Framework, Status, WaitingRoom
from ..queue import PriorityQueue
from ..state import Cache, GroupCache, GroupMembers, ObjectStore
from .binding.api_writes import PodWriteQueue, WrittenStatus
from .binding.attempt import Attempt
from .binding.delayed_nominations import DelayedNominations
from .binding.paused import PausedBindings
from .cluster_view import ClusterView
from .events import EventRecorder
from .messages import Message, Reported, WorkEnded, WorkKind
from .observers import Observers
from .runtime.clock import Clock
from .runtime.executors import Done, Executor, Work
from .runtime.inbox import Inbox
from .runtime.timers import Timers
from .search.search import Search

logger = logging.getLogger("schedframe")


@record(eq=False)
class Core:
    """References to the scheduler's state, shared by all of its steps."""

    cluster: ClusterPort
    clock: Clock
    """Moves on within a turn, so it is not for decisions; see ``now``."""
    rng: Random
    inbox: Inbox[Message]
    executor: Executor
    cache: Cache
    objects: ObjectStore
    search: Search
    waiting: WaitingRoom[Attempt]
    now: float = field(init=False)
    """Seconds of the clock, read once when the present turn began, or the last one."""
    turn_thread: int = 0
    """Identity of the thread that is within a turn; 0 between two turns."""
    queue: PriorityQueue = field(init=False)
    """Made after the frameworks, whose plugins it calls."""
    frameworks: dict[str, Framework] = field(factory=dict)
    """By scheduler name."""
    receivers: dict[str, Callable[[CycleState | None, Any], object]] = field(factory=dict)
    """By name; see :meth:`Handle.reporter`. Those of former plugins stay until others take their names."""
    pending: dict[str, Pod] = field(factory=dict)
    """Unassigned pods of our profiles as of the last event, by key."""
    binding: dict[str, Attempt] = field(factory=dict)
    """Attempts that wait in permit or are being bound off the core, by uid."""
    paused: PausedBindings = field(factory=PausedBindings)
    view: ClusterView = field(init=False)
    """Whether decisions wait because the view of the cluster is stale."""
    timers: Timers = field(factory=Timers)
    submitted: int = 0
    """Number of pieces of work that were submitted."""
    under_way: dict[int, Done] = field(factory=dict)
    """What continues after work off the core, by its number."""
    written: dict[str, tuple[WrittenStatus, ...]] = field(factory=dict)
    """By uid, in the order of the writes, see :mod:`.binding.pod_status`; only of pods in ``pending``."""
    expected: set[str] = field(factory=set)
    """Uids of pods in ``pending`` whose status names the node of an attempt under way or rolled back."""
    delayed_nominations: DelayedNominations = field(factory=DelayedNominations)
    on_loop: bool = False
    """Whether the executor runs coroutines on the loop of the cluster, where its writes need no thread."""
    binding_limit: int | None = None
    """Attempts that may be bound at a time; ``None``: any number."""
    owner: int = 0
    """Identity of the thread that runs the core."""
    observers: Observers = field(factory=Observers)
    extenders: tuple[Extender, ...] = ()
    """In the order of their calls."""
    binders: tuple[Extender, ...] = ()
    """Those that bind pods in place of the bind plugins."""
    feature_gates: FeatureGates = NO_GATES
    members: GroupMembers = field(factory=GroupMembers)
    """Of pod groups; kept only with the feature gate GenericWorkload."""
    events: EventRecorder = field(init=False)
    """What plugins and programs tell people."""
    writes: PodWriteQueue = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.now = self.clock()
        self.writes = PodWriteQueue(self)
        self.view = ClusterView(self.time)
        self.events = EventRecorder(self.cluster, self.time)
        if isinstance(self.cache, GroupCache):
            self.members, self.cache.pending = self.cache.members, self.pending

    @property
    def undo(self) -> UndoLog:
        """The log of the trials that take back changes of rows, pods, objects, nominations and members."""
        return self.cache.undo

    def begin_turn(self) -> None:
        """Read the clock, then handle the messages that came. Time stands still until :meth:`end_turn`."""
        self.turn_thread = get_ident()
        self.now = self.clock()
        self.inbox.drain()

    def end_turn(self) -> None:
        """Let time pass."""
        self.turn_thread = 0

    def time(self) -> float:
        """Return the seconds of the turn within one, in the thread of the core; elsewhere, of the clock."""
        return self.now if self.turn_thread == get_ident() else self.clock()

    def submit(self, kind: WorkKind, work: Work, done: Done) -> None:
        """Run *work* by the executor, then *done* with its result in the core, by a message."""
        self.submitted += 1
        number, put = self.submitted, self.inbox.put
        self.under_way[number] = done
        self.executor.submit(work, lambda result: put(WorkEnded(number, kind, result)))

    def work_ended(self, message: WorkEnded) -> None:
        """Continue after work off the core."""
        done = self.under_way.get(message.number)
        if done is not None:  # else the message was put back by an interruption that came after this
            done(message.result)
            self.under_way.pop(message.number, None)

    def receive(self, message: Reported) -> None:
        """Let a plugin take in what its hook off the core reported."""
        receive, attempt = self.receivers.get(message.name), self.binding.get(message.uid)
        if receive is None:
            return
        try:
            receive(None if attempt is None else attempt.state, message.value)
        except plugin_faults() as error:
            pod = None if attempt is None else attempt.pod
            self.report(Status.from_error(error).with_plugin(message.name), pod, "report")

    def report_extender(self, status: Status, pod: Pod) -> None:
        """Report an error of an extender that does not end the attempt."""
        self.report(status, pod, "extender")

    def is_gone(self, pod: Pod) -> bool:
        """Return whether *pod* was deleted, or placed by others, while extenders were asked about it."""
        now = self.pending.get(pod.key)
        return now is None or now.uid != pod.uid or now.is_terminating

    def report(self, status: Status, pod: Pod | None, where: str) -> None:
        """Log a fault of a plugin, of the cluster or of an observer, and call the observers with it."""
        about = f" for pod {pod.key}" if pod is not None else ""
        plugin = status.plugin or "scheduler"
        # What an extender or the API server refuses is no fault in a program; the message says all there is.
        cause = None if isinstance(status.error, ExtenderError | ClusterError) else status.error
        logger.warning("%s: %s failed%s: %s", where, plugin, about, status.message, exc_info=cause)
        if self.observers.faulted is not None:
            self.observers.faulted(status, pod)

    def report_returned(self, status: Status, pod: Pod | None, where: str) -> None:
        """Report a fault of a plugin; if it is an interruption, such as Ctrl-C, raise it after the step.

        That is for hooks after which the core has to go on with what it began.
        """
        self.report(status, pod, where)
        if status.error is not None and not isinstance(status.error, plugin_faults()):
            self.inbox.interrupt(status.error)
