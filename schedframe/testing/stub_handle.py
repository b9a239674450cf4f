"""Surroundings in which a plugin can be called: a handle with a cluster behind it, and no scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import field
from typing_extensions import override

from .._base.value import record
from ..api import Node, Pod
from ..cluster import InMemoryCluster
from ..cycle import VirtualClock
from ..framework import Framework, TableHandle
from ..simulate import DryRunCluster
from ..state import Snapshot
from .worlds.world import Change, World


@record(eq=False)
class StubHandle(TableHandle):
    """Implements :class:`schedframe.Handle` for one plugin, over a :class:`World` instead of a scheduler.

    ``cluster`` has the same objects, and takes every request without carrying it out.
    ``runner`` runs the plugin alone, see :meth:`attach_plugin`.
    """

    world: World
    clock: VirtualClock = field(factory=VirtualClock, kw_only=True)
    binding: bool = False
    """Whether what runs now would run off the core."""
    trespasses: list[str] = field(factory=list)
    """What was used while ``binding`` that belongs to the core."""
    _dry_run: DryRunCluster | None = field(default=None, init=False)
    _plugin: tuple[str, Any] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        for node in self.world.nodes:
            self._table.set_node(node)
        for pod in self.world.running:
            self._table.add_pod(pod.node_name, pod)
        for obj in self.world.objects:
            self._objects.set(obj)
        self._pending = {pod.key: pod for pod in self.world.pods}

    def attach_plugin(self, name: str, plugin: Any) -> None:
        """Set the plugin that ``runner`` runs."""
        self._plugin = (name, plugin)

    @override
    def _used(self, what: str) -> None:
        if self.binding:
            self.trespasses.append(what)

    @property
    @override
    def runner(self) -> Framework:
        """The plugin, at all its extension points. Core only."""
        if self._framework is None and self._plugin is not None:
            self.attach(Framework.of(dict([self._plugin]), self))
        return super().runner

    @property
    @override
    def cluster(self) -> DryRunCluster:
        """The world as it was at the beginning. What is written to it is kept, and not carried out."""
        if self._dry_run is None:
            world = self.world
            everything = (*world.nodes, *world.running, *world.pods, *world.objects)
            self._dry_run = DryRunCluster(InMemoryCluster(everything, clock=self.clock))
        return self._dry_run

    @override
    def snapshot(self) -> Snapshot:
        """Return the nodes as they are now. Core only."""
        self._used("snapshot()")
        return Snapshot.take(self._table)

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
