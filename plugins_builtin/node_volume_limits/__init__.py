"""How many volumes of a driver a node can have."""

from __future__ import annotations

from .plugin import NodeVolumeLimits

__all__ = ["NodeVolumeLimits"]
