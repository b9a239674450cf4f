"""Gates: pods that pre_enqueue plugins keep out of the active and backoff pools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..api import Pod
from .hints import FaultFn, PreEnqueueFn, QueueProfile
from .queued_pod import QueuedPodInfo, interned


class Gates:
    """The pre_enqueue plugins of all profiles."""

    __slots__ = ("_on_fault", "_profiles")

    def __init__(self, profiles: Mapping[str, QueueProfile], on_fault: FaultFn) -> None:
        self._profiles = profiles
        self._on_fault = on_fault

    def admit(self, info: QueuedPodInfo) -> bool:
        """Return whether every plugin admits the pod; the first one that does not becomes its gating plugin.

        The present gating plugin runs first, because it is the most likely to refuse. It stays among the
        plugins that rejected the pod even if it admits it now.
        """
        if info.cohort is not None:
            return True  # the owner lets no pods wait together whose gates may close again
        pod = info.pod
        profile = self._profiles.get(pod.spec.scheduler_name)
        if profile is None:
            info.gating_plugin = ""
            return True
        plugins = profile.pre_enqueue
        if info.gating_plugin:
            plugins = _with_first(info.gating_plugin, plugins)
        for plugin, pre_enqueue in plugins:
            try:
                answer = pre_enqueue(pod)
            except BaseException as error:  # noqa: BLE001 - reported with the plugin's name, as for hints
                self._on_fault(plugin, error, pod)
            else:
                if answer is None or not self._refuses(profile, plugin, answer, pod):
                    continue
            info.gating_plugin = plugin
            info.unschedulable_plugins = interned(info.unschedulable_plugins | {plugin})
            return False
        info.gating_plugin = ""
        return True

    def without_refused(
        self, profile_name: str, gate: str, infos: Iterable[QueuedPodInfo]
    ) -> list[QueuedPodInfo]:
        """Return those of *infos*, all gated by *gate*, for which asking all plugins may change something.

        The others stay where they are: *gate* refuses them again, and no timer has to start again, as of a
        pod that has waited too long. Members of groups are not asked about: their gates may read the group
        alone, and are asked once for all of them. O(pods).
        """
        profile = self._profiles.get(profile_name)
        if profile is None or gate in profile.group_gates:
            return list(infos)
        asked = [pre_enqueue for plugin, pre_enqueue in profile.pre_enqueue if plugin == gate]
        last: Any = None
        passing = []
        for info in infos:
            for pre_enqueue in () if info.flushed else asked:
                try:
                    answer = pre_enqueue(info.pod)
                except BaseException as error:  # noqa: BLE001 - reported with the plugin's name, as for hints
                    self._on_fault(gate, error, info.pod)
                    break
                # Most gates return one and the same object for all pods; it is read once.
                if answer is not None and (answer is last or self._refuses(profile, gate, answer, info.pod)):
                    last = answer
                    break
            else:
                passing.append(info)
        return passing

    def _refuses(self, profile: QueueProfile, plugin: str, answer: Any, pod: Pod) -> bool:
        status = profile.read_answer(plugin, answer)
        error = getattr(status, "error", None)
        if isinstance(error, BaseException):
            self._on_fault(plugin, error, pod)
        return status is not None


def _with_first(name: str, plugins: Sequence[tuple[str, PreEnqueueFn]]) -> Sequence[tuple[str, PreEnqueueFn]]:
    return sorted(plugins, key=lambda named: named[0] != name)
