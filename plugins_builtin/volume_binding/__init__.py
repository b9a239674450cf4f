"""Claims and their volumes: bound ones reachable, others bound or made where the pod goes."""

from __future__ import annotations

from .plugin import VolumeBinding

__all__ = ["VolumeBinding"]
