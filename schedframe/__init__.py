"""The Kubernetes scheduling framework as a Python SDK."""

from __future__ import annotations

from ._version import __version__

__all__ = ["__version__"]
