"""Score nodes by a number or a time in a label or annotation."""

from __future__ import annotations

from .args import NodeMetadataArgs
from .plugin import NodeMetadata

__all__ = ["NodeMetadata", "NodeMetadataArgs"]
