"""Who may wait in the active and backoff pools at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..api import Pod
from .hints import FaultFn, PreEnqueueFn, QueueProfile
from .queued_pod import QueuedPodInfo, shared


class Gates:
    """The pre_enqueue plugins of all profiles."""

    __slots__ = ("_on_fault", "_profiles")

    def __init__(self, profiles: Mapping[str, QueueProfile], on_fault: FaultFn) -> None:
        self._profiles = profiles
        self._on_fault = on_fault

    def admit(self, info: QueuedPodInfo) -> bool:
        """Whether every plugin lets the pod in; if not, the one that does not becomes its gating plugin.

        The present gating plugin is asked first, as it is the likeliest to refuse. It stays among the plugins
        that rejected the pod even when it lets it through.
        """
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
            except Exception as error:  # noqa: BLE001 - reported with the plugin's name, as for hints
                self._on_fault(plugin, error, pod)
                refused = True
            else:
                refused = answer is not None and self._refuses(profile, plugin, answer, pod)
            if refused:
                info.gating_plugin = plugin
                info.unschedulable_plugins = shared(info.unschedulable_plugins | {plugin})
                return False
        info.gating_plugin = ""
        return True

    def _refuses(self, profile: QueueProfile, plugin: str, answer: Any, pod: Pod) -> bool:
        status = profile.read_answer(plugin, answer)
        error = getattr(status, "error", None)
        if isinstance(error, BaseException):
            self._on_fault(plugin, error, pod)
        return status is not None


def _with_first(name: str, plugins: Sequence[tuple[str, PreEnqueueFn]]) -> Sequence[tuple[str, PreEnqueueFn]]:
    return sorted(plugins, key=lambda named: named[0] != name)
