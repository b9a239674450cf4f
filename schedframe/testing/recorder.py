"""Takes down what a scheduler does, for tests to look at."""

from __future__ import annotations

from typing import Any

from attrs import field
from typing_extensions import override

from .._base.value import record
from ..api import Pod
from ..cluster import ClusterPort, WatchEvent
from ..cycle import SchedulerObserver
from ..framework import Status


@record(frozen=True)
class PluginCall:
    """One call of a hook."""

    hook: str
    plugin: str
    result: Any
    """What it answered, or the exception that it raised."""


@record(eq=False)
class CallRecorder(SchedulerObserver):
    """An observer of plugins, faults and placements: pass ``observers=[recorder]``.

    ``placements`` fills up once it follows a cluster, see :meth:`follow`.
    """

    calls: list[PluginCall] = field(factory=list)
    """Every call of a plugin, in order."""
    faults: list[tuple[Status, Pod | None]] = field(factory=list)
    placements: dict[str, str] = field(factory=dict)
    """Key of a pod → its node, in the order in which they were bound."""

    @override
    def plugin_called(self, profile: str, hook: str, plugin: str, seconds: float, result: Any) -> None:
        self.calls.append(PluginCall(hook, plugin, result))

    @override
    def faulted(self, status: Status, pod: Pod | None) -> None:
        self.faults.append((status, pod))

    def follow(self, cluster: ClusterPort) -> None:
        """Note placements in *cluster* from now on."""
        cluster.watch(self._on_event, ("Pod",))

    def calls_of(self, plugin: str, hook: str = "") -> list[PluginCall]:
        """Return the calls of one plugin, or of one of its hooks."""
        return [call for call in self.calls if call.plugin == plugin and hook in ("", call.hook)]

    def _on_event(self, event: WatchEvent) -> None:
        pod = event.new
        if isinstance(pod, Pod) and pod.node_name:
            self.placements.setdefault(pod.key, pod.node_name)
