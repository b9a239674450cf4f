"""Pods from workloads, as the controllers of Kubernetes make them.

Deployments and cron jobs make replica sets and jobs, and those make pods. Names that a cluster completes at
random end in a text that depends on the workload alone, so the same manifests give the same pods.
"""

from __future__ import annotations

from .expansion import Expander, MadePods
from .treatment import Workloads

__all__ = ["Expander", "MadePods", "Workloads"]
