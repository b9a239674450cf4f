"""Where a plugin's exception becomes a fault of that plugin, and nothing else."""

from __future__ import annotations

from typing import Any

from ..errors import PluginError
from .status import Status


def fault(plugin: str, point: str, error: Exception) -> Status:
    """The ERROR status for an exception that *plugin* raised at *point*; the exception is kept."""
    text = str(error) or type(error).__name__
    return Status.from_error(error, plugin) if str(error) else Status.from_error(f"{point}: {text}", plugin)


def nonsense(plugin: str, point: str, answer: Any, wanted: str) -> Status:
    """The ERROR status for an answer that the contract does not allow."""
    return Status.from_error(
        PluginError(f"plugin {plugin} answered {answer!r:.200} at {point}; return {wanted}"), plugin
    )
