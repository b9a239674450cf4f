"""Score nodes by terminating pods and by nominated pods."""

from __future__ import annotations

from .plugin import PodState

__all__ = ["PodState"]
