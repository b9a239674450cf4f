"""Objects of a cluster that a controller reads, and its answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final, Protocol

from .._base.value import record
from ..api import ClusterObject
from ..cluster import WatchEvent

PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
"""Annotation of a volume: the provisioner that made it."""


class Lookup(Protocol):
    """The objects of a cluster: one in memory, or anything that answers alike."""

    def get(self, kind: str, key: str) -> Any | None:
        """Return the object of that kind and key, ``None`` without one."""
        ...

    def list(self, kind: str) -> Iterable[Any]:
        """Return all objects of the kind."""
        ...

    def is_settled(self, kind: str, key: str) -> bool:
        """Return whether the controllers of a running cluster have done with that object what they could."""
        ...


@record(frozen=True)
class Put:
    """Create the object, or replace the one of its key."""

    obj: ClusterObject


@record(frozen=True)
class Remove:
    """Delete the object of that kind and key."""

    kind: str
    key: str


Write = Put | Remove


class Controller(Protocol):
    """Makes the cluster as its objects want it, one key at a time.

    What a call writes depends on the cluster as it is, and on nothing that an earlier call has seen, so the
    order of changes and lost calls make no difference in the end.
    """

    NAME: ClassVar[str]
    """Its switch."""
    KIND: ClassVar[str]
    """Kind of what it looks at."""
    READS: ClassVar[tuple[str, ...]]
    """Kinds whose changes concern it."""

    def keys(self, change: WatchEvent) -> Iterable[str]:
        """Return what is to be looked at because of *change*."""
        ...

    def reconcile(self, key: str, cluster: Lookup) -> Iterable[Write]:
        """Return the writes that follow for *key*; none once nothing is left to do."""
        ...

    def notes(self) -> list[str]:
        """Return what it did, one line for each kind of change."""
        ...
