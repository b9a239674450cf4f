"""Pods spread over topology domains: zones, hosts, racks."""

from __future__ import annotations

from .plugin import ERR_REASON_CONSTRAINTS, ERR_REASON_LABEL, PodTopologySpread

__all__ = ["ERR_REASON_CONSTRAINTS", "ERR_REASON_LABEL", "PodTopologySpread"]
