"""One pod on its way from the queue to its node."""

from __future__ import annotations

import threading
from enum import Enum, auto

from typing_extensions import override

from ...api import Pod
from ...framework import CycleState, Framework, Status
from ...framework.binding import Binding
from ...queue import QueuedPodInfo

_PHASE_LOCK = threading.Lock()
"""Held while an attempt begins to bind, or is aborted: the executor's thread does one, the core the other."""


class Phase(Enum):
    """Phase of an attempt: it leaves UNDECIDED once, and for good, and can be aborted before."""

    UNDECIDED = auto()
    BINDING = auto()
    """bind has begun."""
    ABORTED = auto()
    """It fails with ``abort_status`` as soon as pre_bind returns."""


class Attempt(Binding):
    """One pod, as popped, on its way from the queue to its node."""

    # Defaults stand on the class as those of a decision do, and for the same reason.
    idle: bool = False
    """Whether reserve and pre_bind have nothing to do."""
    phase: Phase = Phase.UNDECIDED
    abort_status: Status | None = None
    """The status that an aborted attempt ends with."""
    submitted_at: int = 0
    """Moment of :class:`PausedBindings` at which the executor last got it."""
    unknown_outcomes: int = 0
    """How often the cluster did not say what became of the bind."""
    is_over: bool = False
    """Whether observers know that it failed."""

    def __init__(self, info: QueuedPodInfo, pod: Pod, framework: Framework, state: CycleState) -> None:
        Binding.__init__(self, state)
        self.info = info
        self.pod = pod
        self.framework = framework
        # Read of each pod, and an attribute of the object is read and written in a fifth of the time of one
        # that has a default on the class.
        self.deleted = False
        """The pod was deleted, or placed by another scheduler, while it was being bound."""
        self.started = self.searched = self.ended = 0.0
        """When it was popped, when the search was over and when it ended, in seconds of
        ``perf_counter``; 0 if it is not timed."""

    @property
    def profile(self) -> str:
        """The scheduler name of its profile."""
        return self.framework.profile_name

    @property
    def seconds(self) -> float:
        """From the pop of the queue to the end, waiting in permit and binding included."""
        return self.ended - self.started

    @property
    def search_seconds(self) -> float:
        """The search for a node."""
        return self.searched - self.started

    @property
    def pod_seconds(self) -> float:
        """Seconds of the clock since the pod first entered the active queue."""
        first = self.info.initial_attempt
        return 0.0 if first is None else self.framework.handle.clock() - first

    @override
    def begin_bind(self) -> Status | None:
        """Enter BINDING, in the thread of pre_bind; return the abort status if it was aborted before."""
        with _PHASE_LOCK:
            if self.phase is Phase.UNDECIDED:
                self.phase = Phase.BINDING
        return self.abort_status

    def abort(self, status: Status) -> bool:
        """Let the attempt fail with *status* instead of being bound; ``False`` if bind has begun."""
        with _PHASE_LOCK:
            if self.phase is Phase.UNDECIDED:
                self.phase, self.abort_status = Phase.ABORTED, status
        return self.phase is Phase.ABORTED
