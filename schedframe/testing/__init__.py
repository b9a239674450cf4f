"""Tools for the tests of plugins and schedulers. Needs the extra ``testing`` where it says so.

``pod`` and ``node`` build manifests that read like sentences. :func:`check_plugin` checks whether a plugin
keeps the contract. :mod:`schedframe.testing.strategies` has Hypothesis strategies. The fixtures
``schedframe_cluster``, ``schedframe_scheduler``, ``schedframe_clock`` and ``schedframe_recorder`` are
available in every pytest with schedframe installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .builders import ManifestBuilder, NodeBuilder, PodBuilder, node, pod
    from .checks.exercise import PluginNotCached, PluginNotExercised
    from .kit import Failure, PluginCheck, PluginCheckFailed, check_plugin, plugin_checks
    from .options import CheckOptions
    from .recorder import CallRecorder, PluginCall
    from .stub_handle import StubHandle
    from .worlds.world import Change, World

__all__ = [
    "CallRecorder",
    "Change",
    "CheckOptions",
    "Failure",
    "ManifestBuilder",
    "NodeBuilder",
    "PluginCall",
    "PluginCheck",
    "PluginCheckFailed",
    "PluginNotCached",
    "PluginNotExercised",
    "PodBuilder",
    "StubHandle",
    "World",
    "check_plugin",
    "node",
    "plugin_checks",
    "pod",
]

_HOME = {
    **dict.fromkeys(("ManifestBuilder", "NodeBuilder", "PodBuilder", "node", "pod"), "builders"),
    **dict.fromkeys(("Failure", "PluginCheck", "PluginCheckFailed", "check_plugin", "plugin_checks"), "kit"),
    **dict.fromkeys(("PluginCall", "CallRecorder"), "recorder"),
    **dict.fromkeys(("PluginNotCached", "PluginNotExercised"), "checks.exercise"),
    "CheckOptions": "options",
    "StubHandle": "stub_handle",
    **dict.fromkeys(("Change", "World"), "worlds.world"),
}

if not TYPE_CHECKING:
    # Loaded when first used: every pytest imports this package for its fixtures, and few need all of it.
    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            found = getattr(import_module(f".{_HOME[name]}", __name__), name)
        except ModuleNotFoundError as error:
            if error.name != "hypothesis":
                raise
            message = f"schedframe.testing.{name} needs hypothesis: pip install 'schedframe[testing]'"
            raise ModuleNotFoundError(message, name=error.name) from error
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
