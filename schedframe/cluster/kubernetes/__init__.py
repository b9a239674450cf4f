"""A real cluster behind the API server of Kubernetes. Needs the extra ``kubernetes``.

The design is in ``docs/explanation/real-cluster.md``.
"""

from __future__ import annotations

from . import _needed as _needed
from .cluster import KubernetesCluster
from .errors import ApiError, CredentialsError, NoAnswer, SyncError, Unreachable
from .kubeconfig import Access, in_cluster_access, load_access

__all__ = [
    "Access",
    "ApiError",
    "CredentialsError",
    "KubernetesCluster",
    "NoAnswer",
    "SyncError",
    "Unreachable",
    "in_cluster_access",
    "load_access",
]
