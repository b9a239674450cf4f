"""DynamicResources: claims to devices that drivers offer in slices."""

from __future__ import annotations

from .plugin import DynamicResources

__all__ = ["DynamicResources"]
