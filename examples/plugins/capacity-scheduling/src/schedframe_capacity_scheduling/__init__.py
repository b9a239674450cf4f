"""Elastic quotas: a guaranteed part and a limit, with borrowing in between."""

from __future__ import annotations

from .args import CapacitySchedulingArgs
from .kinds import ElasticQuota, ElasticQuotaSpec
from .plugin import CapacityScheduling

__all__ = ["CapacityScheduling", "CapacitySchedulingArgs", "ElasticQuota", "ElasticQuotaSpec"]
