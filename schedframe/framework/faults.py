"""Where a plugin's failure becomes a fault of that plugin, and nothing else."""

from __future__ import annotations

from typing import Any

from ..errors import PluginError
from .status import Code, Status

_WORDING = {
    "pre_filter": 'running PreFilter plugin "{}": {}',
    "add_pod": 'running AddPod on PreFilter plugin "{}": {}',
    "remove_pod": 'running RemovePod on PreFilter plugin "{}": {}',
    "filter": 'running "{}" filter plugin: {}',
    "filter_rows": 'running "{}" filter plugin: {}',
    "post_filter": "{1}",
    "pre_score": 'running PreScore plugin "{}": {}',
    "score": 'running Score plugins: plugin "{}" failed with: {}',
    "score_rows": 'running Score plugins: plugin "{}" failed with: {}',
    "normalize_scores": 'running Normalize on Score plugins: plugin "{}" failed with: {}',
    "pre_bind_pre_flight": 'running PreBindPreFlight "{}": {}',
}
"""As the reference words it (pkg/scheduler/framework/runtime/framework.go)."""


def fault(plugin: str, point: str, error: Exception) -> Status:
    """The ERROR status for an exception that *plugin* raised at *point*; the exception is kept."""
    return _worded(plugin, point, str(error) or type(error).__name__, error)


def failure(plugin: str, point: str, status: Status) -> Status:
    """The ERROR status for a *status* of *plugin* that ends the point with an error."""
    return _worded(plugin, point, status.message or status.code.label, status.error)


def nonsense(plugin: str, point: str, answer: Any, wanted: str) -> Status:
    """The ERROR status for an answer that the contract does not allow."""
    return Status.from_error(
        PluginError(f"plugin {plugin} answered {answer!r:.200} at {point}; return {wanted}"), plugin
    )


def _worded(plugin: str, point: str, text: str, error: BaseException | None) -> Status:
    wording = _WORDING.get(point)
    if wording is None:
        title = "".join(word.capitalize() for word in point.split("_"))
        wording = f'running {title} plugin "{{}}": {{}}'
    return Status(Code.ERROR, (wording.format(plugin, text),), plugin, error)
