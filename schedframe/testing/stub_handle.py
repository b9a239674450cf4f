"""What a plugin needs around it to be called: a handle with a cluster behind it, and no scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Any, TypeVar

from attrs import field

from .._validators import number
from .._value import record
from ..api import ClusterObject, Node, Pod
from ..cluster import InMemoryCluster
from ..config import EffectiveProfile, EnabledPlugin, FeatureGates
from ..config.feature_gates import NO_GATES
from ..cycle import VirtualClock
from ..framework import Extender, Framework, WaitingRoom, compile_plan, hookimpl
from ..framework.points import points_of
from ..queue import Nominator, QueuedPodInfo
from ..simulate import DryRunCluster
from ..state import GroupMembers, NodeTable, ObjectStore, Snapshot
from .world import Change, World

R = TypeVar("R")
SORTER = "order of arrival"


@record(eq=False)
class _Sorter:
    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> float:
        """Sorts the queue, which a profile needs."""
        return pod_info.timestamp


@record(eq=False)
class StubHandle:
    """Implements :class:`schedframe.Handle` for one plugin, over a :class:`World` instead of a scheduler.

    ``cluster`` has the same objects, and takes every request without carrying it out.
    ``runner`` runs the plugin alone, see :meth:`attach`.
    """

    world: World
    profile_name: str = "default-scheduler"
    clock: VirtualClock = field(factory=VirtualClock)
    extenders: tuple[Extender, ...] = ()
    waiting_pods: WaitingRoom = field(factory=lambda: WaitingRoom(lambda uid, plugin, rejection: None))
    activated: list[Pod] = field(factory=list)
    """Pods that the plugin asked to be tried again."""
    events: list[tuple[ClusterObject, str, str]] = field(factory=list)
    """Recorded events: (object, reason, message)."""
    binding: bool = False
    """Whether what runs now would run off the core."""
    trespasses: list[str] = field(factory=list)
    """What was used while ``binding`` that belongs to the core."""
    feature_gates: FeatureGates = NO_GATES
    pod_groups: GroupMembers = field(factory=GroupMembers)
    _table: NodeTable = field(factory=NodeTable)
    _objects: ObjectStore = field(factory=ObjectStore)
    _nominator: Nominator = field(factory=Nominator)
    _rng: Random = field(factory=lambda: Random(0))
    _cluster: DryRunCluster | None = None
    _framework: Framework | None = None
    _plugin: tuple[str, Any] | None = None

    def __attrs_post_init__(self) -> None:
        for node in self.world.nodes:
            self._table.set_node(node)
        for pod in self.world.running:
            self._table.add_pod(pod.node_name, pod)
        for obj in self.world.objects:
            self._objects.set(obj)

    def attach(self, name: str, plugin: Any) -> None:
        """Set the plugin that ``runner`` runs."""
        self._plugin = (name, plugin)

    def _used(self, what: str) -> None:
        if self.binding:
            self.trespasses.append(what)

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
    def nominator(self) -> Nominator:
        """Nominations, none at first. Core only."""
        self._used("nominator")
        return self._nominator

    @property
    def rng(self) -> Random:
        """Always the same draws. Core only."""
        self._used("rng")
        return self._rng

    @property
    def runner(self) -> Framework:
        """The plugin, at all its extension points. Core only."""
        self._used("runner")
        if self._framework is None:
            assert self._plugin is not None, "plugins may use the runner from their first hook on"
            name, plugin = self._plugin
            plugins = {name: plugin, SORTER: _Sorter()}
            points = {point: ((name, int(point == "score")),) for point in points_of(plugin)}
            points.setdefault("queueSort", ((SORTER, 0),))
            enabled = {
                point: tuple(EnabledPlugin(*entry) for entry in entries) for point, entries in points.items()
            }
            profile = EffectiveProfile(self.profile_name, None, enabled, {}, tuple(plugins))
            self._framework = Framework(profile, compile_plan(plugins, enabled), self)
        return self._framework

    @property
    def cluster(self) -> DryRunCluster:
        """The world as it was at the beginning. What is written to it is kept, and not carried out."""
        if self._cluster is None:
            world = self.world
            everything = (*world.nodes, *world.running, *world.pods, *world.objects)
            self._cluster = DryRunCluster(InMemoryCluster(everything, clock=self.clock))
        return self._cluster

    @property
    def pending(self) -> Mapping[str, Pod]:
        """Pods that wait, by key. Core only."""
        self._used("pending")
        return {pod.key: pod for pod in self.world.pods}

    def snapshot(self) -> Snapshot:
        """Return the nodes as they are now. Off the core only for plugins that declare ``reads_snapshot``."""
        if self._plugin is not None and not getattr(self._plugin[1], "reads_snapshot", False):
            self._used("snapshot() without reads_snapshot = True")
        return Snapshot.take(self._table)

    def deadline(self, seconds: float) -> Callable[[], bool]:
        """Return a function that returns whether the clock was advanced by more than *seconds*."""
        end = self.clock() + seconds
        return lambda: self.clock() > end

    def off_core(self, work: Callable[[], R], done: Callable[[R], None]) -> None:
        """Here there is nothing but the core."""
        done(work())

    def call_later(self, seconds: float, action: Callable[[], object]) -> None:
        """Nothing is called here: time stands still."""
        number("seconds", seconds, "give a finite number")

    def stop_binding(self, pod: Pod, reason: str) -> bool:
        """Return ``False``: no pod is being bound."""
        return False

    def withdraw_nomination(self, pod: Pod) -> None:
        """Forget where *pod* was nominated to."""
        self.nominator.delete(pod)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Note that these pods should be tried again."""
        self.activated.extend(pods)

    def record_event(self, obj: ClusterObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Keep the event."""
        self.events.append((obj, reason, message))

    # ---- changes -----------------------------------------------------------------------------------------

    def apply(self, change: Change) -> None:
        """Let it happen: nodes and running pods to the table, other objects to the store."""
        old, new = change.old, change.new
        subject = old if new is None else new
        if isinstance(subject, Node):
            if new is None:
                self.table.remove_node(subject.name)
            else:
                self.table.set_node(new)
        elif isinstance(subject, Pod):
            if old is not None and old.node_name and not old.is_terminated:
                self.table.remove_pod(old.node_name, old.uid)
            if new is not None and new.node_name and not new.is_terminated:
                self.table.add_pod(new.node_name, new)
        elif new is None:
            self.objects.remove(subject.KIND, subject.key)
        else:
            self.objects.set(new)

    def pods(self) -> Iterator[Pod]:
        """All pods on nodes."""
        for row in range(self.table.size):
            yield from self.table.pods_at(row).values()
