"""Names that an API server completes."""

from __future__ import annotations

from .lookup import Lookup
from .workloads.names import generated_names


class _Taken:
    """The keys of a kind that are there."""

    def __init__(self, kind: str, namespace: str, cluster: Lookup) -> None:
        self._kind, self._namespace, self._cluster = kind, namespace, cluster

    def __contains__(self, name: object) -> bool:
        return self._cluster.get(self._kind, f"{self._namespace}/{name}") is not None


def free_name(kind: str, namespace: str, prefix: str, cluster: Lookup) -> str:
    """Return *prefix* with an end that no object of the kind has; equal objects get equal names."""
    return next(generated_names(prefix, f"{kind}/{namespace}/{prefix}", _Taken(kind, namespace, cluster)))
