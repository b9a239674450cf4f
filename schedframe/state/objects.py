"""Objects of the cluster other than nodes and pods, by kind and key, with a version per kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import field

from .._base.undo import UndoDict, UndoLog
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
    _reverts: dict[str, int] = field(factory=dict)
    undo: UndoLog = field(factory=UndoLog, repr=False)
    """The log of the trials that take changes back."""

    def set(self, obj: ClusterObject) -> None:
        """Add an object or replace the one of the same kind and key."""
        kind, key = obj.KIND, obj.key
        objects = self._objects.get(kind)
        if objects is None:
            objects = self._objects[kind] = UndoDict(self.undo, undone=partial(self._undone, kind))
        objects[key] = obj
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

    def reverts(self, kind: str) -> int:
        """Return the number of changes of objects of *kind* that trials took back.

        What keeps the newest version of an object, or knows which ones are gone for good, begins again when
        this changes: an earlier version is the right one then.
        """
        return self._reverts.get(kind, 0)

    def _undone(self, kind: str, key: str) -> None:
        self._reverts[kind] = self._reverts.get(kind, 0) + 1
        self._log(kind, key)

    def copied(self) -> dict[str, dict[str, Any]]:
        """Return all objects by kind and key, as independent dictionaries."""
        return {kind: {**objects} for kind, objects in self._objects.items()}

    def fill(self, objects: Mapping[str, Mapping[str, Any]]) -> None:
        """Take over *objects* by kind and key, as the first ones."""
        for kind, by_key in objects.items():
            self._objects[kind] = UndoDict(self.undo, dict(by_key), partial(self._undone, kind))
            self._versions[kind] = len(by_key)
            self.changes += len(by_key)

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
