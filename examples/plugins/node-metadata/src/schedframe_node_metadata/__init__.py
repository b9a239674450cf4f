"""Scores nodes by a number or a time that people wrote on them."""

from __future__ import annotations

from .args import NodeMetadataArgs
from .plugin import NodeMetadata

__all__ = ["NodeMetadata", "NodeMetadataArgs"]
