"""Objects of the cluster other than nodes and pods, by kind and key, with a version per kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import field

from .._base.value import record
from ..api import ClusterObject, ObjectLookup
from . import policy


@record(eq=False)
class ObjectStore(ObjectLookup):
    """Namespaces, services, claims and so on from events. Operations are O(1), except ``list``.

    ``version(kind)`` changes whenever an object of that kind does, so that values
    computed from them can be checked for being stale; ``changed_since`` returns which objects changed.
    """

    changes: int = 0
    """Number of changes of any kind so far."""
    memo: dict[Any, Any] = field(factory=dict, repr=False)
    """Values derived from the objects, shared by plugins of several profiles; each under a key of its own."""

    _objects: dict[str, dict[str, Any]] = field(factory=dict)
    _versions: dict[str, int] = field(factory=dict)
    _changed: dict[str, list[str]] = field(factory=dict)
    """Kind → keys of the objects that changed last, oldest first, possibly repeated."""

    def set(self, obj: ClusterObject) -> None:
        """Add an object or replace the one of the same kind and key."""
        kind, key = obj.KIND, obj.key
        self._objects.setdefault(kind, {})[key] = obj
        self._log(kind, key)

    def remove(self, kind: str, key: str) -> bool:
        """Remove an object; return whether it was there."""
        if self._objects.get(kind, {}).pop(key, None) is None:
            return False
        self._log(kind, key)
        return True

    if not TYPE_CHECKING:  # type checkers take the overloads by kind

        def get(self, kind: str, key: str) -> Any | None:
            """Return the object of that kind and key (``namespace/name``, or ``name``), or ``None``."""
            return self._objects.get(kind, {}).get(key)

        def list(self, kind: str) -> list[Any]:
            """Return all objects of a kind, in order of arrival."""
            return [*self._objects.get(kind, {}).values()]

    def version(self, kind: str) -> int:
        """Return the number of changes of that kind so far."""
        return self._versions.get(kind, 0)

    def changed_since(self, kind: str, version: int) -> Sequence[str] | None:
        """Return keys of the objects of *kind* that changed after *version*, oldest first, possibly repeated.

        ``None`` if the log does not reach back that far: then any object may have changed. O(changes).
        """
        missed = self._versions.get(kind, 0) - version
        keys = self._changed.get(kind, [])
        return None if missed > len(keys) else keys[len(keys) - missed :]

    def _log(self, kind: str, key: str) -> None:
        self.changes += 1
        self._versions[kind] = self._versions.get(kind, 0) + 1
        keys = self._changed.setdefault(kind, [])
        keys.append(key)
        if len(keys) > 2 * policy.KEPT_CHANGES:
            del keys[: policy.KEPT_CHANGES]
