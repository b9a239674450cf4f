"""Scores nodes by their size, whatever runs on them."""

from __future__ import annotations

from .plugin import AllocatableArgs, NodeResourcesAllocatable, ResourceWeight

__all__ = ["AllocatableArgs", "NodeResourcesAllocatable", "ResourceWeight"]
