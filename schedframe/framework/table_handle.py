"""A handle over a table: what plugins need around them to be run without a scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING, TypeVar

from attrs import field

from .._base.validators import number
from .._base.value import record
from ..api import ClusterObject, Pod
from ..cluster import ClusterPort, InMemoryCluster
from ..config import FeatureGates
from ..config.feature_gates import NO_GATES
from ..errors import PluginError
from ..queue import Nominator
from ..state import GroupMembers, NodeTable, ObjectStore, Snapshot
from .cycle_state import CycleState
from .extender import Extender
from .handle import Report
from .waiting import WaitingRoom

if TYPE_CHECKING:
    from .framework import Framework

R = TypeVar("R")
V = TypeVar("V")


@record(eq=False, kw_only=True)
class TableHandle:
    """Implements :class:`schedframe.Handle` over a table, without a scheduler.

    Plugins read what it is made with. What they ask of the scheduler is kept: ``activated``, ``events`` and
    ``later``; no pod is ever bound here. :meth:`attach` sets what ``runner`` returns.
    """

    profile_name: str = "default-scheduler"
    clock: Callable[[], float] = time.time
    extenders: tuple[Extender, ...] = ()
    waiting_pods: WaitingRoom = field(factory=lambda: WaitingRoom(lambda uid, plugin, rejection: None))
    feature_gates: FeatureGates = NO_GATES
    pod_groups: GroupMembers = field(factory=GroupMembers)
    activated: list[Pod] = field(factory=list)
    """Pods that a plugin asked to be tried again."""
    events: list[tuple[ClusterObject, str, str]] = field(factory=list)
    """Recorded events: (object, reason, message)."""
    later: list[tuple[float, Callable[[], object]]] = field(factory=list)
    """What plugins asked to be called: (time, action). The owner of the handle calls it."""
    _table: NodeTable = field(factory=NodeTable)
    _objects: ObjectStore = field(factory=ObjectStore)
    _nominator: Nominator = field(factory=Nominator)
    _rng: Random = field(factory=lambda: Random(0))
    _pending: Mapping[str, Pod] = field(factory=dict)
    _cluster: ClusterPort | None = None
    _framework: Framework | None = field(default=None, init=False)

    def attach(self, framework: Framework) -> None:
        """Set the framework that ``runner`` returns, for plugins that try things out."""
        self._framework = framework

    def _used(self, what: str) -> None:
        """Do nothing; a subclass may note that *what*, which belongs to the core, was used."""

    @property
    def table(self) -> NodeTable:
        """The nodes. Core only."""
        self._used("table")
        return self._table

    @property
    def objects(self) -> ObjectStore:
        """Objects of other kinds. Core only."""
        self._used("objects")
        return self._objects

    @property
    def pending(self) -> Mapping[str, Pod]:
        """Pods that wait, by key. Core only."""
        self._used("pending")
        return self._pending

    @property
    def nominator(self) -> Nominator:
        """Nominations, none at first. Core only."""
        self._used("nominator")
        return self._nominator

    @property
    def rng(self) -> Random:
        """The generator, by default always with the same draws. Core only."""
        self._used("rng")
        return self._rng

    @property
    def runner(self) -> Framework:
        """The framework that was attached. Core only. Raises :class:`PluginError` if there is none."""
        self._used("runner")
        if self._framework is None:
            raise PluginError("the handle has no framework yet; call attach(framework) before the first hook")
        return self._framework

    @property
    def cluster(self) -> ClusterPort:
        """The cluster that the handle was made with, else an empty one in memory."""
        if self._cluster is None:
            self._cluster = InMemoryCluster()
        return self._cluster

    def snapshot(self) -> Snapshot:
        """Return an immutable copy of the nodes as they are now."""
        return Snapshot.take(self._table)

    def deadline(self, seconds: float) -> Callable[[], bool]:
        """Return a function that returns whether the clock was advanced by more than *seconds*."""
        end = self.clock() + seconds
        return lambda: self.clock() > end

    def off_core(self, work: Callable[[], R], done: Callable[[R], None]) -> None:
        """Run *work* and ``done(result)`` at once: here there is nothing but the core."""
        done(work())

    def reporter(self, name: str, receive: Callable[[CycleState | None, V], object]) -> Report[V]:
        """Return a function that calls *receive* at once."""
        return lambda state, pod, value: receive(state, value)

    def call_later(self, seconds: float, action: Callable[[], object]) -> None:
        """Keep *action* in ``later``. Raises InputError for inf and NaN."""
        number("seconds", seconds, "give a finite number")
        self.later.append((self.clock() + max(0.0, seconds), action))

    def stop_binding(self, pod: Pod, reason: str) -> bool:
        """Return ``False``: no pod is being bound."""
        return False

    def withdraw_nomination(self, pod: Pod) -> None:
        """Forget where *pod* was nominated to."""
        self.nominator.delete(pod)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Keep these pods in ``activated``."""
        self.activated.extend(pods)

    def record_event(self, obj: ClusterObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Keep the event in ``events``."""
        self.events.append((obj, reason, message))
