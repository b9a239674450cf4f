"""Pods that wait in permit. Verdicts and timeouts arrive through the core's inbox; no thread waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic

from attrs import evolve, field
from sortedcontainers import SortedList
from typing_extensions import TypeVar

from .._base.checked import checked
from .._base.value import record
from ..api import Pod
from ..errors import InvariantError
from .cycle_state import CycleState
from .status import Code, Status

Ticket = TypeVar("Ticket", default=Any)
"""What the core keeps of a waiting pod: its attempt. Of no use to plugins."""
MAX_PERMIT_SECONDS = 15 * 60.0
"""No plugin may make a pod wait longer (the reference's maxTimeout)."""


@record(eq=False)
class WaitingPod(Generic[Ticket]):
    """A pod on its chosen node, waiting for the plugins in ``pending``."""

    pod: Pod
    node_name: str
    state: CycleState
    ticket: Ticket
    """The attempt of the core that this pod belongs to."""
    deadlines: dict[str, float]
    """Plugin → when its timeout passes, in seconds of the core's clock."""
    _post: Callable[[str, str, Status | None], None]
    since: float = 0.0
    """When it began to wait, in seconds of the core's clock."""
    preempted: bool = False
    """Rejected in favour of a pod of higher priority; permissions that arrive later are ignored."""

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        """Plugins that have not allowed the pod yet. Core only."""
        return tuple(self.deadlines)

    @checked
    def allow(self, plugin: str) -> None:
        """Allow the pod. Any thread; takes effect when the core reads it. Idempotent.

        The name of a plugin that has no permit in the pod's profile is reported as a fault.
        """
        self._post(self.pod.uid, plugin, None)

    @checked
    def reject(self, plugin: str, *reasons: str) -> None:
        """Reject the pod. Any thread; of several verdicts the first one to reach the core counts."""
        self._post(self.pod.uid, plugin, Status(Code.UNSCHEDULABLE, reasons, plugin))

    def preempt(self, plugin: str, *reasons: str) -> None:
        """As :meth:`reject`, and permissions that are still in the inbox are ignored. Core only."""
        self.preempted = True
        self.reject(plugin, *reasons)


@record(eq=False)
class WaitingRoom(Generic[Ticket]):
    """All waiting pods of a scheduler, with their deadlines; every operation is O(log n)."""

    post: Callable[[str, str, Status | None], None]
    """Puts (uid, plugin, rejection or ``None``) into the core's inbox; thread-safe."""
    _pods: dict[str, WaitingPod[Ticket]] = field(factory=dict)
    _deadlines: SortedList[tuple[float, str, str]] = field(factory=SortedList)

    def park(
        self,
        pod: Pod,
        node_name: str,
        state: CycleState,
        ticket: Ticket,
        now: float,
        timeouts: dict[str, float],
    ) -> WaitingPod[Ticket]:
        """Let *pod* wait for the plugins of *timeouts* (seconds each)."""
        if pod.uid in self._pods:
            raise InvariantError(f"pod {pod.key} ({pod.uid}) waits already")
        if not timeouts:
            raise InvariantError(f"pod {pod.key} ({pod.uid}) would wait for no plugin")
        deadlines = {name: now + min(max(t, 0.0), MAX_PERMIT_SECONDS) for name, t in timeouts.items()}
        waiting = WaitingPod(pod, node_name, state, ticket, deadlines, self.post, now)
        self._pods[pod.uid] = waiting
        for plugin, deadline in deadlines.items():
            self._deadlines.add((deadline, pod.uid, plugin))
        return waiting

    def get(self, uid: str) -> WaitingPod[Ticket] | None:
        """Return the waiting pod of that uid."""
        return self._pods.get(uid)

    def allow(self, uid: str, plugin: str) -> WaitingPod[Ticket] | None:
        """Record that *plugin* allows the pod. Return the pod, removed, if it was the last plugin."""
        waiting = self._pods.get(uid)
        if waiting is None or waiting.preempted or plugin not in waiting.deadlines:
            return None
        self._deadlines.remove((waiting.deadlines.pop(plugin), uid, plugin))
        return self.leave(uid) if not waiting.deadlines else None

    def leave(self, uid: str) -> WaitingPod[Ticket] | None:
        """Remove and return the pod; ``None`` if it does not wait."""
        waiting = self._pods.pop(uid, None)
        if waiting is not None:
            for plugin, deadline in waiting.deadlines.items():
                self._deadlines.remove((deadline, uid, plugin))
        return waiting

    def muted(self) -> WaitingRoom[Ticket]:
        """Return a copy in which verdicts have no effect, for dry runs; O(n)."""
        copy: WaitingRoom[Ticket] = WaitingRoom(lambda uid, plugin, rejection: None)
        copy._pods = {uid: evolve(waiting, post=copy.post) for uid, waiting in self._pods.items()}
        return copy

    def next_deadline(self) -> float | None:
        """Return the earliest deadline, ``None`` if no pod waits."""
        return self._deadlines[0][0] if self._deadlines else None

    def expired(self, now: float) -> Iterator[tuple[WaitingPod[Ticket], str, float]]:
        """Remove and yield the pods with a deadline up to *now*.

        Each with the plugin that timed out, and how long it made the pod wait.
        """
        while self._deadlines and self._deadlines[0][0] <= now:
            deadline, uid, plugin = self._deadlines[0]
            waiting = self.leave(uid)
            if waiting is None:
                raise InvariantError(f"a deadline of {uid} is left though it does not wait")
            yield waiting, plugin, deadline - waiting.since

    def __iter__(self) -> Iterator[WaitingPod[Ticket]]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if deadlines and pods do not fit together; O(n log n)."""
        expected = sorted(
            (deadline, uid, plugin)
            for uid, waiting in self._pods.items()
            for plugin, deadline in waiting.deadlines.items()
        )
        if expected != list(self._deadlines):
            raise InvariantError("deadlines of waiting pods are not those in their list")
        for uid, waiting in self._pods.items():
            if uid != waiting.pod.uid or not waiting.deadlines:
                raise InvariantError(f"waiting pod {uid} is under a wrong uid, or waits for no plugin")
