"""Who may wait in the active and backoff pools at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..api import Pod
from .hints import FaultFn, QueueProfile
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
        profile = self._profiles.get(info.profile)
        if profile is None or not profile.pre_enqueue:
            info.gating_plugin = ""
            return True
        first = info.gating_plugin
        plugins = profile.pre_enqueue
        if first:
            plugins = sorted(plugins, key=lambda named: named[0] != first)
        pod = info.pod
        for plugin, pre_enqueue in plugins:
            try:
                answer = pre_enqueue(pod)
            except Exception as error:  # noqa: BLE001 - reported with the plugin's name, as for hints
                self._on_fault(plugin, error, pod)
                answer = False
            if answer is not None and not self._lets_in(plugin, answer, pod):
                info.gating_plugin = plugin
                info.unschedulable_plugins = shared(info.unschedulable_plugins | {plugin})
                return False
        info.gating_plugin = ""
        return True

    def _lets_in(self, plugin: str, answer: Any, pod: Pod) -> bool:
        if getattr(answer, "is_success", False):
            return True
        fault = getattr(answer, "error", None)
        if isinstance(fault, BaseException):
            self._on_fault(plugin, fault, pod)
        return False
