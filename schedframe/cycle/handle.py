"""The scheduler as its plugins see it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from attrs import field

from .._base.validators import number
from .._base.value import record
from ..api import ClusterObject, Pod
from ..cluster import ClusterPort
from ..config import FeatureGates
from ..errors import PluginError
from ..framework import CycleState, Extender, Framework, WaitingRoom
from ..framework.handle import Report
from ..queue import Nominator
from ..state import GroupMembers, NodeTable, ObjectStore, Snapshot
from .binding.abort import stop_binding
from .binding.attempt import Attempt
from .binding.pod_status import withdraw_nomination
from .messages import Activation, Reported, WorkKind

if TYPE_CHECKING:
    from .core import Core


@record(eq=False)
class SchedulerHandle:
    """Implements :class:`schedframe.Handle` for the plugins of one profile."""

    profile_name: str
    _core: Core
    receivers: dict[str, Callable[[CycleState | None, Any], object]] = field(factory=dict, init=False)
    """By the name under which plugins off the core report."""
    _framework: Framework | None = field(default=None, init=False)

    def attach(self, framework: Framework) -> None:
        """Set the framework, which is built after the plugins that get this handle."""
        self._framework = framework

    @property
    def runner(self) -> Framework:
        """The plugins of this profile."""
        assert self._framework is not None, "plugins may use the runner from their first hook on"
        return self._framework

    @property
    def table(self) -> NodeTable:
        """The live columns."""
        return self._core.cache.table

    @property
    def objects(self) -> ObjectStore:
        """Objects of other kinds."""
        return self._core.objects

    @property
    def pending(self) -> Mapping[str, Pod]:
        """Pods of the scheduler's profiles that have no node yet, by key."""
        return self._core.pending

    @property
    def nominator(self) -> Nominator:
        """Nominated pods."""
        return self._core.queue.nominator

    @property
    def waiting_pods(self) -> WaitingRoom[Attempt]:
        """Pods that wait in permit."""
        return self._core.waiting

    @property
    def extenders(self) -> tuple[Extender, ...]:
        """Extenders, in the order of their calls."""
        return self._core.extenders

    @property
    def cluster(self) -> ClusterPort:
        """The world outside."""
        return self._core.cluster

    @property
    def rng(self) -> Random:
        """The scheduler's seeded generator."""
        return self._core.rng

    @property
    def pod_groups(self) -> GroupMembers:
        """Members of pod groups."""
        return self._core.members

    @property
    def feature_gates(self) -> FeatureGates:
        """Return which features are on."""
        return self._core.feature_gates

    def snapshot(self) -> Snapshot:
        """Return an immutable picture of the nodes as they are now. Core only."""
        core = self._core
        if not core.executor.inline and core.owner not in (0, threading.get_ident()):
            raise PluginError(
                "snapshot() is for hooks that run in the core, and pre_bind and bind run off it; take the "
                "snapshot in reserve, and pass it on in the cycle state"
            )
        return core.cache.snapshot()

    def clock(self) -> float:
        """Return the seconds of the turn in the core, of the injected clock elsewhere."""
        return self._core.time()

    def deadline(self, seconds: float) -> Callable[[], bool]:
        """Return a function that returns whether *seconds* have passed."""
        clock = self._core.clock
        end = clock() + seconds
        return lambda: clock() > end

    def off_core(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Run *work* off the core, then ``done(result)`` in it."""
        core = self._core
        if core.executor.inline:
            core.executor.submit(work, done)
        else:
            core.submit(WorkKind.PLUGIN, work, done)

    def reporter(self, name: str, receive: Callable[[CycleState | None, Any], object]) -> Report[Any]:
        """Return a function that has *receive* called in the core, by a message. Any thread."""
        core = self._core
        self.receivers[name] = receive

        def report(state: CycleState, pod: Pod, value: Any) -> None:
            if core.executor.inline:
                receive(state, value)
            else:
                core.inbox.put(Reported(name, pod.uid, value))

        return report

    def call_later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call *action* in the core after *seconds*. Core only. Raises InputError for inf and NaN."""
        number("seconds", seconds, "give a finite number")
        self._core.timers.add(self._core.time() + max(0.0, seconds), action)

    def stop_binding(self, pod: Pod, reason: str) -> bool:
        """Let a pod that is being bound give up its room, unless bind has begun."""
        return stop_binding(self._core, pod.uid, reason)

    def withdraw_nomination(self, pod: Pod) -> None:
        """Ask that pending *pod* no longer be nominated to any node."""
        withdraw_nomination(self._core, pod)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Ask that these pending pods be tried again at once. Any thread."""
        self._core.inbox.put(Activation(tuple(pods)))

    def record_event(self, obj: ClusterObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Tell people what happened to *obj*."""
        self._core.events.record(obj, reason, message, warning=warning)
