"""Scores nodes by pods that are about to go, and pods that are about to come."""

from __future__ import annotations

from .plugin import PodState

__all__ = ["PodState"]
